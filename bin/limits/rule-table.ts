/**
 * The tables of rules, in a list and in an explanation. Pure; the rules are the objects of the
 * admin API.
 */

import { isObject } from "../../shared/checked.js";
import { calendarWords } from "../../shared/domain/budget-calendar.js";
import { type ChildShares, textOfShares } from "../../shared/domain/child-shares.js";
import { holdWords } from "../../shared/domain/hold.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { type LoopRule, loopsWords, textOfLoops } from "../../shared/domain/loop-rule.js";
import { exhaustedWords } from "../../shared/domain/on-exhausted.js";
import { declaredPlace } from "../../shared/domain/rule.js";
import { hoursOf } from "../../shared/domain/rule-hours.js";
import { type TokenWeights, textOfWeights } from "../../shared/domain/token-weights.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { greatest } from "../../shared/long-lists.js";
import { formatDuration } from "../text/duration.js";
import { plainUsd, spentText } from "../text/number-text.js";
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";
import { type Tone, toneOfShare } from "../text/tone.js";
import { isOfSessions, type LimitList, type ListedLimit } from "./list-limits.js";

/** The columns that every table of rules has. */
export function ruleColumns(nowMs: number): readonly Column<ListedLimit>[] {
  return [
    { title: "SCOPE", detail: true, align: "left", text: (rule) => String(rule["scope"]) },
    { title: "SUBJECT", align: "left", text: subjectText },
    { title: "PERIOD", align: "left", text: (rule) => String(rule["period_label"]) },
    {
      title: "REQUESTS",
      align: "right",
      text: (rule) => (isConcurrent(rule) ? "-" : usedOf(rule, "requests")),
      tone: (rule) => (isConcurrent(rule) ? null : toneOfShare(shareOf(rule, "requests"))),
    },
    {
      title: "TOKENS",
      align: "right",
      text: tokensText,
      tone: (rule) => toneOfShare(tokensColumnShare(rule)),
    },
    {
      title: "IN FLIGHT",
      align: "right",
      text: (rule) => (isConcurrent(rule) ? usedOf(rule, "requests", "in_flight") : "-"),
      tone: (rule) => toneOfShare(shareOf(rule, "requests", "in_flight")),
    },
    {
      title: "RESETS IN",
      detail: true,
      align: "right",
      text: (rule) => untilReset(rule["window_end"], nowMs),
    },
  ];
}

/** The table of `limits list`, and below it the inert rules. */
export function renderRules({ items, serverTime }: LimitList, view: TableView = plainView): string {
  if (items.length === 0) return "no rules";
  const hasShadows = items.some(({ mode }) => mode === "shadow");
  const columns: readonly Column<ListedLimit>[] = [
    ...ruleColumns(Date.parse(serverTime)),
    ...(hasShadows ? [wouldRefuseColumn] : []),
    { title: "SOURCE", detail: true, align: "left", text: sourceText },
  ];
  return [
    renderTable(columns, items, view),
    ...raiseLines(items),
    ...inertLines(items),
    ...overrideLines(items, { command: "limits", declaredText: capsText }),
  ].join("\n");
}

/** What a shadow rule would have refused, and when last. */
const wouldRefuseColumn: Column<ListedLimit> = {
  title: "WOULD REFUSE",
  align: "right",
  text: ({ would_refuse: count, last_would_refuse_at: last }) =>
    typeof count !== "number" ? "-" : `${count}${typeof last === "string" ? `, last ${last}` : ""}`,
};

/** One line per override: what the configuration declares, and how to restore it. */
export function overrideLines(
  items: readonly ListedLimit[],
  {
    command,
    declaredText,
  }: { readonly command: string; readonly declaredText: (overrides: ListedLimit) => string },
): readonly string[] {
  return items.flatMap((item) => {
    const { overrides, template, scope, period_label: period } = item;
    // A template's children are listed with its fields.
    if (!isObject(overrides) || template !== undefined) return [];
    const ruleLabel = `${String(scope)} ${nameOf(item)} ${String(period)}`;
    const declared = declaredText(overrides);
    return [
      `not config: ${ruleLabel}: the configuration has ${declared}; sluice ${command} revert takes that`,
    ];
  });
}

/** The caps that the configuration declares. */
function capsText(overrides: ListedLimit): string {
  return capWords(overrides).join(" and ");
}

/** The caps and the weights in words, as far as they are set: `12 requests`, `$5`. */
export function capWords(
  caps: Readonly<Record<string, unknown>>,
  format: (count: number) => string = String,
): readonly string[] {
  const { max_cost: cost, token_weights: weights, shares, loops } = caps;
  return [
    ...(["requests", "tokens", ...countedMeasures] as const).flatMap((name) => {
      const cap = caps[`max_${name}`];
      return typeof cap === "number" ? [`${format(cap)} ${name.replace("_", " ")}`] : [];
    }),
    ...(typeof cost === "number" ? [plainUsd(cost)] : []),
    ...(isObject(weights) ? [`weights ${textOfWeights(weights as TokenWeights)}`] : []),
    ...(isObject(shares) ? [`shares ${textOfShares(shares as ChildShares)}`] : []),
    ...(isObject(loops) ? [`loops ${textOfLoops(loops as unknown as LoopRule)}`] : []),
  ];
}

/** The use of the caps on tokens, tool calls and cost: `12/100`, `3/50 in`, `$1.00 / $5.00`. */
function tokensText(rule: ListedLimit): string {
  const used = [
    usedOf(rule, "tokens"),
    ...measureWords.map(([name, word]) => {
      const text = usedOf(rule, name);
      return text === "-" ? "-" : `${text} ${word}`;
    }),
    costOf(rule),
  ].filter((text) => text !== "-");
  return used.length === 0 ? "-" : used.join(", ");
}

const measureWords = [
  ["input_tokens", "in"],
  ["output_tokens", "out"],
  ["tool_calls", "calls"],
  ["enqueued_tokens", "enqueued"],
] as const;

const countedMeasures = measureWords.map(([name]) => name);

function costOf(rule: ListedLimit): string {
  const { cost_used: used, cost_held: costHeld } = rule;
  const cap = raisedValue(rule, "max_cost");
  return typeof cap === "number"
    ? spentText({ spent: isTemplate(rule) ? null : used, amount: cap, held: costHeld })
    : "-";
}

/** `manual`; or `config`, with the file and the line or the variable to change. */
export function sourceText(item: ListedLimit): string {
  const { source, declared_at: place, declared_line: line, overrides } = item;
  if (typeof source !== "string") return "-";
  if (isObject(overrides))
    return `${source}, not ${sourceText({ ...overrides, source: "config" })}`;
  if (typeof place !== "string") return source;
  const { file, within } = declaredPlace(place, typeof line === "number" ? line : undefined);
  return `${source} ${file ?? within}`;
}

/** A line for each raise: the raised values, until when, by whom and why. */
export function raiseLines(items: readonly ListedLimit[]): readonly string[] {
  const lines = items.flatMap((item) =>
    raisesOf(item).map((raise) => {
      const { subject, max_requests: requests, max_tokens: tokens, amount } = raise;
      const values = [
        ...(typeof requests === "number" ? [`${requests} requests`] : []),
        ...(typeof tokens === "number" ? [`${tokens} tokens`] : []),
        ...countedMeasures.flatMap((name) => {
          const cap = raise[`max_${name}`];
          return typeof cap === "number" ? [`${cap} ${name.replace("_", " ")}`] : [];
        }),
        ...(typeof raise["max_cost"] === "number" ? [plainUsd(raise["max_cost"])] : []),
        ...(typeof amount === "number" ? [plainUsd(amount)] : []),
      ];
      const limit = `${String(item["scope"])} ${nameOf({ ...item, subject })} ${String(item["period_label"])}`;
      return `raised: ${limit}: ${values.join(" and ")} until ${String(raise["until"])}, by ${String(raise["by"])}: ${String(raise["reason"])}`;
    }),
  );
  return [...new Set(lines)];
}

function raisesOf({ raises }: ListedLimit): readonly ListedLimit[] {
  return Array.isArray(raises) ? raises.filter(isObject) : [];
}

/** A cap or an amount, with the raises that apply to the item. */
export function raisedValue(item: ListedLimit, field: string): unknown {
  const values = raisesOf(item)
    // A raise of a child is one of its sessions, also on paths below it.
    .filter(({ subject }) => isPathWithin(String(item["subject"]), String(subject)))
    .map((raise) => raise[field]);
  return [item[field], ...values].reduce((a, b) =>
    typeof a === "number" && typeof b === "number" ? Math.max(a, b) : a,
  );
}

/** A line for each inert rule, with the reason. */
export function inertLines(rules: readonly ListedLimit[]): readonly string[] {
  const lines = rules.flatMap((rule) => {
    const { inert, scope, period_label: period } = rule;
    return typeof inert === "string"
      ? [`inert: ${String(scope)} ${nameOf(rule)} ${String(period)}: ${inert}`]
      : [];
  });
  return [...new Set(lines)];
}

/**
 * The subject of a rule or a budget: itself, one child of a template, or each child; then notes on
 * counting by each host, models without a price, and a budget's calendar.
 */
export function subjectText(item: ListedLimit): string {
  const { template, per_child: perChild, host_only: hostOnly, unpriced, session } = item;
  const exhausted = exhaustedWords(item["on_exhausted"]);
  const hold = holdWords(item["hold"]);
  const subject = nameOf(item);
  const marks = [
    ...(typeof session === "string" ? [`session ${session}`] : []),
    ...(typeof template === "string" && session === undefined ? ["child"] : []),
    ...(perChild === true && typeof template !== "string" ? ["each child"] : []),
    ...(isOfSessions(item) && typeof template !== "string" ? ["each session"] : []),
    ...(hostOnly === true ? ["each host"] : []),
    ...(typeof unpriced === "string" ? [`unpriced: ${unpriced}`] : []),
    ...(exhausted === null ? [] : [exhausted]),
    ...(hold === null ? [] : [hold]),
    ...(isObject(item["shares"]) ? ["shared"] : []),
    ...(isObject(item["loops"]) ? [loopsWords(item["loops"] as unknown as LoopRule)] : []),
    ...calendarWords(item),
  ];
  return marks.length === 0 ? subject : `${subject} (${marks.join(", ")})`;
}

/** The subject of a rule or a budget, the models that it is for, and a rule's hours and mode. */
export function nameOf({ subject, models, when, mode }: ListedLimit): string {
  const patterns = Array.isArray(models) ? models.join(" ") : undefined;
  return subjectWithModels({
    subject: String(subject),
    models: patterns,
    when: hoursOf(when),
    mode: mode === "shadow" ? mode : undefined,
  });
}

/**
 * Whether it is a template, which has no counters of its own: its children, or sessions, have them.
 */
export function isTemplate(item: ListedLimit): boolean {
  const { template, per_child: perChild } = item;
  return (perChild === true || isOfSessions(item)) && typeof template !== "string";
}

function isConcurrent(rule: ListedLimit): boolean {
  return rule["period_seconds"] === 0;
}

/**
 * `12/100`; `banned` for a cap of 0, `-` without a cap, `-/100` without a counter; adds what
 * running requests hold.
 */
function usedOf(rule: ListedLimit, name: string, usedField = `${name}_used`): string {
  const { [usedField]: used, [`${name}_held`]: held } = rule;
  const cap = raisedValue(rule, `max_${name}`);
  if (typeof cap !== "number") return "-";
  if (cap === 0) return "banned";
  const usedText = `${isTemplate(rule) || typeof used !== "number" ? "-" : used}/${cap}`;
  return typeof held === "number" && held > 0 ? `${usedText} +${held} held` : usedText;
}

/** The highest used share of any cap, of a rule or a budget. */
export function usedShare(item: ListedLimit): number {
  return Math.max(
    shareOf(item, "requests", item["period_seconds"] === 0 ? "in_flight" : "requests_used"),
    tokensColumnShare(item),
    share(item["spent"], raisedValue(item, "amount")),
  );
}

/** The used share of the caps in the column TOKENS. */
function tokensColumnShare(item: ListedLimit): number {
  const names = ["tokens", "cost", ...countedMeasures];
  return greatest(names.map((name) => shareOf(item, name)));
}

function shareOf(item: ListedLimit, name: string, usedField = `${name}_used`): number {
  return share(item[usedField], raisedValue(item, `max_${name}`));
}

function share(used: unknown, cap: unknown): number {
  return typeof used === "number" && typeof cap === "number" && cap > 0 ? used / cap : 0;
}

/** The colour of the time when a limit runs out: `bad` once it has, `warn` within an hour. */
export function toneOfEnd(time: unknown, nowMs: number): Tone | null {
  const leftMs = typeof time === "string" ? Date.parse(time) - nowMs : Number.NaN;
  return leftMs <= 0 ? "bad" : leftMs < 3_600_000 ? "warn" : null;
}

/** The time until the end of a window or period; `-` without one. */
export function untilReset(end: unknown, nowMs: number): string {
  const endMs = typeof end === "string" ? Date.parse(end) : Number.NaN;
  return Number.isNaN(endMs - nowMs) ? "-" : formatDuration((endMs - nowMs) / 1000);
}

/**
 * The time until a limit runs out at its present pace: `3h 20m` or `now`; `-` if it lasts, or if
 * that is unknown.
 */
export function untilExhausted(time: unknown, nowMs: number): string {
  return typeof time === "string" && Date.parse(time) <= nowMs ? "now" : untilReset(time, nowMs);
}
