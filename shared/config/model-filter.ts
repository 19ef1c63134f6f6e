/** Which targets a limit for some models covers. */
import { isExcluding } from "../access/allowed-models.js";
import {
  type LimitedModels,
  modelPatterns,
  namesTools,
  toolPatterns,
} from "../domain/limited-models.js";
import { namesProvider } from "../domain/rule.js";
import type { Target } from "../domain/target-name.js";
import { type ToolCalls, toolName } from "../usage/tool-calls.js";
import { type ModelNamings, modelSubjects } from "./model-name.js";

/** Names and prefixes of names, in lower case. */
interface Names {
  readonly whole: ReadonlySet<string>;
  readonly beginnings: readonly string[];
}

/** Which requests a limit for some models, or for some tools, covers. */
export interface LimitFilter {
  covers(target: Target): boolean;
}

export function limitFilter(models: LimitedModels, providers: ModelNamings): LimitFilter {
  return namesTools(models)
    ? new ToolFilter(models)
    : new ModelFilter(modelPatterns(models), providers);
}

/** Covers the requests that carry one of these tools. */
export class ToolFilter {
  readonly #included: readonly string[];
  readonly #excluded: readonly string[];

  constructor(models: LimitedModels) {
    const patterns = toolPatterns(models).map(usualPattern);
    this.#included = patterns.filter((pattern) => !isExcluding(pattern));
    this.#excluded = patterns.filter(isExcluding).map((pattern) => pattern.slice(1));
  }

  covers({ tools }: Pick<Target, "tools">): boolean {
    return tools?.some((tool) => this.#has(tool)) === true;
  }

  /** The number of calls of these tools. */
  callsIn(calls: ToolCalls): number {
    let sum = 0;
    for (const name in calls) if (this.#has(name)) sum += calls[name]!;
    return sum;
  }

  /** `tool`: a name, or the callable tools of an MCP server: `mcp:github/*`. */
  #has(tool: string): boolean {
    return (
      this.#included.some((pattern) => meets(pattern, tool)) &&
      !this.#excluded.some((pattern) => contains(pattern, tool))
    );
  }
}

/** The pattern with the common name of its tool. */
function usualPattern(pattern: string): string {
  if (pattern.endsWith("*")) return pattern;
  return isExcluding(pattern) ? `!${toolName(pattern.slice(1))}` : toolName(pattern);
}

/** Whether some tool matches both patterns. */
function meets(pattern: string, tool: string): boolean {
  if (contains(pattern, tool)) return true;
  return tool.endsWith("*") && pattern.startsWith(tool.slice(0, -1));
}

/** Whether the pattern matches every tool that the other matches. */
function contains(pattern: string, tool: string): boolean {
  return pattern.endsWith("*") ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;
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

  /**
   * Whether it covers all models of a provider (true) or none (false); null if that depends on the
   * model.
   */
  coversProvider(provider: string): boolean | null {
    const prefix = `${provider.toLowerCase()}/`;
    const mayName = (pattern: string): boolean =>
      pattern.startsWith(prefix) || !namesProvider(pattern, this.#providers);
    const mayHave = ({ whole, beginnings }: Names): boolean =>
      [...whole, ...beginnings].some(mayName);
    if (!mayHave(this.#included)) return false;
    const hasAll = this.#included.beginnings.some((beginning) => prefix.startsWith(beginning));
    return hasAll && !mayHave(this.#excluded) ? true : null;
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
