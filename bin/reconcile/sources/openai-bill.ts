/** OpenAI's bill: the usage and the costs of the organization, by its admin API. */
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { readAmount } from "../amount.js";
import {
  type Bill,
  BillError,
  type BillItem,
  type BillRow,
  type Kind,
  requireUsd,
  tierOf,
} from "../bill.js";
import { openaiLine } from "../line-words.js";
import { allPages, type BillingApi, BillingApiError, textOrNull } from "./billing-api.js";

type Fields = Readonly<Record<string, unknown>>;

export interface BillQuery {
  readonly startDate: string;
  readonly endDate: string;
  /** Empty: all. */
  readonly projects: readonly string[];
}

interface UsageEndpoint {
  readonly path: string;
  readonly groupBy: readonly string[];
  /** The quantities of a result. */
  quantities(result: Fields): readonly (readonly [item: BillItem, quantity: number])[];
}

const requests = (result: Fields): readonly [BillItem, number] => [
  "requests",
  count(result, "num_model_requests"),
];

/** Cached input covers all modalities; other input and output are separate for each modality. */
const usageEndpoints: readonly UsageEndpoint[] = [
  {
    path: "/organization/usage/completions",
    groupBy: ["project_id", "model", "batch", "service_tier"],
    quantities(result) {
      const cached = count(result, "input_cached_tokens");
      const written = count(result, "input_cache_write_tokens");
      const audio = count(result, "input_audio_tokens");
      const image = count(result, "input_image_tokens");
      const audioOut = count(result, "output_audio_tokens");
      const imageOut = count(result, "output_image_tokens");
      return [
        requests(result),
        ["input", count(result, "input_tokens") - cached - written - audio - image],
        ["cached_input", cached],
        ["cache_write", written],
        ["audio_input", audio],
        ["image_input", image],
        ["output", count(result, "output_tokens") - audioOut - imageOut],
        ["audio_output", audioOut],
        ["image_output", imageOut],
      ];
    },
  },
  modelEndpoint("embeddings", "input", "input_tokens"),
  modelEndpoint("moderations", "input", "input_tokens"),
  modelEndpoint("images", "images", "images"),
  modelEndpoint("audio_speeches", "characters", "characters"),
  modelEndpoint("audio_transcriptions", "audio_seconds", "seconds"),
  toolEndpoint("code_interpreter_sessions", "containers", "num_sessions"),
  toolEndpoint("file_search_calls", "file_searches", "num_requests"),
  toolEndpoint("web_search_calls", "web_searches", "num_requests"),
];

const costs = {
  path: "/organization/costs",
  groupBy: ["project_id", "line_item"],
} as const;

const separates: ReadonlySet<Kind> = new Set([
  "input",
  "cached_input",
  "cache_write",
  "audio_input",
  "image_input",
  "output",
  "audio_output",
  "image_output",
  "images",
  "audio_seconds",
  "characters",
  "web_searches",
  "file_searches",
  "containers",
]);

function modelEndpoint(name: string, kind: Kind, field: string): UsageEndpoint {
  return {
    path: `/organization/usage/${name}`,
    groupBy: ["project_id", "model"],
    quantities: (result) => [requests(result), [kind, count(result, field)]],
  };
}

function toolEndpoint(name: string, kind: Kind, field: string): UsageEndpoint {
  return {
    path: `/organization/usage/${name}`,
    groupBy: ["project_id"],
    quantities: (result) => [[kind, count(result, field)]],
  };
}

function count(result: Fields, name: string): number {
  const value = result[name];
  return Number.isFinite(value) && (value as number) >= 0 ? (value as number) : 0;
}

/** Rejects with `BillingApiError` and `BillError`. */
export async function openaiBill(api: BillingApi, query: BillQuery): Promise<Bill> {
  const rows: BillRow[] = [];
  const notes: string[] = [];
  for (const endpoint of usageEndpoints) {
    const buckets = await bucketsOf(api, { ...endpoint, query }).catch((error: unknown) => {
      // Not every organization has every one of them.
      if (!(error instanceof BillingApiError) || error.status !== 404) throw error;
      notes.push(`the billing API has no ${endpoint.path}`);
      return [];
    });
    for (const { day, result } of buckets) append(rows, usageRows(day, result, endpoint));
  }
  const counted = new Set(rows.map(keyOf));
  let decimals = 2;
  for (const { day, result } of await bucketsOf(api, { ...costs, query })) {
    const cost = costRow(day, result);
    if (cost === null) continue;
    decimals = Math.max(decimals, cost.decimals);
    const { quantity } = cost.row;
    // The usage report is more detailed than the costs, whose quantities count only where it has
    // none.
    rows.push(
      counted.has(keyOf(cost.row)) || quantity === 0 ? { ...cost.row, quantity: null } : cost.row,
    );
  }
  return { rows, separates, decimals, notes };
}

function keyOf({ day, project, model, tier, item }: BillRow): string {
  return JSON.stringify([day, project, model, tier, item]);
}

function usageRows(day: string, result: Fields, { quantities }: UsageEndpoint): readonly BillRow[] {
  const model = textOrNull(result["model"]);
  const tier = result["batch"] === true ? "batch" : tierOf(result["service_tier"]);
  return quantities(result)
    .filter(([, quantity]) => quantity !== 0)
    .map(([item, quantity]) => ({
      day,
      model,
      tier,
      region: "",
      project: textOrNull(result["project_id"]),
      item,
      quantity,
      amount: null,
      text: null,
    }));
}

function costRow(
  day: string,
  result: Fields,
): { readonly row: BillRow; readonly decimals: number } | null {
  const amount = isObject(result["amount"]) ? result["amount"] : {};
  const line = textOrNull(result["line_item"]);
  requireUsd(amount["currency"], `the cost of ${JSON.stringify(line)} on ${day}`);
  if (amount["value"] === undefined || amount["value"] === null) return null;
  const usd = readAmount(amount["value"]);
  if (usd === null)
    throw new BillError(
      `amount.value of ${JSON.stringify(line)} on ${day} must be a decimal, not ${JSON.stringify(amount["value"])}`,
    );
  const meaning = openaiLine(line ?? "");
  const row: BillRow = {
    day,
    model: meaning.model,
    tier: meaning.tier,
    region: "",
    project: textOrNull(result["project_id"]),
    // A negative line is a credit, whatever it is for.
    item: usd.pico < 0n ? "credit" : meaning.item,
    quantity: Number.isFinite(result["quantity"]) ? (result["quantity"] as number) : null,
    amount: usd.pico,
    text: line,
  };
  return { row, decimals: usd.decimals };
}

interface Buckets {
  readonly path: string;
  readonly groupBy: readonly string[];
  readonly query: BillQuery;
}

/** The results of every day in the window. A request has at most 31 days. */
async function bucketsOf(
  api: BillingApi,
  { path, groupBy, query: { startDate, endDate, projects } }: Buckets,
): Promise<readonly { readonly day: string; readonly result: Fields }[]> {
  const start = Date.parse(startDate);
  const end = Date.parse(endDate) + dayMs;
  const buckets = await allPages(api, path, [
    ["start_time", String(start / 1000)],
    ["end_time", String(end / 1000)],
    ["bucket_width", "1d"],
    ["limit", "31"],
    ...groupBy.map((name) => ["group_by[]", name] as const),
    ...projects.map((id) => ["project_ids[]", id] as const),
  ]);
  return buckets.flatMap((bucket) => {
    const startMs = Number(bucket["start_time"]) * 1000;
    const results = bucket["results"];
    if (!Number.isSafeInteger(startMs) || !Array.isArray(results))
      throw new BillingApiError(
        `${api.url}${path}: a bucket must have start_time and results`,
        200,
      );
    // The provider rounds the window to whole buckets, so some lie outside it.
    if (startMs < start || startMs >= end) return [];
    return results.filter(isObject).map((result) => ({ day: dayOf(startMs), result }));
  });
}
