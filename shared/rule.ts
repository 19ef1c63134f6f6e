/**
 * Rate limit rules: what they are, how they are written, checked and named (SPEC "Resources",
 * CONTRACT sections 3, 4 and 6). Their live counters are not here: the daemon owns those.
 */
import { isCount } from "./assert.js";
import { periodSecondsMax, subjectBytesMax } from "./bounds.js";
import { type Failure, failure, invalid } from "./error-code.js";
import { normalizeUserPath, utf8Bytes } from "./user-path.js";

export const scopes = ["model", "provider", "user_path"] as const;
export type Scope = (typeof scopes)[number];

/** What identifies a rule. `periodSeconds` 0 is `concurrent`. The subject stands as it was written. */
export interface RuleKey {
  readonly scope: Scope;
  readonly subject: string;
  readonly periodSeconds: number;
}

/** A cap is an integer from 1 up, or null for none. For `concurrent`, `maxRequests` is the in-flight cap. */
export interface RuleCaps {
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
  readonly perChild: boolean;
}

export interface RuleDefinition extends RuleKey, RuleCaps {}

export type RuleSource = "manual" | "config";

/** The subject in the form that matching uses: provider and model subjects compare without case. */
export function effectiveSubject(scope: Scope, subject: string): string {
  return scope === "user_path" ? subject : subject.toLowerCase();
}

/** One text per identity; also the key in the store. */
export function ruleId(key: RuleKey): string {
  return `${key.scope}\n${effectiveSubject(key.scope, key.subject)}\n${key.periodSeconds}`;
}

/** The order of CONTRACT section 4: scope, subject, period, ascending. */
export function compareRules(a: RuleKey, b: RuleKey): number {
  return (
    compareText(a.scope, b.scope) ||
    compareText(effectiveSubject(a.scope, a.subject), effectiveSubject(b.scope, b.subject)) ||
    a.periodSeconds - b.periodSeconds
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const periodNames: Readonly<Record<string, number>> = {
  minute: 60, minutes: 60, min: 60, minutely: 60,
  hour: 3600, hours: 3600, hourly: 3600,
  day: 86_400, days: 86_400, daily: 86_400,
  concurrent: 0, concurrency: 0,
};

/** `minute`, `hour`, `day`, `concurrent`, else `300s`. */
export function periodLabel(periodSeconds: number): string {
  switch (periodSeconds) {
    case 0: return "concurrent";
    case 60: return "minute";
    case 3600: return "hour";
    case 86_400: return "day";
    default: return `${periodSeconds}s`;
  }
}

export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };

function good<T>(value: T): Checked<T> {
  return { ok: true, value };
}

function bad<T>(message: string, param: string): Checked<T> {
  return { ok: false, failure: invalid(message, param) };
}

/** A named period, or a number of seconds in a text. */
export function parsePeriod(period: unknown, param: string): Checked<number> {
  const expected = "must be minute, hour, day, concurrent or a number of seconds";
  if (typeof period !== "string") return bad(`${param} ${expected}, not ${show(period)}`, param);
  const text = period.trim().toLowerCase();
  const named = Object.hasOwn(periodNames, text) ? periodNames[text] : undefined;
  if (named !== undefined) return good(named);
  if (/^\d{1,12}$/.test(text)) return checkPeriodSeconds(Number(text), param);
  return bad(`${param} ${expected}, not ${show(period)}`, param);
}

export function checkPeriodSeconds(value: unknown, param: string): Checked<number> {
  if (!isCount(value) || value > periodSecondsMax) {
    return bad(`${param} must be an integer from 0 (concurrent) to ${periodSecondsMax}, not ${show(value)}`, param);
  }
  return good(value);
}

/** Exactly one of `period` and `period_seconds`; `at` leads the names in messages (`limit_key.`, or empty). */
export function parseLimitKey(fields: Readonly<Record<string, unknown>>, at: string): Checked<number> {
  const hasPeriod = fields["period"] !== undefined && fields["period"] !== null;
  const hasSeconds = fields["period_seconds"] !== undefined && fields["period_seconds"] !== null;
  if (hasPeriod && hasSeconds) return bad(`${at}period and ${at}period_seconds exclude each other: give exactly one`, `${at}period`);
  if (!hasPeriod && !hasSeconds) return bad(`${at}period or ${at}period_seconds is required`, `${at}period`);
  return hasPeriod ? parsePeriod(fields["period"], `${at}period`) : checkPeriodSeconds(fields["period_seconds"], `${at}period_seconds`);
}

function checkCap(value: unknown, param: string): Checked<number | null> {
  if (value === undefined || value === null) return good(null);
  if (typeof value === "number" && Number.isFinite(value) && value <= 0) return bad(`${param} must be greater than 0, not ${show(value)}`, param);
  if (!isCount(value, 1)) return bad(`${param} must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}, not ${show(value)}`, param);
  return good(value);
}

/** The caps of one period: `concurrent` needs `max_requests` and forbids `max_tokens`, any other needs one of the two. */
export function parseCaps(fields: Readonly<Record<string, unknown>>, periodSeconds: number, at = ""): Checked<{ maxRequests: number | null; maxTokens: number | null }> {
  const requests = checkCap(fields["max_requests"], `${at}max_requests`);
  if (!requests.ok) return requests;
  const tokens = checkCap(fields["max_tokens"], `${at}max_tokens`);
  if (!tokens.ok) return tokens;
  const maxRequests = requests.value;
  const maxTokens = tokens.value;
  if (periodSeconds === 0) {
    if (maxTokens !== null) return bad(`${at}max_tokens can't be combined with the period concurrent`, `${at}max_tokens`);
    if (maxRequests === null) return bad(`${at}max_requests is required for the period concurrent`, `${at}max_requests`);
  } else if (maxRequests === null && maxTokens === null) {
    return bad(`${at}max_requests or ${at}max_tokens is required`, `${at}max_requests`);
  }
  return good({ maxRequests, maxTokens });
}

/** A provider or model subject: trimmed, as it will be reported. */
export function parseSubject(scope: "provider" | "model", raw: unknown, param: string): Checked<string> {
  if (typeof raw !== "string" || raw.trim() === "") return bad(`${param} is required for the scope ${scope}`, param);
  const subject = raw.trim();
  if (utf8Bytes(subject) > subjectBytesMax) return bad(`${param} must be at most ${subjectBytesMax} bytes`, param);
  if (/\p{Cc}/u.test(subject)) return bad(`${param} must not hold control characters`, param);
  if (scope === "provider" && /[\s/]/.test(subject)) return bad(`${param} must be a provider's name, without a slash or white space, not ${show(subject)}`, param);
  if (scope === "model" && (subject.startsWith("/") || subject.endsWith("/"))) return bad(`${param} must be a model id without a leading or trailing slash, not ${show(subject)}`, param);
  return good(subject);
}

/** A user path of a body, normalized. */
export function parseUserPath(raw: unknown, param: string): Checked<string> {
  if (typeof raw !== "string") return bad(`${param} must be a path such as /team/app, not ${show(raw)}`, param);
  const result = normalizeUserPath(raw);
  return result.ok ? good(result.path) : bad(`${param} ${result.reason}`, param);
}

function parseScope(raw: unknown): Checked<Scope> {
  if (raw === undefined || raw === null) return good("user_path");
  if (typeof raw === "string") {
    const text = raw.trim().toLowerCase();
    if (text === "") return good("user_path");
    const scope = scopes.find((known) => known === text);
    if (scope !== undefined) return good(scope);
  }
  return bad(`scope must be user_path, provider or model, not ${show(raw)}`, "scope");
}

/** Scope and subject of a body, with `user_path` as the shorthand that SPEC gives it. */
function parseTarget(body: Readonly<Record<string, unknown>>): Checked<{ scope: Scope; subject: string }> {
  const scopeResult = parseScope(body["scope"]);
  if (!scopeResult.ok) return scopeResult;
  const scope = scopeResult.value;
  const { subject, user_path: userPath } = body as { subject?: unknown; user_path?: unknown };
  if (scope === "user_path") {
    const given = present(subject) ? { raw: subject, param: "subject" } : present(userPath) ? { raw: userPath, param: "user_path" } : { raw: "/", param: "subject" };
    const path = parseUserPath(given.raw, given.param);
    return path.ok ? good({ scope, subject: path.value }) : path;
  }
  if (present(userPath)) return bad(`user_path can't be combined with the scope ${scope}: use subject`, "user_path");
  const parsed = parseSubject(scope, subject, "subject");
  return parsed.ok ? good({ scope, subject: parsed.value }) : parsed;
}

export function present(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

export function asObject(body: unknown, known: readonly string[], at = ""): Checked<Readonly<Record<string, unknown>>> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return bad(`${at === "" ? "the body" : at.slice(0, -1)} must be a JSON object, not ${show(body)}`, at === "" ? "body" : at.slice(0, -1));
  for (const name of Object.keys(body)) {
    if (!known.includes(name)) return bad(`unknown field ${at}${name}: expected ${known.map((field) => at + field).join(", ")}`, `${at}${name}`);
  }
  return good(body as Readonly<Record<string, unknown>>);
}

/** The body of PUT /admin/rate-limits, checked. Whether per-child is entitled is for the caller to say. */
export function parseRuleWrite(body: unknown, options: { readonly perChildEntitled: boolean }): Checked<RuleDefinition> {
  const fields = asObject(body, ["user_path", "scope", "subject", "per_child", "limit_key", "max_requests", "max_tokens"]);
  if (!fields.ok) return fields;
  const key = parseRuleKeyFields(fields.value);
  if (!key.ok) return key;
  const caps = parseCaps(fields.value, key.value.periodSeconds);
  if (!caps.ok) return caps;
  const perChild = fields.value["per_child"] ?? false;
  if (typeof perChild !== "boolean") return bad(`per_child must be true or false, not ${show(perChild)}`, "per_child");
  if (perChild && key.value.scope !== "user_path") return bad("per_child is for user-path rules only", "per_child");
  if (perChild && !options.perChildEntitled) return { ok: false, failure: notEntitled(key.value.subject) };
  return good({ ...key.value, ...caps.value, perChild });
}

/** The one refusal of per-child rules, shared by the admin API and the configuration. */
export function notEntitled(subject: string): Failure {
  return failure("quota_templates_not_entitled", `per_child on ${subject} requires the entitlement quota_templates`, "per_child");
}

/** The body of DELETE /admin/rate-limits: what identifies the rule. */
export function parseRuleKey(body: unknown): Checked<RuleKey> {
  const fields = asObject(body, ["user_path", "scope", "subject", "per_child", "limit_key"]);
  return fields.ok ? parseRuleKeyFields(fields.value) : fields;
}

function parseRuleKeyFields(fields: Readonly<Record<string, unknown>>): Checked<RuleKey> {
  const target = parseTarget(fields);
  if (!target.ok) return target;
  if (fields["limit_key"] === undefined || fields["limit_key"] === null) return bad("limit_key is required: an object with period or period_seconds", "limit_key");
  const limitKey = asObject(fields["limit_key"], ["period", "period_seconds"], "limit_key.");
  if (!limitKey.ok) return limitKey;
  const period = parseLimitKey(limitKey.value, "limit_key.");
  return period.ok ? good({ ...target.value, periodSeconds: period.value }) : period;
}

/** The body of POST /admin/rate-limits/reset-one: scope, subject and period at the top level, or a `limit_key` as elsewhere. */
export function parseResetOne(body: unknown): Checked<RuleKey> {
  const fields = asObject(body, ["user_path", "scope", "subject", "period", "period_seconds", "limit_key"]);
  if (!fields.ok) return fields;
  const { period, period_seconds: periodSeconds, limit_key: limitKey, ...rest } = fields.value;
  if (limitKey !== undefined && (period !== undefined || periodSeconds !== undefined)) return bad("limit_key and period exclude each other: give exactly one", "limit_key");
  if (limitKey !== undefined) return parseRuleKeyFields({ ...rest, limit_key: limitKey });
  const target = parseTarget(rest);
  if (!target.ok) return target;
  const seconds = parseLimitKey({ period, period_seconds: periodSeconds }, "");
  return seconds.ok ? good({ ...target.value, periodSeconds: seconds.value }) : seconds;
}

/** The body of POST /admin/rate-limits/reset. */
export function parseConfirmation(body: unknown): Checked<true> {
  const fields = asObject(body, ["confirmation"]);
  if (!fields.ok) return fields;
  const confirmation = fields.value["confirmation"];
  if (typeof confirmation === "string" && confirmation.trim().toLowerCase() === "reset") return good(true);
  return bad("confirmation must be reset", "confirmation");
}

/** A value from outside, short enough for a message. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  // JSON says null for those that aren't finite.
  if (typeof value === "number") return String(value);
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    // A cyclic value can't come from JSON or YAML text; its kind says enough.
    text = typeof value;
  }
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
