/** Which targets a limit for some models covers. */
import { isExcluding } from "../access/allowed-models.js";
import { namesProvider } from "../domain/rule.js";
import type { Target } from "../domain/target-name.js";
import { type ModelNamings, modelSubjects } from "./model-name.js";

/** Names and beginnings of names, in lower case. */
interface Names {
  readonly whole: ReadonlySet<string>;
  readonly beginnings: readonly string[];
}

export class ModelFilter {
  readonly #providers: ModelNamings;
  readonly #included: Names;
  readonly #excluded: Names;

  /** Patterns in lower case, as `parseLimitedModels` has them. */
  constructor(patterns: readonly string[], providers: ModelNamings) {
    this.#providers = providers;
    this.#included = namesOf(
      patterns.filter((pattern) => !isExcluding(pattern)),
      providers,
    );
    this.#excluded = namesOf(
      patterns.filter(isExcluding).map((pattern) => pattern.slice(1)),
      providers,
    );
  }

  /** A request that names no model is covered by patterns such as `openai/*` and `*`. */
  covers(target: Target): boolean {
    const model = target.model.toLowerCase();
    const qualified = `${target.provider.toLowerCase()}/${model}`;
    // As for rules on models: `openai/gpt-4o` is OpenAI's model, not groq's `openai/gpt-4o`.
    const bare = namesProvider(model, this.#providers) ? null : model;
    return hasName(this.#included, qualified, bare) && !hasName(this.#excluded, qualified, bare);
  }
}

function namesOf(patterns: readonly string[], providers: ModelNamings): Names {
  return {
    whole: new Set(
      patterns
        .filter((pattern) => !pattern.endsWith("*"))
        .flatMap((pattern) => modelSubjects(pattern, providers)),
    ),
    beginnings: patterns
      .filter((pattern) => pattern.endsWith("*"))
      .map((pattern) => pattern.slice(0, -1)),
  };
}

function hasName({ whole, beginnings }: Names, qualified: string, bare: string | null): boolean {
  if (whole.has(qualified) || (bare !== null && whole.has(bare))) return true;
  for (const beginning of beginnings)
    if (qualified.startsWith(beginning) || bare?.startsWith(beginning) === true) return true;
  return false;
}
