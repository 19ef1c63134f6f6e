/**
 * Raises: higher caps of a rule, or a higher amount of a budget, until a moment. After it the
 * declared values apply again, with or without requests (`docs/limit-options.md`). Pure.
 */
import { raiseReasonBytesMax, raiseSecondsMax } from "../bounds.js";
import { bad, type Checked, good, isAbsent, isCount, isObject, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { isMoment } from "../time.js";
import { amountUsdMax, type BudgetScope, budgetGrammar, parseAmount } from "./budget.js";
import { type KeyGrammar, type LimitKey, parseKey } from "./limit-key.js";
import {
  type CappedMeasure,
  cappedMeasures,
  checkCap,
  checkMeasure,
  countedCap,
  type Measure,
  type MeasureCaps,
  ruleGrammar,
  type Scope,
} from "./rule.js";
import { isPrintable } from "./target-name.js";

/** The raised values; null where a value isn't raised. */
export interface RaisedValues extends Pick<MeasureCaps, "measureCaps"> {
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
  /** US dollars. */
  readonly amountUsd: number | null;
}

export interface Raise extends RaisedValues {
  /** The raised child of a template; empty for the rule or budget itself, or for every child. */
  readonly child: string;
  readonly fromMs: number;
  /** The raise applies before this moment. */
  readonly untilMs: number;
  /** Who raised it, in their own words. */
  readonly by: string;
  readonly reason: string;
}

/** Whether a raise applies to a child, or to the rule itself (empty), at a moment. */
export function appliesTo(
  { child: raisedChild, untilMs }: Raise,
  child: string,
  nowMs: number,
): boolean {
  return nowMs < untilMs && (raisedChild === "" || raisedChild === child);
}

interface Caps extends Pick<MeasureCaps, "measureCaps"> {
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
}

/** The caps with the raises that apply. A raise neither lowers a cap nor adds one. */
export function raisedCaps(
  { maxRequests, maxTokens, measureCaps }: Caps,
  raises: readonly Raise[],
  child: string,
  nowMs: number,
): Caps {
  const raised: { -readonly [Cap in keyof Caps]: Caps[Cap] } = { maxRequests, maxTokens };
  if (measureCaps !== undefined) raised.measureCaps = measureCaps;
  for (const raise of raises) {
    if (!appliesTo(raise, child, nowMs)) continue;
    raised.maxRequests = higherCap(raised.maxRequests, raise.maxRequests);
    raised.maxTokens = higherCap(raised.maxTokens, raise.maxTokens);
    if (measureCaps !== undefined && raise.measureCaps !== undefined)
      raised.measureCaps = higherMeasures(raised.measureCaps ?? measureCaps, raise.measureCaps);
  }
  return raised;
}

type CapsOfMeasures = NonNullable<MeasureCaps["measureCaps"]>;

function higherMeasures(caps: CapsOfMeasures, raised: CapsOfMeasures): CapsOfMeasures {
  const all: Partial<Record<CappedMeasure, number>> = { ...caps };
  for (const measure of cappedMeasures) {
    const cap = caps[measure];
    if (cap !== undefined) all[measure] = Math.max(cap, raised[measure] ?? 0);
  }
  return all;
}

/** The raises of one measure, in the form of the window that counts it; null without any. */
export function raisesOfMeasure(
  raises: readonly Raise[] | null,
  measure: Measure,
): readonly Raise[] | null {
  const capRaises = (raises ?? []).flatMap((raise): Raise[] => {
    const cap = raise.measureCaps?.[measure];
    if (cap === undefined) return [];
    return [{ ...raise, maxRequests: null, maxTokens: countedCap(measure, cap) }];
  });
  return capRaises.length === 0 ? null : capRaises;
}

/** The amount with the raises that apply. */
export function raisedAmount(
  amountUsd: number,
  raises: readonly Raise[],
  child: string,
  nowMs: number,
): number {
  let raised = amountUsd;
  for (const raise of raises)
    if (appliesTo(raise, child, nowMs)) raised = Math.max(raised, raise.amountUsd ?? 0);
  return raised;
}

function higherCap(cap: number | null, raised: number | null): number | null {
  return cap === null || raised === null ? cap : Math.max(cap, raised);
}

/** The request for a raise, as a body has it. */
export interface RaiseRequest<S extends string> extends RaisedValues {
  readonly key: LimitKey<S>;
  readonly forMs: number;
  readonly by: string;
  readonly reason: string;
}

/** The body of POST /admin/rate-limits/raise: a key, and the raise. */
export function parseRuleRaise(body: unknown): Checked<RaiseRequest<Scope>> {
  return parseRaise(ruleGrammar, raisedFields, body, (fields) => {
    const requests = checkCap(fields["max_requests"], "max_requests");
    if (!requests.ok) return requests;
    const tokens = checkCap(fields["max_tokens"], "max_tokens");
    if (!tokens.ok) return tokens;
    const measureCaps: Partial<Record<CappedMeasure, number>> = {};
    for (const measure of cappedMeasures) {
      const cap = checkMeasure(measure, fields[`max_${measure}`], `max_${measure}`);
      if (!cap.ok) return cap;
      if (cap.value !== null) measureCaps[measure] = cap.value;
    }
    const hasMeasures = Object.keys(measureCaps).length > 0;
    if (requests.value === null && tokens.value === null && !hasMeasures)
      return bad(`one of ${raisedFields.join(", ")} is required`, "max_requests");
    return good({
      maxRequests: requests.value,
      maxTokens: tokens.value,
      amountUsd: null,
      ...(hasMeasures ? { measureCaps } : {}),
    });
  });
}

/** The caps that a raise of a rule may have. */
const raisedFields = [
  "max_requests",
  "max_tokens",
  ...cappedMeasures.map((measure) => `max_${measure}`),
];

/** The body of POST /admin/budgets/raise. */
export function parseBudgetRaise(body: unknown): Checked<RaiseRequest<BudgetScope>> {
  return parseRaise(budgetGrammar, ["amount"], body, (fields) => {
    const amount = parseAmount(fields["amount"], "amount");
    return amount.ok
      ? good({ maxRequests: null, maxTokens: null, amountUsd: amount.value })
      : amount;
  });
}

/** The body of DELETE …/raise. */
interface EndRequest<S extends string> {
  readonly key: LimitKey<S>;
  readonly by: string;
}

export function parseRaiseEnd<S extends string>(
  grammar: KeyGrammar<S>,
  body: unknown,
): Checked<EndRequest<S>> {
  const { own, rest } = splitFields(body, ["by"]);
  const key = parseKey(grammar, rest, ["by"]);
  if (!key.ok) return key;
  const by = checkText(own["by"], { param: "by", otherwise: unnamed });
  return by.ok ? good({ key: key.value, by: by.value }) : by;
}

/** The name of a requester who states none: the API has one kind of administrator. */
const unnamed = "an administrator";

type Fields = Readonly<Record<string, unknown>>;

function parseRaise<S extends string>(
  grammar: KeyGrammar<S>,
  valueFields: readonly string[],
  body: unknown,
  parseValues: (fields: Fields) => Checked<RaisedValues>,
): Checked<RaiseRequest<S>> {
  const names = [...valueFields, "for_seconds", "reason", "by"];
  const { own, rest } = splitFields(body, names);
  const key = parseKey(grammar, rest, names);
  if (!key.ok) return key;
  const values = parseValues(own);
  if (!values.ok) return values;
  const seconds = own["for_seconds"];
  if (!isCount(seconds, 1) || seconds > raiseSecondsMax)
    return bad(
      `for_seconds must be an integer from 1 to ${raiseSecondsMax}, not ${show(seconds)}`,
      "for_seconds",
    );
  const reason = checkText(own["reason"], { param: "reason", otherwise: null });
  if (!reason.ok) return reason;
  const by = checkText(own["by"], { param: "by", otherwise: unnamed });
  if (!by.ok) return by;
  return good({
    key: key.value,
    ...values.value,
    forMs: seconds * 1000,
    by: by.value,
    reason: reason.value,
  });
}

/** The fields of a raise (`own`), and the other fields, which are those of a key (`rest`). */
function splitFields(body: unknown, names: readonly string[]) {
  if (!isObject(body)) return { own: {} as Fields, rest: body };
  const entries = Object.entries(body);
  return {
    own: Object.fromEntries(entries.filter(([name]) => names.includes(name))) as Fields,
    rest: Object.fromEntries(entries.filter(([name]) => !names.includes(name))) as unknown,
  };
}

/** `otherwise`: the value of an absent text; null if it is required. */
function checkText(
  value: unknown,
  { param, otherwise }: { readonly param: string; readonly otherwise: string | null },
): Checked<string> {
  if (isAbsent(value) && otherwise !== null) return good(otherwise);
  if (typeof value !== "string" || value.trim() === "")
    return bad(`${param} must be a text, not ${show(value)}`, param);
  const text = value.trim();
  if (utf8Bytes(text) > raiseReasonBytesMax)
    return bad(`${param} must be at most ${raiseReasonBytesMax} bytes`, param);
  return isPrintable(text) ? good(text) : bad(`${param} must not hold control characters`, param);
}

/**
 * For each raise [child, fromMs, untilMs, maxRequests, maxTokens, amountUsd, by, reason,
 * measureCaps]; the last one only if it has some.
 */
export function raisesToStored(raises: readonly Raise[]): readonly unknown[] {
  return raises.map(({ child, fromMs, untilMs, by, reason, ...values }) => [
    ...[child, fromMs, untilMs, values.maxRequests, values.maxTokens, values.amountUsd],
    ...[by, reason],
    ...(values.measureCaps === undefined ? [] : [values.measureCaps]),
  ]);
}

/** Null for what `raisesToStored` never wrote. */
export function raisesFromStored(value: readonly unknown[]): Raise[] | null {
  const raises: Raise[] = [];
  for (const item of value) {
    if (!Array.isArray(item)) return null;
    const [child, fromMs, untilMs, maxRequests, maxTokens, amountUsd, ...rest]: unknown[] = item;
    const [by, reason, caps] = rest;
    if (typeof child !== "string" || typeof by !== "string" || typeof reason !== "string")
      return null;
    if (!isMoment(fromMs) || !isMoment(untilMs)) return null;
    if (!isCapOrNull(maxRequests) || !isCapOrNull(maxTokens) || !isAmountOrNull(amountUsd))
      return null;
    const measureCaps = caps === undefined ? {} : measureCapsFromStored(caps);
    if (measureCaps === null) return null;
    raises.push({
      child,
      fromMs,
      untilMs,
      maxRequests,
      maxTokens,
      amountUsd,
      by,
      reason,
      ...measureCaps,
    });
  }
  return raises;
}

function measureCapsFromStored(value: unknown): Pick<Raise, "measureCaps"> | null {
  if (!isObject(value)) return null;
  const measureCaps: Partial<Record<CappedMeasure, number>> = {};
  for (const measure of cappedMeasures) {
    const cap = checkMeasure(measure, value[measure], measure);
    if (!cap.ok) return null;
    if (cap.value !== null) measureCaps[measure] = cap.value;
  }
  return { measureCaps };
}

function isCapOrNull(value: unknown): value is number | null {
  return value === null || isCount(value, 1);
}

function isAmountOrNull(value: unknown): value is number | null {
  return value === null || (typeof value === "number" && value > 0 && value <= amountUsdMax);
}
