/**
 * Rules and budgets from the environment: SET_RATE_LIMIT_<PATH>, SET_PROVIDER_RATE_LIMIT_<NAME> and
 * SET_BUDGET_<PATH> (docs/reference/configuration.md). `file-limits.ts` merges them with those of
 * the file.
 */
import { isObject, show } from "../../checked.js";
import { entitlementLine, notEntitledFailure } from "../../domain/limit-key.js";
import { type Environment, variable } from "../environment.js";
import { type Mapping, readMapping } from "../read-mapping.js";
import {
  checkedValue,
  type Declared,
  type LimitForm,
  type LimitOptions,
  type PeriodLimit,
  type PlacedDeclaration,
  parseLimit,
  reportDuplicates,
} from "./limit-form.js";

/** The limits that one variable declares for its subject. */
export interface EnvLimits<S extends string, L> {
  readonly variable: string;
  readonly scope: S;
  readonly subject: string;
  readonly limits: readonly Declared<S, L>[];
}

type Target<S extends string> = Omit<EnvLimits<S, never>, "limits">;

/**
 * The limits of all variables of a form, in the order of the variables' names. Problems name the
 * variable.
 */
export function readEnvLimits<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  env: Environment,
  options: LimitOptions,
  problems: string[],
): readonly EnvLimits<S, L>[] {
  const entries: EnvLimits<S, L>[] = [];
  const variableOfSubject = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const value = variable(env, name);
    const target = value === null ? null : parseTarget(form, name, problems);
    if (value === null || target === null) continue;
    const { scope, subject } = target;
    const id = form.id({ scope, subject, periodSeconds: 0 });
    const earlier = variableOfSubject.get(id);
    variableOfSubject.set(id, earlier ?? name);
    if (earlier !== undefined)
      problems.push(`${name} and ${earlier} are both for ${subject}: keep one of them`);
    else if (/^[[{]/.test(value))
      entries.push({
        ...target,
        limits: parseJson(form, { ...target, ...options, text: value }, problems),
      });
    else
      entries.push({
        ...target,
        limits: form
          .parseCompact(value, name, problems, scope)
          .map((limit) => ({ scope, subject, ...limit, perChild: false })),
      });
  }
  return entries;
}

/** The subject of a variable; null if the variable isn't of this form or is wrong. */
function parseTarget<S extends string, L extends PeriodLimit>(
  { grammar, variables }: LimitForm<S, L>,
  name: string,
  problems: string[],
): Target<S> | null {
  const match = variables.find(({ prefix }) => name.startsWith(prefix));
  if (match === undefined) return null;
  const { prefix, scope } = match;
  const suffix = name.slice(prefix.length);
  const subject =
    scope === "user_path"
      ? grammar.parseSubject(scope, pathOfSuffix(suffix), `the path in ${name}`)
      : grammar.parseSubject(scope, nameOfSuffix(suffix), `the ${scope}'s name in ${name}`);
  const value = checkedValue(subject, problems);
  return value === null ? null : { variable: name, scope, subject: value };
}

/** The path of a suffix: `TEAM__ALPHA` is `/team/alpha`; an empty suffix is `/`. */
export function pathOfSuffix(suffix: string): string {
  return `/${suffix
    .toLowerCase()
    .split("__")
    .filter((piece) => piece !== "")
    .join("/")}`;
}

/** The name of a suffix: `MY_LLM` is `my-llm`. */
function nameOfSuffix(suffix: string): string {
  return suffix.toLowerCase().replaceAll("_", "-");
}

function parseJson<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  source: Target<S> & LimitOptions & { readonly text: string },
  problems: string[],
): readonly Declared<S, L>[] {
  const { variable: name, scope, subject, text, perChildEntitled } = source;
  const { plural } = form.grammar;
  let items: unknown;
  try {
    items = JSON.parse(text);
  } catch (cause) {
    const expected = `a list of pairs such as ${form.example} or a JSON array of ${plural}`;
    const reason = cause instanceof Error ? cause.message : String(cause);
    problems.push(`${name} must be ${expected}, and nothing else: ${reason}`);
    return [];
  }
  if (!Array.isArray(items)) {
    problems.push(`${name} must be a JSON array of ${plural}, not ${show(items)}`);
    return [];
  }
  const placed: PlacedDeclaration<Declared<S, L>>[] = [];
  for (const [index, item] of items.entries()) {
    const path = `${name}[${index}]`;
    const fields = readMapping(item, path, [...Object.keys(form.fields), "per_child"], problems);
    if (fields === null) continue;
    const perChild = fields["per_child"] ?? false;
    if (typeof perChild !== "boolean")
      problems.push(`${path}.per_child must be true or false, not ${show(perChild)}`);
    else if (perChild && scope !== "user_path")
      problems.push(`${path}.per_child is for user-path ${plural} only`);
    else if (perChild && !perChildEntitled)
      problems.push(
        `${path}: ${notEntitledFailure(subject).message}: add the line ${entitlementLine}`,
      );
    const raw = { ...source, fields: withMappings(form, fields), path };
    const limit = parseLimit(form, scope, raw, problems);
    if (limit !== null)
      placed.push({ path, declared: { scope, subject, ...limit, perChild: perChild === true } });
  }
  return reportDuplicates(form, placed, problems);
}

/**
 * Parses mappings that are written as texts, as in the file. In JSON, numbers are numbers already.
 */
function withMappings<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  fields: Mapping,
): Mapping {
  return Object.fromEntries(
    Object.entries(fields).map(([key, raw]) => {
      const parsed = form.fields[key]?.(raw);
      return [key, isObject(parsed) ? parsed : raw];
    }),
  );
}
