/**
 * Rate limit rules: their fields, the checks of bodies, and the names of rules
 * (`docs/reference/admin-api.md`, "Rules"). The key of a rule in a body is in `limit-key.ts`; the
 * daemon owns the counters.
 */

import { subjectBytesMax } from "../bounds.js";
import { bad, type Checked, good, isAbsent, isCount, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { numberAdvice } from "../text/written-number.js";
import {
  isSameShares,
  parseShares,
  type Shareable,
  type SharesField,
  sharesField,
} from "./child-shares.js";
import { checkHold, type Holdable, type HoldField, holdField } from "./hold.js";
import {
  type KeyGrammar,
  type LimitKey,
  parseKey,
  parseResetOne,
  parseUserPath,
  parseWrite,
} from "./limit-key.js";
import { namesTools, parseLimitedModels } from "./limited-models.js";
import { isSameLoops, type LoopsField, loopsField, parseLoops } from "./loop-rule.js";
import { picoFromUsd } from "./money.js";
import {
  type ExhaustedField,
  type Exhaustible,
  exhaustedField,
  isSameOnExhausted,
  parseOnExhausted,
} from "./on-exhausted.js";
import { isPrintable } from "./target-name.js";
import { parseTokenWeights, type TokenWeights } from "./token-weights.js";

/**
 * The quantities that a rule can cap over time besides requests and all tokens. Each such cap has a
 * window of its own.
 */
export const measures = ["input_tokens", "output_tokens", "cost", "tool_calls"] as const;
export type Measure = (typeof measures)[number];

/**
 * All quantities that can be capped besides requests and all tokens; enqueued tokens have no
 * window.
 */
export const cappedMeasures = [...measures, "enqueued_tokens"] as const;
export type CappedMeasure = (typeof cappedMeasures)[number];

/** The caps of measures; `cost` is in US dollars. Weights apply to tokens of every kind. */
export interface MeasureCaps {
  /** Absent if there are none. */
  readonly measureCaps?: Readonly<Partial<Record<CappedMeasure, number>>> | undefined;
  /** Absent to use `rate_limits.token_weights`. */
  readonly tokenWeights?: TokenWeights | undefined;
}

export const scopes = ["model", "provider", "user_path"] as const;
export type Scope = (typeof scopes)[number];

/** The identity of a rule. `periodSeconds` 0 is `concurrent`. */
export type RuleKey = LimitKey<Scope>;

/**
 * A cap is an integer of at least 1; null for none. With `models`, `maxRequests` may be 0, which
 * bans these models. For `concurrent`, `maxRequests` caps the requests in flight, and the measure
 * `enqueued_tokens` the tokens of unfinished batches; `loops` stops agents that repeat themselves.
 */
interface RuleCaps extends MeasureCaps, Exhaustible, Holdable, Shareable, LoopsField {
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
  readonly perChild: boolean;
  /** Whether each host counts for itself although hosts share limits. Absent if false. */
  readonly hostOnly?: boolean;
}

export interface RuleDefinition extends RuleKey, RuleCaps {}

export type RuleSource = "manual" | "config";

/** A variable's name, or the place in the file as a number (`config/limits/declared-at.ts`). */
export type DeclaredAt = number | string;

/** Where limits are declared, in a list parallel to theirs. */
export interface LimitPlaces {
  readonly declaredAt: readonly DeclaredAt[];
}

interface DeclaredPlace {
  /** The file name without directories, with the line if known; null if a variable declares it. */
  readonly file: string | null;
  /** The place within the file's section, or the variable. */
  readonly within: string;
}

/** The short form of `declared_at` and `declared_line`, which fits into a table row. */
export function declaredPlace(declaredAt: string, line?: number): DeclaredPlace {
  const colon = declaredAt.lastIndexOf(": ");
  if (colon === -1) return { file: null, within: declaredAt };
  const file = declaredAt.slice(declaredAt.lastIndexOf("/", colon) + 1, colon);
  const place = declaredAt.slice(colon + 2);
  return {
    file: line === undefined ? file : `${file}:${line}`,
    within: place.slice(place.indexOf(".") + 1),
  };
}

/** The subject used for matching: provider and model subjects ignore case. */
export function effectiveSubject(scope: Scope, subject: string): string {
  return scope === "user_path" ? subject : subject.toLowerCase();
}

/**
 * Whether a model's id begins with the name of one of these providers, in lower case; as a rule's
 * subject it then means that provider's model only.
 */
export function namesProvider(id: string, providers: Pick<ReadonlySet<string>, "has">): boolean {
  const slash = id.indexOf("/");
  return slash !== -1 && providers.has(id.slice(0, slash));
}

/** Replaces a missing part in an id that has hours or a mode. */
const unset = "*";

/** The key that an id names; its subject is in the form that matching uses. */
export function keyOfId(id: string): RuleKey {
  const [scope, subject = "", periodSeconds, models, when, mode] = id.split("\n");
  return {
    scope: scope as Scope,
    subject,
    periodSeconds: Number(periodSeconds),
    models: models === unset ? undefined : models,
    when: when === unset ? undefined : when,
    ...(mode === "shadow" ? { mode } : {}),
  };
}

/** The identity as one text; also the key in the store. */
export function ruleId(key: RuleKey): string {
  const { models, when, mode } = key;
  const id = `${key.scope}\n${effectiveSubject(key.scope, key.subject)}\n${key.periodSeconds}`;
  if (mode !== undefined) return `${id}\n${models ?? unset}\n${when ?? unset}\n${mode}`;
  if (when !== undefined) return `${id}\n${models ?? unset}\n${when}`;
  return models === undefined ? id : `${id}\n${models}`;
}

/** The id of the window of one measure of a rule. No other id has an empty line. */
export function measureId(id: string, measure: Measure): string {
  return `${id}\n\n${measure}`;
}

/** The id of the windows of the children that share a rule's cap, or the cap of its part. */
export function tenantsId(id: string): string {
  return id === idOfRule(id) ? `${id}\n\nshares` : `${id}\nshares`;
}

/** Whether the windows of an id are those of children that share a cap. */
export function isTenantsId(id: string): boolean {
  return id.endsWith("\nshares") && id !== idOfRule(id);
}

/** The id of the rule of a window. */
export function idOfRule(id: string): string {
  const at = id.indexOf("\n\n");
  return at === -1 ? id : id.slice(0, at);
}

/** The order of all lists and ties: scope, subject, period, models, hours, mode, ascending. */
export function compareRules(a: RuleKey, b: RuleKey): number {
  return (
    compareText(a.scope, b.scope) ||
    compareText(effectiveSubject(a.scope, a.subject), effectiveSubject(b.scope, b.subject)) ||
    a.periodSeconds - b.periodSeconds ||
    compareText(a.models ?? "", b.models ?? "") ||
    compareText(a.when ?? "", b.when ?? "") ||
    compareText(a.mode ?? "", b.mode ?? "")
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** `minute`, `hour`, `day`, `concurrent`, else `300s`. */
export function periodLabel(periodSeconds: number): string {
  switch (periodSeconds) {
    case 0:
      return "concurrent";
    case 60:
      return "minute";
    case 3600:
      return "hour";
    case 86_400:
      return "day";
    default:
      return `${periodSeconds}s`;
  }
}

/** Checks a cap: an integer of at least 1, or absent. */
export function checkCap(value: unknown, param: string): Checked<number | null> {
  if (isAbsent(value)) return good(null);
  if (typeof value === "number" && Number.isFinite(value) && value <= 0)
    return bad(`${param} must be greater than 0, not ${show(value)}`, param);
  if (!isCount(value, 1))
    return bad(
      `${param} must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}, not ${show(value)}${numberAdvice(value)}`,
      param,
    );
  return good(value);
}

/** What `parseCaps` returns. */
interface ParsedCaps extends MeasureCaps, Exhaustible, Holdable, Shareable, LoopsField {
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
}

/**
 * The caps of one period, which requires at least one: `concurrent` has `max_requests`,
 * `max_enqueued_tokens` and `loops`, other periods have all but the latter two. With `models`,
 * `max_requests` may be 0, alone: a ban.
 */
export function parseCaps(
  fields: Readonly<Record<string, unknown>>,
  periodSeconds: number,
  path = "",
): Checked<ParsedCaps> {
  const isBan = fields["max_requests"] === 0 && isForSomeModels(fields["models"]);
  const requests = isBan ? good(0) : checkCap(fields["max_requests"], `${path}max_requests`);
  if (!requests.ok) return requests;
  const tokens = checkCap(fields["max_tokens"], `${path}max_tokens`);
  if (!tokens.ok) return tokens;
  const maxRequests = requests.value;
  const maxTokens = tokens.value;
  const measured = parseMeasures(fields, maxTokens !== null, path);
  if (!measured.ok) return measured;
  const { measureCaps = {} } = measured.value;
  const overTime = [
    ...(maxTokens === null ? [] : ["max_tokens"]),
    ...measures.flatMap((measure) =>
      measureCaps[measure] === undefined ? [] : [`max_${measure}`],
    ),
  ];
  const [first] = overTime;
  const loops = parseLoops(fields["loops"], `${path}loops`);
  if (!loops.ok) return loops;
  const isOnBatches = measureCaps.enqueued_tokens !== undefined;
  const isOnLoops = loops.value.loops !== undefined;
  if (isOnBatches) {
    const problem = enqueuedProblem(fields, periodSeconds, maxRequests !== null);
    if (problem !== null)
      return bad(`${path}max_enqueued_tokens ${problem}`, `${path}max_enqueued_tokens`);
  }
  if (isOnLoops) {
    const problem = loopsProblem(fields, periodSeconds, maxRequests !== null);
    if (problem !== null) return bad(`${path}loops ${problem}`, `${path}loops`);
  }
  if (isBan && first !== undefined)
    return bad(
      `${path}${first} can't be combined with max_requests 0, which allows no request`,
      `${path}${first}`,
    );
  if (periodSeconds === 0) {
    if (first !== undefined)
      return bad(`${path}${first} can't be combined with the period concurrent`, `${path}${first}`);
    if (maxRequests === null && !isOnBatches && !isOnLoops)
      return bad(
        `${path}max_requests is required for the period concurrent, or max_enqueued_tokens or loops`,
        `${path}max_requests`,
      );
  } else if (maxRequests === null && first === undefined) {
    return bad(
      `${path}max_requests is required, or another cap: max_tokens, max_input_tokens, max_output_tokens, max_cost or max_tool_calls`,
      `${path}max_requests`,
    );
  }
  const exhausted = parseOnExhausted(fields["on_exhausted"], `${path}on_exhausted`);
  if (!exhausted.ok) return exhausted;
  if (isBan && exhausted.value.onExhausted !== undefined)
    return bad(
      `${path}on_exhausted can't be combined with max_requests 0, which allows no request`,
      `${path}on_exhausted`,
    );
  const hold = checkHold(fields["hold"], exhausted.value, `${path}hold`);
  if (!hold.ok) return hold;
  if (hold.value.hold === "hard" && !hasHeldCap({ maxTokens, measureCaps }))
    return bad(
      `${path}hold hard needs ${path}max_tokens, ${path}max_input_tokens, ${path}max_output_tokens or ${path}max_cost`,
      `${path}hold`,
    );
  const shares = parseShares(fields["shares"], `${path}shares`);
  if (!shares.ok) return shares;
  if (isBan && shares.value.childShares !== undefined)
    return bad(
      `${path}shares can't be combined with max_requests 0, which allows no request`,
      `${path}shares`,
    );
  return good({
    maxRequests,
    maxTokens,
    ...measured.value,
    ...exhausted.value,
    ...hold.value,
    ...shares.value,
    ...loops.value,
  });
}

/** The conflict between a cap on enqueued tokens and these fields; null if there is none. */
function enqueuedProblem(
  { models, mode, on_exhausted: exhausted, shares }: Readonly<Record<string, unknown>>,
  periodSeconds: number,
  hasRequests: boolean,
): string | null {
  if (periodSeconds !== 0) return "needs the period concurrent";
  if (isForSomeModels(models))
    return "can't be combined with models: a batch may have requests for any model";
  if (mode === "shadow") return "can't be combined with the mode shadow, which refuses nothing";
  const field = actingField({ on_exhausted: exhausted, shares });
  if (field === null || hasRequests) return null;
  return `can't be combined with ${field} without max_requests: a batch beyond it is refused`;
}

/** The conflict between a rule on loops and these fields; null if there is none. */
function loopsProblem(
  { models, when, mode, on_exhausted: exhausted, shares }: Readonly<Record<string, unknown>>,
  periodSeconds: number,
  hasRequests: boolean,
): string | null {
  if (periodSeconds !== 0) return "needs the period concurrent";
  if (isForSomeModels(models)) return "can't be combined with models: a loop may change the model";
  if (!isAbsent(when)) return "can't be combined with when: a path has one rule on loops";
  if (mode === "shadow") return "can't be combined with the mode shadow: warn_after only warns";
  const field = actingField({ on_exhausted: exhausted, shares });
  if (field === null || hasRequests) return null;
  return `can't be combined with ${field} without max_requests`;
}

/** The first of these fields that is there; null without any. */
function actingField(fields: Readonly<Record<string, unknown>>): string | null {
  return Object.keys(fields).find((name) => !isAbsent(fields[name])) ?? null;
}

/**
 * Whether a rule has a cap that may be hard: the number of tool calls can't be known beforehand.
 */
export function hasHeldCap({
  maxTokens,
  measureCaps = {},
}: Pick<RuleDefinition, "maxTokens" | "measureCaps">): boolean {
  const { input_tokens: input, output_tokens: output, cost } = measureCaps;
  return maxTokens !== null || input !== undefined || output !== undefined || cost !== undefined;
}

/** The largest `max_cost`, in US dollars: a window counts pico-dollars in a safe integer. */
export const costCapMax = 9000;

/** The cap of a measure as its window counts it: tokens, or pico-dollars. */
export function countedCap(measure: CappedMeasure, cap: number): number {
  return measure === "cost" ? Math.max(1, picoFromUsd(cap)!) : cap;
}

/** Checks the cap of a measure. */
export function checkMeasure(
  measure: CappedMeasure,
  value: unknown,
  param: string,
): Checked<number | null> {
  if (measure !== "cost") return checkCap(value, param);
  if (isAbsent(value)) return good(null);
  if (typeof value === "number" && value >= 1e-12 && value <= costCapMax) return good(value);
  return bad(
    `${param} must be a number of US dollars from 1e-12 to ${costCapMax}, not ${show(value)}${numberAdvice(value)}`,
    param,
  );
}

/** The caps of measures and the weights, which must have tokens to weigh. */
function parseMeasures(
  fields: Readonly<Record<string, unknown>>,
  hasMaxTokens: boolean,
  path: string,
): Checked<MeasureCaps> {
  const caps: Partial<Record<CappedMeasure, number>> = {};
  for (const measure of cappedMeasures) {
    const param = `max_${measure}`;
    const cap = checkMeasure(measure, fields[param], `${path}${param}`);
    if (!cap.ok) return cap;
    if (cap.value !== null) caps[measure] = cap.value;
  }
  if (caps.tool_calls !== undefined && !isForTools(fields["models"]))
    return bad(
      `${path}max_tool_calls needs ${path}models that name tools, such as tool:web_search or tool:*`,
      `${path}max_tool_calls`,
    );
  const weights = parseTokenWeights(fields["token_weights"], `${path}token_weights`);
  if (!weights.ok) return weights;
  const hasTokens =
    hasMaxTokens || caps.input_tokens !== undefined || caps.output_tokens !== undefined;
  if (weights.value !== undefined && !hasTokens)
    return bad(
      `${path}token_weights needs ${path}max_tokens, ${path}max_input_tokens or ${path}max_output_tokens`,
      `${path}token_weights`,
    );
  return good({
    ...(Object.keys(caps).length === 0 ? {} : { measureCaps: caps }),
    ...(weights.value === undefined ? {} : { tokenWeights: weights.value }),
  });
}

/** The fields of bodies and lists that hold a rule's caps and weights; absent ones are unset. */
export interface CapFields extends ExhaustedField, HoldField, SharesField, LoopsField {
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly max_input_tokens?: number;
  readonly max_output_tokens?: number;
  /** US dollars. */
  readonly max_cost?: number;
  readonly max_tool_calls?: number;
  readonly max_enqueued_tokens?: number;
  readonly token_weights?: TokenWeights;
}

export const capFieldNames = [
  "max_requests",
  "max_tokens",
  "max_input_tokens",
  "max_output_tokens",
  "max_cost",
  "max_tool_calls",
  "max_enqueued_tokens",
  "token_weights",
  "on_exhausted",
  "hold",
  "shares",
  "loops",
] as const satisfies readonly (keyof CapFields)[];

export function capFields({
  maxRequests,
  maxTokens,
  measureCaps,
  tokenWeights,
  onExhausted,
  hold,
  childShares,
  loops,
}: Pick<RuleDefinition, "maxRequests" | "maxTokens"> &
  MeasureCaps &
  Exhaustible &
  Holdable &
  Shareable &
  LoopsField): CapFields {
  return {
    ...(maxRequests === null ? {} : { max_requests: maxRequests }),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...measureFields(measureCaps),
    ...(tokenWeights === undefined ? {} : { token_weights: tokenWeights }),
    ...exhaustedField({ onExhausted }),
    ...holdField({ hold }),
    ...sharesField({ childShares }),
    ...loopsField({ loops }),
  };
}

function measureFields(caps: MeasureCaps["measureCaps"]): CapFields {
  if (caps === undefined) return {};
  const { input_tokens: input, output_tokens: output, cost, tool_calls: calls } = caps;
  const { enqueued_tokens: enqueued } = caps;
  return {
    ...(input === undefined ? {} : { max_input_tokens: input }),
    ...(output === undefined ? {} : { max_output_tokens: output }),
    ...(cost === undefined ? {} : { max_cost: cost }),
    ...(calls === undefined ? {} : { max_tool_calls: calls }),
    ...(enqueued === undefined ? {} : { max_enqueued_tokens: enqueued }),
  };
}

/** Whether two rules have the same caps and weights. */
export function hasSameCaps(a: RuleDefinition, b: RuleDefinition): boolean {
  return (
    a.maxRequests === b.maxRequests &&
    a.maxTokens === b.maxTokens &&
    (a.measureCaps === b.measureCaps ||
      cappedMeasures.every((measure) => a.measureCaps?.[measure] === b.measureCaps?.[measure])) &&
    (a.tokenWeights === b.tokenWeights ||
      JSON.stringify(a.tokenWeights) === JSON.stringify(b.tokenWeights)) &&
    isSameOnExhausted(a, b) &&
    a.hold === b.hold &&
    isSameShares(a, b) &&
    isSameLoops(a, b)
  );
}

/** Whether a list names tools. */
function isForTools(raw: unknown): boolean {
  const models = parseLimitedModels(raw, "models");
  return models.ok && namesTools(models.value);
}

/** Not `["*"]`, which is for all models. */
function isForSomeModels(raw: unknown): boolean {
  const models = parseLimitedModels(raw, "models");
  return models.ok && models.value !== undefined;
}

/** Checks `host_only`, which defaults to false. */
function checkHostOnly(value: unknown, path: string): Checked<{ readonly hostOnly?: true }> {
  if (value === true) return good({ hostOnly: true });
  const param = `${path}host_only`;
  return isAbsent(value) || value === false
    ? good({})
    : bad(`${param} must be true or false, not ${show(value)}`, param);
}

/** The values of a rule for one period: its caps and `host_only`. */
export function parseRuleValues(
  fields: Readonly<Record<string, unknown>>,
  periodSeconds: number,
  path = "",
): Checked<ParsedCaps & { hostOnly?: true }> {
  const caps = parseCaps(fields, periodSeconds, path);
  if (!caps.ok) return caps;
  const acting = {
    on_exhausted: caps.value.onExhausted,
    hold: caps.value.hold,
    shares: caps.value.childShares,
  };
  const [field] = Object.entries(acting).find(([, value]) => value !== undefined) ?? [];
  if (fields["mode"] === "shadow" && field !== undefined)
    return bad(
      `${path}${field} can't be combined with the mode shadow, which refuses nothing`,
      `${path}${field}`,
    );
  const hostOnly = checkHostOnly(fields["host_only"], path);
  return hostOnly.ok ? good({ ...caps.value, ...hostOnly.value }) : hostOnly;
}

/** A provider or model subject, trimmed, in the form in which it is reported. */
export function parseSubject(
  scope: "provider" | "model",
  raw: unknown,
  param: string,
): Checked<string> {
  if (typeof raw !== "string" || raw.trim() === "")
    return bad(`${param} is required for the scope ${scope}`, param);
  const subject = raw.trim();
  if (utf8Bytes(subject) > subjectBytesMax)
    return bad(`${param} must be at most ${subjectBytesMax} bytes`, param);
  if (!isPrintable(subject)) return bad(`${param} must not hold control characters`, param);
  if (scope === "provider" && /[\s/]/.test(subject))
    return bad(
      `${param} must be a provider's name, without a slash or white space, not ${show(subject)}`,
      param,
    );
  if (scope === "model" && (subject.startsWith("/") || subject.endsWith("/")))
    return bad(
      `${param} must be a model id without a leading or trailing slash, not ${show(subject)}`,
      param,
    );
  return good(subject);
}

/** The form of a rule's key in bodies. */
export const ruleGrammar: KeyGrammar<Scope> = {
  plural: "rules",
  scopes,
  scopesExpected: "user_path, provider or model",
  periodField: "limit_key",
  periodNames: {
    minute: 60,
    minutes: 60,
    min: 60,
    minutely: 60,
    hour: 3600,
    hours: 3600,
    hourly: 3600,
    day: 86_400,
    days: 86_400,
    daily: 86_400,
    concurrent: 0,
    concurrency: 0,
  },
  periodsExpected: "minute, hour, day, concurrent",
  secondsMin: 0,
  secondsExpected: "0 (concurrent)",
  pathPeriods: [],
  keyFields: ["models", "when", "mode"],
  pathFields: ["models", "max_enqueued_tokens", "loops"],
  parseModels: parseLimitedModels,
  listedFields: ["per_child", "host_only"],
  parseSubject: (scope, raw, param) =>
    scope === "user_path" ? parseUserPath(raw, param) : parseSubject(scope, raw, param),
};

/** Checks the body of PUT /admin/rate-limits. The caller decides whether `per_child` is allowed. */
export function parseRuleWrite(
  body: unknown,
  options: { readonly perChildEntitled: boolean },
): Checked<RuleDefinition> {
  return parseWrite(
    ruleGrammar,
    { fields: [...capFieldNames, "host_only"], parse: parseRuleValues },
    body,
    options,
  );
}

/** The body of DELETE /admin/rate-limits. */
export function parseRuleKey(body: unknown): Checked<RuleKey> {
  return parseKey(ruleGrammar, body);
}

/** The body of POST /admin/rate-limits/reset-one. */
export function parseRuleResetOne(body: unknown): Checked<RuleKey> {
  return parseResetOne(ruleGrammar, body);
}
