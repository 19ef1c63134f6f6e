/** The findings of `sluice doctor` and their output. Pure. */
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";
import type { Tone } from "../text/tone.js";

export interface Finding {
  /** The checked subject. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failure";
  /** What was found, and what to do about it. */
  readonly text: string;
}

export function ok(check: string, text: string): Finding {
  return { check, state: "ok", text };
}

export function warning(check: string, text: string): Finding {
  return { check, state: "warning", text };
}

export function failedFinding(check: string, text: string): Finding {
  return { check, state: "failure", text };
}

const columns: readonly Column<Finding>[] = [
  { title: "CHECK", align: "left", text: ({ check }) => check },
  { title: "STATE", align: "left", text: ({ state }) => state, tone: toneOf },
  { title: "FOUND", align: "left", text: ({ text }) => text, wraps: true },
];

function toneOf({ state }: Finding): Tone | null {
  return state === "ok" ? null : state === "warning" ? "warn" : "bad";
}

/** The table, and a line that sums it up. */
export function renderFindings(findings: readonly Finding[], view: TableView = plainView): string {
  const count = (counted: Finding["state"]): string => {
    const { length } = findings.filter(({ state }) => state === counted);
    return `${length} ${counted}${length === 1 ? "" : "s"}`;
  };
  return `${renderTable(columns, findings, view)}\n${count("failure")}, ${count("warning")}`;
}
