/** The results of `npm run overshoot` as tables. Pure. */
import { formatTable, markdownTable } from "../report/table.js";
import type { RunResult } from "./run-cap.js";
import { type Cap, type Unit, units } from "./work.js";

export interface GatewayResults {
  readonly name: string;
  readonly version: string;
  readonly configured: string;
  /** What it can cap. */
  readonly units: readonly Unit[];
  readonly runs: readonly RunResult[];
}

export const percent = (share: number): string => {
  const value = share * 100;
  return `${value > 0 && value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}%`;
};

export const capText = ({ unit, amount }: Cap): string =>
  unit === "dollars" ? `$${amount.toFixed(2)}` : `${amount.toLocaleString("en-US")} ${unit}`;

/** For a terminal, a line for each run. */
export function describeTable(results: readonly GatewayResults[]): string {
  const head = [
    ...["", "cap", "streams", "kill -9", "sent", "admitted", "refused", "broken"],
    ...["served", "overshoot", "utilisation", "lost", "doubled"],
  ];
  const rows = results.flatMap(({ name, runs }) =>
    runs.map((run) => [
      ...[name, capText(run.cap), `${run.streams}`, run.killed ? "yes" : ""],
      ...[run.sent, run.admitted, run.refused, run.broken].map(String),
      run.cap.unit === "dollars" ? `$${run.served.toFixed(2)}` : `${Math.round(run.served)}`,
      run.unfinished ? `> ${percent(run.overshoot)}` : percent(run.overshoot),
      percent(run.utilisation),
      run.lost === null ? "" : percent(run.lost),
      run.doubled === null ? "" : percent(run.doubled),
    ]),
  );
  return formatTable(head, rows).join("\n");
}

/** For docs/overshoot.md: by unit a row for each gateway that has such a cap. */
export function pageTables(results: readonly GatewayResults[]): string {
  const streams = [
    ...new Set(
      results.flatMap(({ runs }) => runs.flatMap((run) => (run.killed ? [] : run.streams))),
    ),
  ].sort((a, b) => a - b);
  const head = [
    "cap",
    "gateway",
    ...streams.map((count) => (count === 1 ? "1 stream" : `${count} streams`)),
    "lost",
    "doubled",
  ];
  const rows = units.flatMap((unit) =>
    results
      .filter(({ units: held }) => held.includes(unit))
      .map(({ name, runs }) => {
        const own = runs.filter(({ cap }) => cap.unit === unit);
        const cap = results
          .flatMap((result) => result.runs)
          .find((run) => run.cap.unit === unit)?.cap;
        const killed = own.find((run) => run.killed && !run.unfinished);
        return [
          cap === undefined ? unit : capText(cap),
          name,
          ...streams.map((count) => cell(own.find((run) => run.streams === count && !run.killed))),
          killed === undefined ? "" : percent(killed.lost ?? 0),
          killed === undefined ? "" : percent(killed.doubled ?? 0),
        ];
      }),
  );
  return markdownTable(head, rows);
}

function cell(run: RunResult | undefined): string {
  if (run === undefined) return "";
  const share = percent(run.served / run.cap.amount);
  if (run.cap.unit === "slots") return `${share}, ${percent(run.utilisation)} busy`;
  return run.unfinished ? `> ${share}` : share;
}
