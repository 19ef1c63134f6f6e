/**
 * Sums the usage of a batch's results, line by line, as usage records by model. Each line is priced
 * separately, since its length determines its rates, with the factors of the service tier `batch`.
 *
 * Not here: the source of the results (`../objects/batches.ts`).
 */
import { subjectBytesMax, tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount, isObject } from "../../shared/checked.js";
import { isPicoUsd } from "../../shared/domain/money.js";
import { isPrintable, unknownModelName } from "../../shared/domain/target-name.js";
import { flawOfDetails, noDetailCounts } from "../../shared/usage/usage-details.js";
import { type Execution, interimStatus } from "../../shared/wire/execution.js";
import { batchRecordsMax } from "../../shared/wire/stored-object.js";
import type { Picks } from "../body/json-picker.js";
import type { PriceSource, TargetPrices } from "../prices/target-prices.js";
import { findUsage, modelNamedIn, usagePicks } from "./find-usage.js";
import { type Costs, priceUsage } from "./price-usage.js";
import { readUsage } from "./read-usage.js";
import { noUsage, sumOfUsages, type Usage } from "./usage.js";
import { usageRecord } from "./usage-record.js";

/** The fields that are read from a line: of OpenAI's, Anthropic's and Gemini's results. */
export const resultPicks: Picks = new Map<string, "all" | Picks>([
  [
    "response",
    new Map<string, "all" | Picks>([["status_code", "all"], ["body", usagePicks], ...usagePicks]),
  ],
  [
    "result",
    new Map<string, "all" | Picks>([
      ["type", "all"],
      ["message", usagePicks],
    ]),
  ],
]);

interface BatchSource {
  readonly provider: string;
  readonly providerType: string;
  /** The model of lines that name none; empty if unknown. */
  readonly model: string;
}

interface Sum {
  readonly model: string;
  readonly source: PriceSource["kind"] | "reported" | undefined;
  readonly list: string | undefined;
  usage: Usage;
  /** Null if unpriced. */
  costs: Pick<Costs, "inputCost" | "outputCost" | "totalCost"> | null;
}

/** The answer of a line; null if the request failed, which isn't billed. */
function answerOf(line: unknown): unknown {
  if (!isObject(line)) return null;
  const { response, result } = line;
  if (isObject(result)) return result["type"] === "succeeded" ? result["message"] : null;
  if (!isObject(response)) return null;
  const { status_code: status, body } = response;
  if (isCount(status)) return status < 300 ? body : null;
  return body ?? response;
}

export class BatchSums {
  readonly #batch: BatchSource;
  readonly #prices: Pick<TargetPrices, "priceOf" | "sourceOf">;
  readonly #openSums = new Map<string, Sum>();
  readonly #fullSums: Sum[] = [];

  constructor(batch: BatchSource, prices: Pick<TargetPrices, "priceOf" | "sourceOf">) {
    this.#batch = batch;
    this.#prices = prices;
  }

  /** Adds a line of the results, with at least `resultPicks`. */
  addLine(line: unknown): void {
    this.add(answerOf(line));
  }

  /** Adds an answer, or an object with a model and its usage; null for a request without one. */
  add(answer: unknown): void {
    if (!isObject(answer)) return;
    const { provider } = this.#batch;
    const model = this.#nameOf(answer);
    const reported = readUsage(findUsage(answer));
    const usage = reported.kind === "usage" ? batchUsage(reported) : noUsage;
    const target = { provider, model };
    const price = this.#prices.priceOf(target);
    const costs =
      reported.kind === "usage"
        ? priceUsage(usage, price, (name) => this.#prices.priceOf({ provider, model: name }))
        : null;
    const source = costs === null ? null : this.#prices.sourceOf(target);
    const isReported = costs?.source === "reported";
    this.#count({
      model,
      source: costs === null ? undefined : isReported ? "reported" : source?.kind,
      list: isReported ? undefined : source?.list,
      usage: withoutParts(usage),
      costs,
    });
  }

  #nameOf(answer: unknown): string {
    const model = modelNamedIn(answer) ?? this.#batch.model;
    return model.length > subjectBytesMax || !isPrintable(model) ? unknownModelName : model;
  }

  #count(line: Sum): void {
    const { model, source, list, usage, costs } = line;
    const isNew = (name: string): boolean => !this.#openSums.has(name);
    const keyOf = (name: string): string => JSON.stringify([name, source ?? "", list ?? ""]);
    const isOther = isNew(keyOf(model)) && this.#openSums.size >= batchRecordsMax / 2;
    const name = isOther ? unknownModelName : model;
    const key = keyOf(name);
    const sum = this.#openSums.get(key);
    const newSum = sum === undefined ? null : sumOfUsages(sum.usage, usage);
    const cost = sum === undefined ? null : addedCosts(sum.costs, costs);
    if (sum !== undefined && newSum !== null && fits(newSum, cost)) {
      sum.usage = newSum;
      sum.costs = cost;
      return;
    }
    // Sums that exceed the bounds of a record begin another record.
    if (sum !== undefined) this.#fullSums.push(sum);
    this.#openSums.set(key, { model: name, source, list, usage, costs });
  }

  /** The records, without the batch's owner, whom the daemon knows. */
  records(): readonly Execution[] {
    const sums = [...this.#fullSums, ...this.#openSums.values()].slice(0, batchRecordsMax);
    return sums.map((sum) => this.#recordOf(sum));
  }

  #recordOf({ model, source, list, usage, costs }: Sum): Execution {
    const { provider, providerType } = this.#batch;
    const record = usageRecord(
      { usage, status: interimStatus, executed: true, firstByteMonoMs: null },
      {
        requestId: "batch",
        endpoint: "/v1/batches",
        target: { provider, model },
        providerType,
        keyId: "",
        requestedModel: "",
        session: "",
        startedMonoMs: 0,
        endedMonoMs: 0,
        savedBytes: 0,
        price: null,
        priceSource: null,
        isUnmetered: false,
        priceOf: () => null,
      },
    )!;
    return {
      ...record,
      inputCost: costs?.inputCost ?? null,
      outputCost: costs?.outputCost ?? null,
      totalCost: costs?.totalCost ?? null,
      costSource: source,
      priceList: source === "list" ? list : undefined,
    };
  }
}

/** OpenAI reports the tier `default` for lines of a batch. */
function batchUsage(usage: Usage): Usage {
  const { details, parts } = usage;
  const { region, counts } = details ?? { region: null, counts: noDetailCounts };
  return {
    ...usage,
    details: { serviceTier: "batch", region, counts },
    ...(parts === undefined
      ? {}
      : { parts: parts.map((part) => ({ ...part, usage: batchUsage(part.usage) })) }),
  };
}

/** A usage without parts: a sum isn't priced again. */
function withoutParts({ parts: _, ...usage }: Usage): Usage {
  return { ...usage, reportedCost: null };
}

type LineCosts = Sum["costs"];

function addedCosts(a: LineCosts, b: LineCosts): LineCosts {
  if (a === null || b === null) return null;
  return {
    inputCost: a.inputCost + b.inputCost,
    outputCost: a.outputCost + b.outputCost,
    totalCost: a.totalCost + b.totalCost,
  };
}

function fits({ inputTokens, outputTokens, details }: Usage, costs: LineCosts): boolean {
  return (
    inputTokens <= tokensPerResponseMax &&
    outputTokens <= tokensPerResponseMax &&
    flawOfDetails(details) === null &&
    (costs === null || isPicoUsd(costs.totalCost))
  );
}
