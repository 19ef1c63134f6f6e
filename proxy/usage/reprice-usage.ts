/**
 * Reprices stored records at the prices in force now for the time when each ended. It handles one
 * page of the daemon's records, so that memory is bounded; `sluice usage reprice` and POST
 * /admin/usage/reprice request one page after the other. The daemon books the differences
 * (`usage.adjust`).
 */
import type { RecordExport, RecordItem } from "../../shared/api/record-item.js";
import type { RepricedModel, RepricePage } from "../../shared/api/reprice-page.js";
import { asObject, bad, type Checked, good, isAbsent, show } from "../../shared/checked.js";
import { costUsd, signedPicoFromUsd } from "../../shared/domain/money.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import { detailFields, detailNames, detailsOf } from "../../shared/usage/usage-details.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import { interimStatus } from "../../shared/wire/execution.js";
import type { PriceSource, TargetPrices } from "../prices/target-prices.js";
import { type Costs, priceUnknownUsage, priceUsage, withoutFee } from "./price-usage.js";
import type { Usage } from "./usage.js";

interface RepricePorts {
  /** Calls the daemon. */
  call(op: AdminOp, body: unknown): Promise<Checked<unknown>>;
  /** The present prices, as of `nowMs`. */
  pricesAt(nowMs: () => number): TargetPrices;
}

interface Question {
  readonly page: Readonly<Record<string, unknown>>;
  /** In lower case; null for all. */
  readonly model: string | null;
  readonly isDryRun: boolean;
  /** Whether costs that providers reported are replaced, too. */
  readonly replacesReported: boolean;
}

const fields = ["start_date", "end_date", "after", "limit", "model", "dry_run", "reported"];

/** One page. The daemon checks the dates and the cursor. */
export async function repriceUsage(
  { call, pricesAt }: RepricePorts,
  body: unknown,
): Promise<Checked<RepricePage>> {
  const question = parseQuestion(body);
  if (!question.ok) return question;
  const { page, model, isDryRun, replacesReported } = question.value;
  const exported = await call("usage.export", page);
  if (!exported.ok) return exported;
  const { records, next, progress, server_time } = exported.value as RecordExport;
  let atMs = 0;
  const prices = pricesAt(() => atMs);
  const models = new Map<string, Sums>();
  const adjustments: unknown[][] = [];
  let unpriced = 0;
  let keptCount = 0;
  for (const record of records) {
    if (!isOfModel(record, model) || !hasCost(record)) continue;
    if (!isRepriced(record, replacesReported)) {
      if (record.cost_source !== "reported") keptCount++;
      continue;
    }
    atMs = Date.parse(record.time);
    const costs = costsOf(record, prices);
    const before = costNow(record);
    if (costs === null) {
      if (before === null) unpriced++;
      else keptCount++;
      continue;
    }
    const { inputCost, outputCost, totalCost } = costs;
    if (totalCost === before) continue;
    const { kind, list = "" } = prices.sourceOf(targetOf(record)) ?? operator;
    adjustments.push([record.id, inputCost, outputCost, totalCost, kind, list]);
    addTo(models, record, costUsd(totalCost));
  }
  const booked = isDryRun ? good({ adjusted: 0 }) : await book(call, adjustments);
  if (!booked.ok) return booked;
  return good({
    models: [...models].map(([name, sums]): RepricedModel => ({ model: name, ...sums })),
    differing: adjustments.length,
    booked: booked.value.adjusted,
    unpriced,
    kept: keptCount,
    progress,
    price_list: prices.listed?.file.date ?? null,
    next,
    server_time,
  });
}

function parseQuestion(body: unknown): Checked<Question> {
  const query = asObject(body, fields, { nullable: fields });
  if (!query.ok) return query;
  const { model = null, dry_run: dryRun = false, reported = false, ...page } = query.value;
  if (isAbsent(page["start_date"])) return bad("start_date is required", "start_date");
  if (model !== null && typeof model !== "string")
    return bad(`model must be a text, not ${show(model)}`, "model");
  for (const [name, value] of [
    ["dry_run", dryRun],
    ["reported", reported],
  ] as const)
    if (typeof value !== "boolean" && value !== null)
      return bad(`${name} must be true or false, not ${show(value)}`, name);
  return good({
    page: Object.fromEntries(Object.entries(page).filter(([, value]) => value !== null)),
    model: model?.toLowerCase() ?? null,
    isDryRun: dryRun === true,
    replacesReported: reported === true,
  });
}

async function book(
  call: RepricePorts["call"],
  adjustments: readonly unknown[],
): Promise<Checked<{ readonly adjusted: number }>> {
  if (adjustments.length === 0) return good({ adjusted: 0 });
  const answer = await call("usage.adjust", { adjustments });
  return answer.ok ? good(answer.value as { readonly adjusted: number }) : answer;
}

/**
 * Whether the record has a cost: it isn't an answer from the cache, an error that wasn't charged,
 * or a difference.
 */
function hasCost(record: RecordItem): boolean {
  const { cache_hit: cacheHit, corrects, total_cost: cost, cost_source: source } = record;
  return !cacheHit && isAbsent(corrects) && (cost !== 0 || source !== null);
}

/**
 * Whether the record's cost may be replaced: the record is unpriced, or has a single price. Answers
 * of several models, and web searches that Sluice ran, keep their cost.
 */
function isRepriced(record: RecordItem, replacesReported: boolean): boolean {
  const { total_cost: cost, cost_source: source } = record;
  if (cost === null) return true;
  return source === "list" || source === "operator" || (source === "reported" && replacesReported);
}

function isOfModel({ provider, model }: RecordItem, modelName: string | null): boolean {
  if (modelName === null) return true;
  const name = (model ?? "").toLowerCase();
  return name === modelName || `${provider.toLowerCase()}/${name}` === modelName;
}

/** The present cost in pico-dollars; null if unpriced. */
function costNow({ repriced_cost: repriced, total_cost: total }: RecordItem): number | null {
  return signedPicoFromUsd(repriced ?? total);
}

/** A price in the list has a date, any other is the operator's. */
const operator: PriceSource = { kind: "operator" };

function targetOf({ provider, model }: RecordItem): Target {
  return { provider, model: model ?? "" };
}

/**
 * The costs at present prices; null without a price, or if the record lacks a unit of the price.
 */
function costsOf(
  record: RecordItem,
  prices: TargetPrices,
): Pick<Costs, "inputCost" | "outputCost" | "totalCost"> | null {
  const price = prices.priceOf(targetOf(record));
  if (price === null) return null;
  // A record of a batch has the sum of its requests.
  if (record.service_tier === "batch" && (price.tiers.length > 0 || price.perRequest > 0))
    return null;
  // Records don't store the kind of picture.
  if (
    record.images > 0 &&
    Object.keys(price.perImage ?? {}).length > 0 &&
    record.total_cost !== null
  )
    return null;
  // A record that cancels an estimate has negative counts.
  const sign = record.total_tokens < 0 ? -1 : 1;
  const usage: Usage = {
    inputTokens: sign * record.input_tokens,
    outputTokens: sign * record.output_tokens,
    totalTokens: sign * record.total_tokens,
    cachedInputTokens: sign * record.cached_input_tokens,
    cacheWriteInputTokens: sign * record.cache_write_input_tokens,
    reportedCost: null,
    details: readDetails(record, sign),
  };
  const isUnmetered = usage.totalTokens === 0 && usage.details === null;
  const costsOfRequest = isUnmetered ? priceUnknownUsage(price) : priceUsage(usage, price);
  const costs =
    record.status === interimStatus ? withoutFee(costsOfRequest, price) : costsOfRequest;
  if (costs === null) return null;
  const { inputCost, outputCost, totalCost } = costs;
  return sign === 1
    ? costs
    : { inputCost: 0 - inputCost, outputCost: 0 - outputCost, totalCost: 0 - totalCost };
}

function readDetails(record: RecordItem, sign: number): Usage["details"] {
  const counts = Object.fromEntries(
    detailNames.map((name) => [name, sign * record[detailFields[name]]]),
  );
  return detailsOf(record.service_tier, counts, record.region);
}

type Sums = Omit<RepricedModel, "model">;

function addTo(models: Map<string, Sums>, record: RecordItem, after: number): void {
  const name = targetName(targetOf(record));
  const sums = models.get(name);
  models.set(name, {
    requests: (sums?.requests ?? 0) + (record.status === interimStatus ? 0 : 1),
    input_tokens: (sums?.input_tokens ?? 0) + record.input_tokens,
    output_tokens: (sums?.output_tokens ?? 0) + record.output_tokens,
    cost_before: (sums?.cost_before ?? 0) + costUsd(costNow(record) ?? 0),
    cost_after: (sums?.cost_after ?? 0) + after,
  });
}
