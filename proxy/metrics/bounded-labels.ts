/**
 * The labels whose values callers choose, models and user paths: so few of them get series that no
 * caller can fill a Prometheus. What is beyond is `other`.
 */
import type { Target } from "../../shared/domain/target-name.js";

/** Models known only from an answer of their provider. */
export const unvouchedModelsMax = 500;
export const pathsMax = 1000;

export const other = "other";

/** The label of each model that has one, by provider and name in lower case. */
export class ModelLabels {
  readonly #isVouchedFor: (target: Target) => boolean;
  readonly #labels = new Map<string, string>();
  #unvouched = 0;

  /** `isVouchedFor`: the operator has configured the model, or its provider lists it. */
  constructor(isVouchedFor: (target: Target) => boolean) {
    this.#isVouchedFor = isVouchedFor;
  }

  /** `answered`: the provider has just answered with success, so it knows the model. */
  labelOf(target: Target, answered: boolean): string {
    const { provider, model } = target;
    if (model === "") return "";
    const name = `${provider}/${model.toLowerCase()}`;
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    if (!this.#isVouchedFor(target)) {
      if (!answered || this.#unvouched >= unvouchedModelsMax) return other;
      this.#unvouched++;
    }
    // Lone halves of characters would all be written as the same one.
    const label = Buffer.from(model).toString();
    this.#labels.set(name, label);
    return label;
  }
}

/** Paths that get labels immediately; the other labels are for paths with many requests. */
const pathsAtOnceMax = 250;
/** Fewer requests than these say nothing of a path. */
const requestsMin = 10;
/** After so many requests those before them count half. */
const requestsPerHalving = 100_000;
/** Paths without a label whose requests are counted. */
const waitingMax = 2000;

/**
 * User paths, cut to so many segments; 0: no path has a label. A label is never taken away, since
 * its counters would go with it, and every sum over them would fall. So not all are given away to
 * the first that come: a path gets one of those that are left if its part of the last requests is
 * more than one of so many. What it had until then stays with `other`.
 */
export class PathLabels {
  readonly #depth: number;
  readonly #isRoomy: () => boolean;
  readonly #shown = new Set<string>();
  /** The last requests of those that have no label. */
  readonly #waiting = new Map<string, number>();
  #requests = 0;

  /** `isRoomy`: whether there is room for series of paths that may be small. */
  constructor(depth: number, isRoomy: () => boolean) {
    this.#depth = depth;
    this.#isRoomy = isRoomy;
  }

  /** `requests`: that have ended now, which is what a path's size is measured by. */
  labelOf(userPath: string | null, requests: 0 | 1): string {
    if (this.#depth === 0 || userPath === null) return "";
    const cut = Buffer.from(firstSegments(userPath, this.#depth)).toString();
    this.#requests += requests;
    if (this.#shown.has(cut)) return cut;
    const isFirst = this.#shown.size < pathsAtOnceMax && this.#isRoomy();
    if (!isFirst && (requests === 0 || !this.#isLarge(cut))) return other;
    this.#waiting.delete(cut);
    this.#shown.add(cut);
    return cut;
  }

  #isLarge(path: string): boolean {
    if (this.#requests >= requestsPerHalving) {
      this.#requests /= 2;
      this.#lessen((each) => each / 2);
    }
    const requests = (this.#waiting.get(path) ?? 0) + 1;
    // Those that have had most of late are still there when the others are gone.
    if (requests === 1 && this.#waiting.size >= waitingMax) this.#lessen((each) => each - 1);
    else this.#waiting.set(path, requests);
    const left = pathsMax - this.#shown.size;
    return requests >= requestsMin && requests * left > this.#requests;
  }

  #lessen(by: (requests: number) => number): void {
    for (const [path, requests] of this.#waiting) {
      const fewer = by(requests);
      if (fewer < 1) this.#waiting.delete(path);
      else this.#waiting.set(path, fewer);
    }
  }
}

/** `/a/b` of `/a/b/c` for 2. */
function firstSegments(path: string, depth: number): string {
  let end = 0;
  for (let i = 0; i < depth; i++) {
    end = path.indexOf("/", end + 1);
    if (end === -1) return path;
  }
  return path.slice(0, end);
}
