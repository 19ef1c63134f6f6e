/**
 * The labels whose values callers choose, models and user paths: so few of them get series that no
 * caller can fill a Prometheus. What is beyond is `other`.
 */
import type { Target } from "../../shared/domain/target-name.js";

/** Models for which nobody vouches but an answer of their provider. */
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

/** User paths, cut to so many segments; 0: no path has a label. */
export class PathLabels {
  readonly #depth: number;
  readonly #seen = new Set<string>();

  constructor(depth: number) {
    this.#depth = depth;
  }

  labelOf(userPath: string | null): string {
    if (this.#depth === 0 || userPath === null) return "";
    const cut = Buffer.from(firstSegments(userPath, this.#depth)).toString();
    if (this.#seen.has(cut)) return cut;
    if (this.#seen.size >= pathsMax) return other;
    this.#seen.add(cut);
    return cut;
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
