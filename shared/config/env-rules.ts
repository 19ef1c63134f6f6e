/**
 * Rules from the environment: SET_RATE_LIMIT_<PATH> and SET_PROVIDER_RATE_LIMIT_<NAME> (SPEC
 * "Configuration forms of rules", CONTRACT section 9). How they replace what the file declares is in
 * `file-rules.ts`.
 */
import { effectiveSubject, notEntitled, parseSubject, type RuleDefinition, show } from "../rule.js";
import { normalizeUserPath } from "../user-path.js";
import { parseCompactLimits } from "./compact-limits.js";
import { type Environment, variable } from "./environment.js";
import { duplicateProblems, limitKeys, parseLimit, type PlacedRule } from "./limit-fields.js";
import { readMapping } from "./read-mapping.js";

export const userPathPrefix = "SET_RATE_LIMIT_";
export const providerPrefix = "SET_PROVIDER_RATE_LIMIT_";

/** All that one variable says about one subject: its rules take the place of the file's. */
export interface EnvRules {
  readonly variable: string;
  readonly scope: "user_path" | "provider";
  readonly subject: string;
  readonly rules: readonly RuleDefinition[];
}

type Target = Pick<EnvRules, "variable" | "scope" | "subject">;

/** The rules of all variables, in the order of the variables' names. Problems name the variable. */
export function readEnvRules(env: Environment, options: { readonly perChildEntitled: boolean }): { readonly entries: readonly EnvRules[]; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const entries: EnvRules[] = [];
  const seen = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const value = variable(env, name);
    if (value === null) continue;
    const target = parseTarget(name, problems);
    if (target === null) continue;
    const id = `${target.scope} ${effectiveSubject(target.scope, target.subject)}`;
    const earlier = seen.get(id);
    if (earlier !== undefined) {
      problems.push(`${name} and ${earlier} are both for ${target.subject}: keep one of them`);
      continue;
    }
    seen.set(id, name);
    entries.push({ ...target, rules: parseValue(value, target, options.perChildEntitled, problems) });
  }
  return { entries, problems };
}

/** Whom a variable is for; null for one that isn't ours, or is wrong. */
function parseTarget(name: string, problems: string[]): Target | null {
  if (name.startsWith(userPathPrefix)) {
    const path = normalizeUserPath(pathOfSuffix(name.slice(userPathPrefix.length)));
    if (path.ok) return { variable: name, scope: "user_path", subject: path.path };
    problems.push(`the path in ${name} ${path.reason}`);
  } else if (name.startsWith(providerPrefix)) {
    const provider = parseSubject("provider", providerOfSuffix(name.slice(providerPrefix.length)), `the provider's name in ${name}`);
    if (provider.ok) return { variable: name, scope: "provider", subject: provider.value };
    problems.push(provider.failure.message);
  }
  return null;
}

/** `TEAM__ALPHA` is `/team/alpha`; nothing is `/`. */
export function pathOfSuffix(suffix: string): string {
  return `/${suffix.toLowerCase().split("__").filter((piece) => piece !== "").join("/")}`;
}

/** `MY_LLM` is `my-llm`. */
export function providerOfSuffix(suffix: string): string {
  return suffix.toLowerCase().replaceAll("_", "-");
}

function parseValue(value: string, target: Target, perChildEntitled: boolean, problems: string[]): readonly RuleDefinition[] {
  const { variable: name, scope, subject } = target;
  if (value.startsWith("[") || value.startsWith("{")) return parseJsonRules(value, target, perChildEntitled, problems);
  return parseCompactLimits(value, name, problems).map((limit) => ({ scope, subject, ...limit, perChild: false }));
}

function parseJsonRules(text: string, target: Target, perChildEntitled: boolean, problems: string[]): readonly RuleDefinition[] {
  const { variable: name, scope, subject } = target;
  let items: unknown;
  try {
    items = JSON.parse(text);
  } catch (cause) {
    problems.push(`${name} must be a list of pairs such as rpm=100 or a JSON array of rules, and nothing else: ${cause instanceof Error ? cause.message : String(cause)}`);
    return [];
  }
  if (!Array.isArray(items)) {
    problems.push(`${name} must be a JSON array of rules, not ${show(items)}`);
    return [];
  }
  const placed: PlacedRule[] = [];
  for (const [index, item] of items.entries()) {
    const at = `${name}[${index}]`;
    const fields = readMapping(item, at, [...limitKeys, "per_child"], problems);
    if (fields === null) continue;
    const perChild = fields["per_child"] ?? false;
    if (typeof perChild !== "boolean") problems.push(`${at}.per_child must be true or false, not ${show(perChild)}`);
    else if (perChild && scope === "provider") problems.push(`${at}.per_child is for user-path rules only`);
    else if (perChild && !perChildEntitled) problems.push(`${at}: ${notEntitled(subject).message}`);
    const limit = parseLimit(fields, at, problems);
    if (limit !== null) placed.push({ at, rule: { scope, subject, ...limit, perChild: perChild === true } });
  }
  problems.push(...duplicateProblems(placed));
  return placed.map(({ rule }) => rule);
}
