/** The changes of a file of limits as text: a table and notes. Pure. */

import { unreachable } from "../../shared/assert.js";
import { calendarWords } from "../../shared/domain/budget-calendar.js";
import { holdWords } from "../../shared/domain/hold.js";
import { exhaustedWords } from "../../shared/domain/on-exhausted.js";
import { lockedKeyText } from "../../shared/limit-files/apply-limits.js";
import type {
  DenialItem,
  KeyItem,
  KeyValues,
  LimitAction,
  LimitChangeItem,
  LimitCounts,
  LimitItem,
  LimitsPlan,
} from "../../shared/limit-files/limits-plan.js";
import { plainUsd } from "../text/number-text.js";
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";
import { capWords, nameOf, sourceText } from "./rule-table.js";

const marks: Readonly<Record<LimitAction, string>> = {
  add: "+",
  change: "~",
  take_over: "~",
  remove: "-",
  revert: "~",
  locked: "!",
};

const columns: readonly Column<LimitChangeItem>[] = [
  { title: "", align: "left", text: ({ action }) => marks[action] },
  { title: "KIND", align: "left", text: ({ kind }) => kind },
  { title: "SCOPE", align: "left", text: (change) => cellsOf(change).scope },
  { title: "SUBJECT", align: "left", text: (change) => cellsOf(change).subject },
  { title: "PERIOD", align: "left", text: (change) => cellsOf(change).period },
  { title: "LIMIT", align: "left", text: (change) => cellsOf(change).limit },
];

interface Cells {
  readonly scope: string;
  readonly subject: string;
  readonly period: string;
  readonly limit: string;
}

function cellsOf(change: LimitChangeItem): Cells {
  switch (change.kind) {
    case "key":
      return {
        scope: "user_path",
        subject: (change.after ?? change.before)!.user_path ?? "(any)",
        period: "-",
        limit: keyText(change),
      };
    case "denied_jwt":
      return {
        scope: change.claim,
        subject: change.value,
        period: "-",
        limit: denialText(change),
      };
    case "rule":
    case "budget":
      return {
        scope: change.scope,
        subject: nameOfChange(change),
        period: change.period_label,
        limit: limitText(change),
      };
    default:
      return unreachable(change);
  }
}

/** Which key, and what of it: for a changed one, what differs. */
function keyText({
  id,
  redacted_value: redacted,
  before,
  after,
  locked_by: lock,
}: KeyItem): string {
  const name = (after ?? before)!.name;
  const which = [id, name, redacted === "…" ? undefined : redacted].filter((text) => text != null);
  const values =
    lock !== undefined
      ? [lock]
      : before === undefined || after === undefined
        ? keyWords(after ?? before!)
        : keyDifferences(before, after);
  return [which.join(" "), ...values].filter((text) => text !== "").join(", ");
}

function keyWords(values: KeyValues): readonly string[] {
  return keyFields.flatMap(([field, words]) => {
    const value = values[field];
    const isNone = value === null || (Array.isArray(value) && value.length === 0);
    return field === "name" || field === "user_path" || isNone ? [] : [`${words} ${wordOf(value)}`];
  });
}

function keyDifferences(before: KeyValues, after: KeyValues): readonly string[] {
  return keyFields.flatMap(([field, words]) => {
    const [was, is] = [wordOf(before[field]), wordOf(after[field])];
    return was === is ? [] : [`${words} ${was} -> ${is}`];
  });
}

const keyFields: readonly (readonly [field: keyof KeyValues, words: string])[] = [
  ["name", "name"],
  ["user_path", "path"],
  ["labels", "labels"],
  ["models", "models"],
  ["expires_at", "until"],
];

function wordOf(value: KeyValues[keyof KeyValues]): string {
  if (value === null || value.length === 0) return "(none)";
  return typeof value === "string" ? value : value.join(" ");
}

function denialText({ issuer, before, after }: DenialItem): string {
  const until = [before, after].flatMap((values) =>
    values === undefined ? [] : [values.expires_at ?? "(none)"],
  );
  return [
    ...(issuer === null ? [] : [`issuer ${issuer}`]),
    ...(until.every((text) => text === "(none)") ? [] : [`until ${until.join(" -> ")}`]),
  ].join(", ");
}

/** The changes, a line with their counts, and the inert ones. `done`: whether they are made. */
export function renderPlan(
  { changes, counts }: LimitsPlan,
  done: boolean,
  view: TableView = plainView,
): string {
  if (changes.length === 0) return ["nothing to change", ...countsLine(counts, done)].join(": ");
  const inert = changes.flatMap((change) =>
    change.kind === "key" || change.kind === "denied_jwt" || change.inert === undefined
      ? []
      : [`inert: ${change.scope} ${nameOfChange(change)} ${change.period_label}: ${change.inert}`],
  );
  return [
    ...(done ? [] : [renderTable(columns, changes, view), ...new Set(inert)]),
    `${done ? "applied: " : ""}${countsLine(counts, done).join("")}`,
  ].join("\n");
}

/** Why some existing limits are left alone; empty if there are none. */
export function keptLines({ kept }: LimitCounts): readonly string[] {
  if (kept === 0) return [];
  return [
    `${kept} made by hand ${kept === 1 ? "isn't" : "aren't"} in the file and ${kept === 1 ? "stays" : "stay"}: --prune removes what the file doesn't have`,
  ];
}

/** Why nothing can be changed: a key's state, or what the configuration declares. */
export function lockedText({ changes, counts }: LimitsPlan): string {
  const first = changes.find(({ action }) => action === "locked");
  if (first?.kind === "key" && first.locked_by !== undefined)
    return lockedKeyText(first.id ?? "a key", first.locked_by);
  const where = first === undefined || !("scope" in first) ? "config" : configText(first);
  return `nothing was changed: the configuration says something else of ${counts.locked} of them (${where}). Change them there, leave them out of the file, or put the file's before them with --take-over`;
}

const words: Readonly<Record<LimitAction, readonly [planned: string, done: string]>> = {
  add: ["to add", "added"],
  change: ["to change", "changed"],
  take_over: ["to take over", "taken over"],
  remove: ["to remove", "removed"],
  revert: ["back to the configuration's", "back to the configuration's"],
  locked: ["locked", "locked"],
};

/** One line, or none where all counts are 0. */
function countsLine(counts: LimitCounts, done: boolean): readonly string[] {
  const parts = Object.entries(words).flatMap(([action, [planned, doneVerb]]) => {
    const count = counts[action as LimitAction];
    return count === 0 ? [] : [`${count} ${done ? doneVerb : planned}`];
  });
  const all = counts.unchanged === 0 ? parts : [...parts, `${counts.unchanged} unchanged`];
  return all.length === 0 ? [] : [all.join(", ")];
}

function nameOfChange({ subject, models, when, mode }: LimitItem): string {
  return nameOf({ subject, models, when, mode });
}

function limitText(item: LimitItem): string {
  const { action, before, after } = item;
  const values =
    before === undefined || after === undefined
      ? valuesText(after ?? before!)
      : `${valuesText(before)} -> ${valuesText(after)}`;
  return `${values}${remarkOn(action, item)}`;
}

function remarkOn(action: LimitAction, item: LimitItem): string {
  const { kind, before, after } = item;
  switch (action) {
    case "locked":
      return `; locked by ${configText(item)}`;
    case "take_over":
      return `; stands before ${configText(item)}`;
    case "revert":
      return `; back to ${configText(item)}`;
    default:
      return kind === "rule" && after !== undefined && before?.per_child === !after.per_child
        ? "; counters restart at 0"
        : "";
  }
}

function configText({ declared_at: place, declared_line: line }: LimitItem): string {
  return sourceText({ source: "config", declared_at: place, declared_line: line });
}

function valuesText({
  amount,
  per_child: perChild,
  host_only: hostOnly,
  unpriced,
  ...others
}: NonNullable<LimitItem["after"]>): string {
  const values = [...capWords(others), ...(amount === undefined ? [] : [plainUsd(amount)])];
  const exhausted = exhaustedWords(others.on_exhausted);
  const hold = holdWords(others.hold);
  const more = [
    ...(unpriced === undefined ? [] : [`unpriced: ${unpriced}`]),
    ...(exhausted === null ? [] : [exhausted]),
    ...(hold === null ? [] : [hold]),
    ...(others.rolling === true ? ["rolling"] : []),
    ...calendarWords({ ...others }),
  ];
  const division = `${perChild ? " for each child" : ""}${hostOnly === true ? " on each host" : ""}`;
  return [`${values.join(", ")}${division}`, ...more].join(", ");
}
