/**
 * What `sluice explain` prints. Pure; the explanation is the object of the admin API, and fields
 * that a newer daemon adds are shown by `--json` only.
 */

import type { EnqueuedItem } from "../../shared/api/queue-item.js";
import { isObject } from "../../shared/checked.js";
import { type LoopRule, loopsWords } from "../../shared/domain/loop-rule.js";
import { formatPercent } from "../../shared/text/percent.js";
import { enqueuedLines } from "../live/queue-table.js";
import { formatDuration } from "../text/duration.js";
import { plainUsd, withCurrency } from "../text/number-text.js";
import {
  type Column,
  plainView,
  renderFields,
  renderSentence,
  renderTable,
  type TableView,
} from "../text/table.js";
import type { Tone } from "../text/tone.js";
import { budgetColumns, spentElsewhereLines } from "./budget-table.js";
import { inertLines, nameOf, raiseLines, ruleColumns } from "./rule-table.js";

type Fields = Readonly<Record<string, unknown>>;

/** A rule, and the target that it applies to. */
type TargetRule = Fields & { readonly target: string };

function columnsOfRules(nowMs: number): readonly Column<TargetRule>[] {
  return [
    { title: "FOR", align: "left", detail: true, text: ({ target }) => target },
    ...ruleColumns(nowMs),
    {
      title: "VERDICT",
      align: "left",
      text: ruleVerdict,
      wraps: true,
      tone: verdictTone(ruleVerdict),
    },
  ];
}

function verdictTone(verdict: (item: Fields) => string): (item: Fields) => Tone | null {
  return (item) => (verdict(item).startsWith("admits") ? null : "bad");
}

function ruleVerdict({ breached, retry_after: wait, would_refuse: would }: Fields): string {
  const refuses = would === undefined ? "refuses" : "would refuse";
  return Array.isArray(breached) && breached.length > 0
    ? `${refuses} (${breached.join(", ")})${wait === null ? "" : `, ${duration(wait)}`}`
    : "admits";
}

function columnsOfBudgets(nowMs: number): readonly Column<Fields>[] {
  return [
    ...budgetColumns(nowMs),
    {
      title: "VERDICT",
      align: "left",
      text: budgetVerdict,
      wraps: true,
      tone: verdictTone(budgetVerdict),
    },
  ];
}

function budgetVerdict({ retry_after: wait, inert }: Fields): string {
  return typeof wait === "number" && wait > 0
    ? `refuses, ${duration(wait)}`
    : typeof inert === "string"
      ? `admits: ${inert}`
      : "admits";
}

/**
 * Renders the refusal, if the explanation is about one, then the verdict, targets and rules now.
 */
export function renderExplanation(explanation: Fields, view: TableView = plainView): string {
  const { refusal, verdict, rules, targets, budgets, server_time: serverTime } = explanation;
  const nowMs = typeof serverTime === "string" ? Date.parse(serverTime) : Number.NaN;
  const candidates = fieldsIn(targets);
  const shadows = fieldsIn(explanation["shadows"]).map((rule) => ({ ...rule, target: "shadow" }));
  const applicable: readonly TargetRule[] = [
    ...fieldsIn(rules).map((rule) => ({ ...rule, target: "every target" })),
    ...candidates.flatMap((target) =>
      fieldsIn(target["rules"]).map((rule) => ({ ...rule, target: String(target["target"]) })),
    ),
  ];
  const accounts = fieldsIn(budgets);
  return [
    ...(isObject(refusal) ? [renderRefusal(refusal)] : []),
    ...(typeof explanation["key"] === "string"
      ? [`caller: ${explanation["key"]}, on ${String(explanation["user_path"])}`]
      : []),
    renderSentence(`now: ${renderVerdict(isObject(verdict) ? verdict : {})}`, view),
    ...candidates.map((target) =>
      renderSentence(`target ${String(target["target"])}: ${renderTarget(target)}`, view),
    ),
    applicable.length + shadows.length === 0
      ? "no rule applies"
      : renderTable(columnsOfRules(nowMs), [...applicable, ...shadows], view),
    ...(accounts.length === 0 ? [] : [renderTable(columnsOfBudgets(nowMs), accounts, view)]),
    ...spentElsewhereLines(accounts),
    ...applicable.flatMap(shareLine),
    ...raiseLines([...applicable, ...accounts]),
    ...inertLines(applicable),
    ...enqueuedLines(fieldsIn(explanation["enqueued"]) as unknown as readonly EnqueuedItem[]),
    ...loopsLine(explanation["loops"]),
  ].join("\n");
}

/** `loops on /agents: warns after 5 repetitions, refuses after 20`. */
function loopsLine(loops: unknown): readonly string[] {
  if (!isObject(loops)) return [];
  return [`loops on ${String(loops["user_path"])}: ${loopsWords(loops as unknown as LoopRule)}`];
}

/** `shares of /team minute: app has 3 of 5 weights, 12 of 60 requests used`, and of its floor. */
function shareLine(rule: Fields): readonly string[] {
  const { child_share: share } = rule;
  if (!isObject(share)) return [];
  const { child, unit, weight, weights, used, part, floor, priority } = share;
  const count = (value: unknown): string =>
    typeof value !== "number"
      ? "-"
      : unit === "cost"
        ? plainUsd(value)
        : String(Math.round(value * 10) / 10);
  const words = [
    `${String(child)} has ${String(weight)} of ${String(weights)} weights`,
    `${count(used)} of ${count(part)} ${String(unit).replace("_", " ")} used`,
    ...(typeof floor === "number" && floor > 0
      ? [`${formatPercent(Number(used) / floor)} of its floor of ${count(floor)}`]
      : []),
    ...(priority === 0 ? [] : [`priority ${String(priority)}`]),
  ];
  return [`shares of ${nameOf(rule)} ${String(rule["period_label"])}: ${words.join(", ")}`];
}

function renderRefusal(refusal: Fields): string {
  const {
    request_id: id,
    refused_at: refusedAt,
    user_path: path,
    model,
    message,
    retry_after: wait,
    admitted_at: free,
  } = refusal;
  const targets = Array.isArray(refusal["targets"]) ? refusal["targets"].join(", ") : "";
  const leftOut =
    typeof refusal["targets_left_out"] === "number"
      ? `, and ${refusal["targets_left_out"]} more that aren't judged below`
      : "";
  const subject = `${refusal["submission"] === true ? "submission" : "request"} ${String(id)}`;
  const fields = renderFields([
    ["refused at", String(refusedAt)],
    ["user path", String(path)],
    ...(typeof refusal["key"] === "string" ? [["key", refusal["key"]] as const] : []),
    ["model", model === null ? "-" : String(model)],
    ["targets", targets + leftOut],
    ...(wait === null ? [] : [["retry after", `${duration(wait)}, at ${String(free)}`] as const]),
  ]);
  return `${subject} was refused: ${withCurrency(String(message))}\n${fields}`;
}

function renderVerdict(verdict: Fields): string {
  if (verdict["admitted"] === true)
    return typeof verdict["target"] === "string" ? `admitted, to ${verdict["target"]}` : "admitted";
  const refused = `refused: ${withCurrency(String(verdict["message"]))}`;
  if (verdict["retry_after"] === null) return refused;
  const slot = verdict["needs_slot"] === true ? ", if a request in flight has ended by then" : "";
  const wait = `${duration(verdict["retry_after"])}, at ${String(verdict["admitted_at"])}`;
  return `${refused}; admitted in ${wait}${slot}${queueText(verdict["queue"])}`;
}

function queueText(queue: unknown): string {
  if (!isObject(queue)) return "";
  const { position, expected_seconds: seconds } = queue;
  const about = seconds === null ? "" : `, about ${duration(seconds)}`;
  return `; waiting, it would be number ${String(position)}${about}`;
}

function renderTarget(target: Fields): string {
  if (target["chosen"] === true) return "gets the request";
  if (target["admits"] === true) return "has room";
  if (target["retry_after"] === null) return `refuses: ${String(target["message"])}`;
  return `has no room: ${String(target["message"])}; in ${duration(target["retry_after"])}`;
}

function duration(seconds: unknown): string {
  return typeof seconds === "number" ? formatDuration(seconds) : "-";
}

function fieldsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
