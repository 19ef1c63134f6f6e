/**
 * The key of a rule or a budget, and its form in bodies: scope, subject and period
 * (`docs/reference/http-api.md`). Rules and budgets differ only in names and units: each has a
 * `KeyGrammar`, in `rule.ts` and `budget.ts`, beside the values that it limits.
 */

import { periodSecondsMax } from "../bounds.js";
import { asObject, bad, type Checked, good, isAbsent, isCount, present, show } from "../checked.js";
import { didYouMean } from "../config/closest-name.js";
import { type Failure, failure } from "../error-code.js";
import { periodAdvice } from "../text/written-number.js";
import type { LimitedModels } from "./limited-models.js";
import { parseWhen, type RuleHours } from "./rule-hours.js";
import { normalizeUserPath } from "./user-path.js";

/** The subject is the body's; a user path is normalized. */
export interface LimitKey<S extends string> {
  readonly scope: S;
  readonly subject: string;
  readonly periodSeconds: number;
  /** User paths only: the models that it is for; absent for all. */
  readonly models?: LimitedModels | undefined;
  /** Rules only: the hours within which it applies; absent for always. */
  readonly when?: RuleHours | undefined;
  /** Rules only: `shadow` for a rule that only notes which requests it would refuse. */
  readonly mode?: "shadow" | undefined;
}

export interface KeyGrammar<S extends string> {
  /** `rules` or `budgets`. */
  readonly plural: string;
  /** Includes `user_path`. */
  readonly scopes: readonly S[];
  readonly scopesExpected: string;
  /** The object with the period: `limit_key`. */
  readonly periodField: string;
  /** In lower case. */
  readonly periodNames: Readonly<Record<string, number>>;
  readonly periodsExpected: string;
  readonly secondsMin: number;
  readonly secondsExpected: string;
  /** The periods that only limits on user paths have. */
  readonly pathPeriods: readonly number[];
  /** The fields of the key beside those of every key: `models`, `when` and `mode`. */
  readonly keyFields: readonly string[];
  /** The fields that only limits on user paths have. */
  readonly pathFields: readonly string[];
  /** Checks `models`. */
  readonly parseModels: (raw: unknown, param: string) => Checked<LimitedModels | undefined>;
  /** Fields of list items that aren't part of the key; bodies may contain them. */
  readonly listedFields: readonly string[];
  readonly parseSubject: (scope: S, raw: unknown, param: string) => Checked<string>;
}

type Fields = Readonly<Record<string, unknown>>;

/** The seconds of a named period, ignoring case; undefined for another text. */
export function namedPeriod<S extends string>(
  { periodNames }: KeyGrammar<S>,
  text: string,
): number | undefined {
  const name = text.trim().toLowerCase();
  return Object.hasOwn(periodNames, name) ? periodNames[name] : undefined;
}

/**
 * Exactly one of `period` (a name, or a number of seconds as text) and `period_seconds`. `path`
 * prefixes the field names in messages (`limit_key.`, or empty).
 */
export function parsePeriod<S extends string>(
  grammar: KeyGrammar<S>,
  { period = null, period_seconds: seconds = null }: Fields,
  path: string,
): Checked<number> {
  if (period !== null && seconds !== null)
    return bad(
      `${path}period and ${path}period_seconds exclude each other: give exactly one`,
      `${path}period`,
    );
  if (period === null && seconds === null)
    return bad(`${path}period or ${path}period_seconds is required`, `${path}period`);
  if (period === null) return checkSeconds(grammar, seconds, `${path}period_seconds`);
  const byName = typeof period === "string" ? namedPeriod(grammar, period) : undefined;
  if (byName !== undefined) return good(byName);
  if (typeof period === "string" && /^\d{1,12}$/.test(period.trim()))
    return checkSeconds(grammar, Number(period), `${path}period`);
  const expected = `${grammar.periodsExpected} or a number of seconds`;
  const hint =
    typeof period === "number"
      ? `: give a number as ${path}period_seconds`
      : periodAdvice(period, `${path}period_seconds`) ||
        didYouMean(String(period), grammar.periodsExpected.split(", "));
  return bad(`${path}period must be ${expected}, not ${show(period)}${hint}`, `${path}period`);
}

function checkSeconds<S extends string>(
  { secondsMin, secondsExpected }: KeyGrammar<S>,
  value: unknown,
  param: string,
): Checked<number> {
  if (isCount(value, secondsMin) && value <= periodSecondsMax) return good(value);
  const range = `from ${secondsExpected} to ${periodSecondsMax}`;
  return bad(`${param} must be an integer ${range}, not ${show(value)}`, param);
}

/** A user path of a body, normalized. */
export function parseUserPath(raw: unknown, param: string): Checked<string> {
  if (typeof raw !== "string")
    return bad(`${param} must be a path such as /team/app, not ${show(raw)}`, param);
  const result = normalizeUserPath(raw);
  return result.ok
    ? good(result.path)
    : bad(`${param} ${result.reason}, as ${show(raw)} does`, param);
}

function parseScope<S extends string>(
  { scopes, scopesExpected }: KeyGrammar<S>,
  raw: unknown,
): Checked<S> {
  const text = present(raw) ? raw : "user_path";
  const name = typeof text === "string" ? text.trim().toLowerCase() || "user_path" : null;
  const scope = scopes.find((candidate) => candidate === name);
  return scope === undefined
    ? bad(`scope must be ${scopesExpected}, not ${show(raw)}`, "scope")
    : good(scope);
}

/** Whether a subject or path has a value; white space alone doesn't count. */
function isNamed(value: unknown): boolean {
  return typeof value === "string" ? value.trim() !== "" : present(value);
}

/** The scope and subject of a body; `user_path` abbreviates both for a path. */
export function parseLimitTarget<S extends string>(
  grammar: KeyGrammar<S>,
  { scope: rawScope, subject, user_path: userPath }: Fields,
): Checked<{ scope: S; subject: string }> {
  const scope = parseScope(grammar, rawScope);
  if (!scope.ok) return scope;
  const isPath = scope.value === "user_path";
  if (!isPath && isNamed(userPath))
    return bad(
      `user_path can't be combined with the scope ${scope.value}: use subject`,
      "user_path",
    );
  const source =
    !isPath || isNamed(subject)
      ? { raw: subject, param: "subject" }
      : isNamed(userPath)
        ? { raw: userPath, param: "user_path" }
        : { raw: "/", param: "subject" };
  const parsed = grammar.parseSubject(scope.value, source.raw, source.param);
  return parsed.ok ? good({ scope: scope.value, subject: parsed.value }) : parsed;
}

/** The period of a body, in its object. */
function parsePeriodField<S extends string>(
  grammar: KeyGrammar<S>,
  fields: Fields,
): Checked<number> {
  const { periodField } = grammar;
  if (!present(fields[periodField]))
    return bad(`${periodField} is required: an object with period or period_seconds`, periodField);
  const periodFields = withoutNulls(
    fields[periodField],
    ["period", "period_seconds"],
    `${periodField}.`,
  );
  return periodFields.ok
    ? parsePeriod(grammar, periodFields.value, `${periodField}.`)
    : periodFields;
}

/** In rules and budgets null counts as absent: clients write it for a field without a value. */
function withoutNulls(body: unknown, fieldNames: readonly string[], path = ""): Checked<Fields> {
  return asObject(body, fieldNames, { prefix: path, nullable: fieldNames });
}

/** The key of a body with this period. */
function keyOf<S extends string>(
  grammar: KeyGrammar<S>,
  fields: Fields,
  period: Checked<number>,
): Checked<LimitKey<S>> {
  const target = parseLimitTarget(grammar, fields);
  if (!target.ok) return target;
  if (!period.ok) return period;
  const misplaced = misplacedField(grammar, target.value.scope, fields);
  if (misplaced !== null)
    return bad(`${misplaced} is for user-path ${grammar.plural} only`, misplaced);
  const problem = periodProblem(grammar, target.value.scope, period.value);
  if (problem !== null) return bad(`${grammar.periodField}.${problem}`, grammar.periodField);
  const models = grammar.parseModels(fields["models"], "models");
  if (!models.ok) return models;
  const when = parseWhen(fields["when"], "when");
  if (!when.ok) return when;
  const mode = parseMode(fields["mode"], "mode");
  if (!mode.ok) return mode;
  const key = { ...target.value, periodSeconds: period.value };
  return good({
    ...key,
    ...(models.value === undefined ? {} : { models: models.value }),
    ...(when.value === undefined ? {} : { when: when.value }),
    ...mode.value,
  });
}

/** A field that a limit of this scope can't have; null without one. */
export function misplacedField<S extends string>(
  { pathFields }: Pick<KeyGrammar<S>, "pathFields">,
  scope: S,
  fields: Fields,
): string | null {
  if (scope === "user_path") return null;
  return pathFields.find((field) => !isAbsent(fields[field])) ?? null;
}

/** Why a limit of this scope can't have this period, to follow the field's name; null if it can. */
export function periodProblem<S extends string>(
  { pathPeriods, periodNames, plural }: KeyGrammar<S>,
  scope: S,
  periodSeconds: number,
): string | null {
  if (scope === "user_path" || !pathPeriods.includes(periodSeconds)) return null;
  const name = Object.keys(periodNames).find(
    (candidate) => periodNames[candidate] === periodSeconds,
  );
  return `period ${name ?? periodSeconds} is for user-path ${plural} only`;
}

/** The mode of a rule as bodies and list items have it: absent for `enforce`. */
export interface ModeField {
  readonly mode?: "shadow" | undefined;
}

/** Checks `mode`, which defaults to `enforce`. */
export function parseMode(raw: unknown, param: string): Checked<ModeField> {
  if (raw === "shadow") return good({ mode: raw });
  return isAbsent(raw) || raw === "enforce"
    ? good({})
    : bad(`${param} must be enforce or shadow, not ${show(raw)}`, param);
}

export function modeField({ mode }: ModeField): { readonly mode?: "shadow" } {
  return mode === undefined ? {} : { mode };
}

/** The body of a DELETE: a key. */
export function parseKey<S extends string>(
  grammar: KeyGrammar<S>,
  body: unknown,
  furtherFields: readonly string[] = [],
): Checked<LimitKey<S>> {
  const { periodField, keyFields, listedFields } = grammar;
  const fields = withoutNulls(body, [
    "user_path",
    "scope",
    "subject",
    ...keyFields,
    ...listedFields,
    periodField,
    ...furtherFields,
  ]);
  return fields.ok ? keyOf(grammar, fields.value, parsePeriodField(grammar, fields.value)) : fields;
}

/** The body of a reset of one limit: the period is at the top level or in its object. */
export function parseResetOne<S extends string>(
  grammar: KeyGrammar<S>,
  body: unknown,
): Checked<LimitKey<S>> {
  const { periodField, keyFields } = grammar;
  const fields = withoutNulls(body, [
    "user_path",
    "scope",
    "subject",
    ...keyFields,
    "period",
    "period_seconds",
    periodField,
  ]);
  if (!fields.ok) return fields;
  const { period, period_seconds: seconds, [periodField]: inObject } = fields.value;
  if (!present(inObject))
    return keyOf(grammar, fields.value, parsePeriod(grammar, fields.value, ""));
  if (present(period) || present(seconds))
    return bad(`${periodField} and period exclude each other: give exactly one`, periodField);
  return keyOf(grammar, fields.value, parsePeriodField(grammar, fields.value));
}

/** The values of a limit: their fields in a body, and the check. */
interface Values<V> {
  readonly fields: readonly string[];
  readonly parse: (fields: Fields, periodSeconds: number) => Checked<V>;
}

/**
 * The body of a PUT: a key, its values, and `per_child`, which applies to user paths only and needs
 * the entitlement.
 */
export function parseWrite<S extends string, V extends object>(
  grammar: KeyGrammar<S>,
  values: Values<V>,
  body: unknown,
  options: { readonly perChildEntitled: boolean },
): Checked<LimitKey<S> & V & { perChild: boolean }> {
  const fields = withoutNulls(body, [
    "user_path",
    "scope",
    "subject",
    ...grammar.keyFields,
    "per_child",
    grammar.periodField,
    ...values.fields,
  ]);
  if (!fields.ok) return fields;
  const key = keyOf(grammar, fields.value, parsePeriodField(grammar, fields.value));
  if (!key.ok) return key;
  const limited = values.parse(fields.value, key.value.periodSeconds);
  if (!limited.ok) return limited;
  const perChild = fields.value["per_child"] ?? false;
  if (typeof perChild !== "boolean")
    return bad(`per_child must be true or false, not ${show(perChild)}`, "per_child");
  if (perChild && key.value.scope !== "user_path")
    return bad(`per_child is for user-path ${grammar.plural} only`, "per_child");
  if (perChild && !options.perChildEntitled)
    return { ok: false, failure: notEntitledFailure(key.value.subject) };
  return good({ ...key.value, ...limited.value, perChild });
}

/** The configuration line that `notEntitledFailure` asks for. */
export const entitlementLine = "entitlements: [quota_templates]";

/** The only refusal of `per_child`, used by the admin API and the configuration. */
export function notEntitledFailure(subject: string): Failure {
  return failure(
    "quota_templates_not_entitled",
    `per_child on ${subject} requires the entitlement quota_templates`,
    "per_child",
  );
}
