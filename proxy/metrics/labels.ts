/**
 * The values of metric labels, and of attributes of spans with the same names. Callers choose
 * models and user paths, so the number of those values is bounded, and no caller can fill a
 * Prometheus: all further values are `other`. Operations, provider types and errors have the names
 * of the OpenTelemetry conventions for generative AI, or Sluice's own where the conventions, which
 * allow that, have none.
 */

import type { ProviderType } from "../../shared/config/provider-type.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Operation } from "../../shared/operation.js";
import type { ForwardResult } from "../upstream/forwarded.js";

/** Models known only from a provider's answer. */
export const unvouchedModelsMax = 500;
export const pathsMax = 1000;

export const other = "other";

/** The labels of models, by provider and name in lower case. */
export class ModelLabels {
  readonly #isVouchedFor: (target: Target) => boolean;
  readonly #labels = new Map<string, string>();
  #unvouched = 0;

  /** `isVouchedFor`: whether the operator has configured the model, or its provider lists it. */
  constructor(isVouchedFor: (target: Target) => boolean) {
    this.#isVouchedFor = isVouchedFor;
  }

  /** `isAnswered`: the provider has just answered successfully, so it knows the model. */
  labelOf(target: Target, isAnswered: boolean): string {
    const { provider, model } = target;
    if (model === "") return "";
    const name = `${provider}/${model.toLowerCase()}`;
    const existing = this.#labels.get(name);
    if (existing !== undefined) return existing;
    if (!this.#isVouchedFor(target)) {
      if (!isAnswered || this.#unvouched >= unvouchedModelsMax) return other;
      this.#unvouched++;
    }
    // Lone surrogates would all be encoded as the same character.
    const label = Buffer.from(model).toString();
    this.#labels.set(name, label);
    return label;
  }
}

/** Paths that get labels immediately. The remaining labels are for busy paths. */
const pathsAtOnceMax = 250;
/** A path with fewer requests is too small to judge. */
const requestsMin = 10;
/** After this many requests the earlier ones count half. */
const requestsPerHalving = 100_000;
/** Paths without a label whose requests are counted. */
const waitingMax = 2000;

/**
 * The labels of user paths, cut to a number of segments; 0 for no labels. A label is never
 * withdrawn: its counters would disappear, and every sum over them would fall. So the first paths
 * don't get all labels: a path gets one of the remaining labels once its share of the latest
 * requests is large enough. Its requests until then stay in `other`.
 */
export class PathLabels {
  readonly #depth: number;
  readonly #isRoomy: () => boolean;
  readonly #labelled = new Set<string>();
  /** The latest requests of paths without a label. */
  readonly #waiting = new Map<string, number>();
  #requests = 0;

  /** `isRoomy`: whether there is room for series of small paths, too. */
  constructor(depth: number, isRoomy: () => boolean) {
    this.#depth = depth;
    this.#isRoomy = isRoomy;
  }

  /** `requests`: the requests that have just ended, which measure a path's size. */
  labelOf(userPath: string | null, requests: 0 | 1): string {
    if (this.#depth === 0 || userPath === null) return "";
    const cut = Buffer.from(firstSegments(userPath, this.#depth)).toString();
    this.#requests += requests;
    if (this.#labelled.has(cut)) return cut;
    const isFirst = this.#labelled.size < pathsAtOnceMax && this.#isRoomy();
    if (!isFirst && (requests === 0 || !this.#isLarge(cut))) return other;
    this.#waiting.delete(cut);
    this.#labelled.add(cut);
    return cut;
  }

  #isLarge(path: string): boolean {
    if (this.#requests >= requestsPerHalving) {
      this.#requests /= 2;
      this.#lessen((requests) => requests / 2);
    }
    const requests = (this.#waiting.get(path) ?? 0) + 1;
    // Decrementing all keeps the paths with the most recent requests and drops the others.
    if (requests === 1 && this.#waiting.size >= waitingMax) this.#lessen((count) => count - 1);
    else this.#waiting.set(path, requests);
    const labelsLeft = pathsMax - this.#labelled.size;
    return requests >= requestsMin && requests * labelsLeft > this.#requests;
  }

  #lessen(by: (requests: number) => number): void {
    for (const [path, requests] of this.#waiting) {
      const fewer = by(requests);
      if (fewer < 1) this.#waiting.delete(path);
      else this.#waiting.set(path, fewer);
    }
  }
}

/** For example `/a/b` for `/a/b/c` and 2. */
function firstSegments(path: string, depth: number): string {
  let end = 0;
  for (let i = 0; i < depth; i++) {
    end = path.indexOf("/", end + 1);
    if (end === -1) return path;
  }
  return path.slice(0, end);
}

const operationNames: Partial<Record<Operation, string>> = {
  chat_completions: "chat",
  responses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
  generate_content: "generate_content",
  stream_generate_content: "generate_content",
  interactions: "generate_content",
  embed_content: "embeddings",
  batch_embed_contents: "embeddings",
};

export function operationName(operation: Operation): string {
  return operationNames[operation] ?? operation;
}

const providerNames: Partial<Record<ProviderType, string>> = {
  gemini: "gcp.gemini",
  azure: "azure.ai.openai",
};

export function providerName(type: ProviderType): string {
  return providerNames[type] ?? type;
}

/**
 * Why an attempt failed, as one of few values, which the conventions require; empty for an answer.
 */
export function errorType({ outcome, status }: Pick<ForwardResult, "outcome" | "status">): string {
  if (outcome === "complete") return status < 400 ? "" : String(status);
  return outcome === "upstream_error" ? String(status) : outcome;
}
