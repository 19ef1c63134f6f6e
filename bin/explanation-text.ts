/** An explanation for people. Pure; the explanation is the API's own object, and what a newer daemon adds is left to `--json`. */
import { formatUsd } from "./budget-table.js";
import { formatDuration } from "./duration.js";
import { untilReset, usedOf } from "./rule-table.js";
import { type Column, renderFields, renderTable } from "./table.js";

type Fields = Readonly<Record<string, unknown>>;

const columns: readonly Column[] = [
  { title: "FOR", align: "left" },
  { title: "SCOPE", align: "left" },
  { title: "SUBJECT", align: "left" },
  { title: "PERIOD", align: "left" },
  { title: "REQUESTS", align: "right" },
  { title: "TOKENS", align: "right" },
  { title: "IN FLIGHT", align: "right" },
  { title: "RESETS IN", align: "right" },
  { title: "SAYS", align: "left" },
];

const budgetColumns: readonly Column[] = [
  { title: "BUDGET", align: "left" },
  { title: "SUBJECT", align: "left" },
  { title: "PERIOD", align: "left" },
  { title: "SPENT", align: "right" },
  { title: "AMOUNT", align: "right" },
  { title: "ENDS IN", align: "right" },
  { title: "SAYS", align: "left" },
];

/** What happened, if it is about a refusal; the verdict now; the candidate targets; the rules. */
export function renderExplanation(explanation: Fields): string {
  const { refusal, verdict, rules, targets, budgets, server_time: serverTime } = explanation;
  const nowMs = typeof serverTime === "string" ? Date.parse(serverTime) : Number.NaN;
  const candidates = fieldsIn(targets);
  const rows = [
    ...fieldsIn(rules).map((rule) => ruleRow("every target", rule, nowMs)),
    ...candidates.flatMap((target) => fieldsIn(target["rules"]).map((rule) => ruleRow(String(target["target"]), rule, nowMs))),
  ];
  const accounts = fieldsIn(budgets);
  const inert = [...fieldsIn(rules), ...candidates.flatMap((target) => fieldsIn(target["rules"]))].filter((rule) => typeof rule["inert"] === "string");
  return [
    ...(isFields(refusal) ? [renderRefusal(refusal)] : []),
    ...(typeof explanation["key"] === "string" ? [`caller: ${explanation["key"]}, on ${String(explanation["user_path"])}`] : []),
    `now: ${renderVerdict(isFields(verdict) ? verdict : {})}`,
    ...candidates.map((target) => `target ${String(target["target"])}: ${renderTarget(target)}`),
    rows.length === 0 ? "no rule applies" : renderTable(columns, rows),
    ...(accounts.length === 0 ? [] : [renderTable(budgetColumns, accounts.map((budget) => budgetRow(budget, nowMs)))]),
    ...new Set(inert.map((rule) => `inert: ${String(rule["scope"])} ${String(rule["subject"])} ${String(rule["period_label"])}: ${String(rule["inert"])}`)),
  ].join("\n");
}

function renderRefusal(refusal: Fields): string {
  const { request_id: id, refused_at: at, user_path: path, model, message, retry_after: wait, admitted_at: free } = refusal;
  const targets = Array.isArray(refusal["targets"]) ? refusal["targets"].join(", ") : "";
  const leftOut = typeof refusal["targets_left_out"] === "number" ? `, and ${refusal["targets_left_out"]} more that aren't judged below` : "";
  return `${refusal["submission"] === true ? "submission" : "request"} ${String(id)} was refused: ${String(message)}\n${renderFields([
    ["refused at", String(at)], ["user path", String(path)], ...(typeof refusal["key"] === "string" ? [["key", refusal["key"]] as const] : []), ["model", model === null ? "-" : String(model)], ["targets", targets + leftOut], ["retry after", `${duration(wait)}, at ${String(free)}`],
  ])}`;
}

function renderVerdict(verdict: Fields): string {
  if (verdict["admitted"] === true) return typeof verdict["target"] === "string" ? `admitted, to ${verdict["target"]}` : "admitted";
  const slot = verdict["needs_slot"] === true ? ", if a request in flight has ended by then" : "";
  return `refused: ${String(verdict["message"])}; admitted in ${duration(verdict["retry_after"])}, at ${String(verdict["admitted_at"])}${slot}`;
}

function renderTarget(target: Fields): string {
  if (target["chosen"] === true) return "gets the request";
  if (target["admits"] === true) return "has room";
  return `has no room: ${String(target["message"])}; in ${duration(target["retry_after"])}`;
}

function ruleRow(who: string, rule: Fields, nowMs: number): readonly string[] {
  const concurrent = rule["period_seconds"] === 0;
  const breached = Array.isArray(rule["breached"]) ? rule["breached"].map(String) : [];
  return [
    who,
    String(rule["scope"]),
    typeof rule["template"] === "string" ? `${String(rule["subject"])} (child of ${rule["template"]})` : String(rule["subject"]),
    String(rule["period_label"]),
    concurrent ? "-" : usedOf(rule["requests_used"], rule["max_requests"], false),
    concurrent ? "-" : usedOf(rule["tokens_used"], rule["max_tokens"], false),
    concurrent ? usedOf(rule["in_flight"], rule["max_requests"], false) : "-",
    untilReset(rule["window_end"], nowMs),
    breached.length === 0 ? "admits" : `refuses (${breached.join(", ")}), ${duration(rule["retry_after"])}`,
  ];
}

function budgetRow(budget: Fields, nowMs: number): readonly string[] {
  const wait = budget["retry_after"];
  return [
    String(budget["scope"]),
    typeof budget["template"] === "string" ? `${String(budget["subject"])} (child of ${budget["template"]})` : String(budget["subject"]),
    String(budget["period_label"]),
    formatUsd(budget["spent"]),
    formatUsd(budget["amount"]),
    untilReset(budget["period_end"], nowMs),
    typeof wait === "number" && wait > 0 ? `refuses, ${duration(wait)}` : typeof budget["inert"] === "string" ? `admits: ${budget["inert"]}` : "admits",
  ];
}

function duration(seconds: unknown): string {
  return typeof seconds === "number" ? formatDuration(seconds) : "-";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}
