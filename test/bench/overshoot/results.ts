/** The results of `npm run overshoot` as tables. Pure. */
import { formatTable, markdownTable } from "../report/table.js";
import type { RunResult } from "./run-cap.js";
import { type Cap, type Unit, units } from "./work.js";

export interface GatewayResults {
  readonly name: string;
  readonly version: string;
  /** The day and the machine. */
  readonly measured: string;
  readonly configured: string;
  /** What it can cap. */
  readonly units: readonly Unit[];
  readonly runs: readonly RunResult[];
}

export const percent = (share: number): string => {
  const value = share * 100;
  const isFine = (value > 0 && value < 9.95) || Math.abs(value - 100) < 5;
  return `${isFine ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}%`;
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

/**
 * The results as docs/overshoot.md shows them: a row for each cap and gateway, and a line for each
 * gateway. What the page has of other caps and gateways stays.
 */
export function pageOf(before: string, results: readonly GatewayResults[]): string {
  const lines = before.split("\n");
  const cellsOf = (line: string): readonly string[] => line.slice(2, -2).split(" | ");
  const [head, , ...rows] = lines.filter((line) => line.startsWith("| ")).map(cellsOf);
  const measured = rowsOf(results);
  const key = ([cap, name]: readonly string[]): string => `${cap} ${name}`;
  const replaced = new Set(measured.rows.map(key));
  const others = rows.filter((row) => !replaced.has(key(row)));
  if (others.length > 0 && head?.join() !== measured.head.join())
    throw new Error(`the page has the columns ${head?.join(", ")}: measure with its --streams`);
  const lineOf = ({ name, version, configured, measured }: GatewayResults): string =>
    `- **${name}** ${version}: ${configured}. ${measured}.`;
  const named = (line: string): string => /^- \*\*(.*?)\*\*/.exec(line)?.[1] ?? "";
  const gateways = lines.filter((line) => named(line) !== "");
  for (const result of results) {
    const at = gateways.findIndex((line) => named(line) === result.name);
    gateways.splice(at === -1 ? gateways.length : at, 1, lineOf(result));
  }
  const names = gateways.map(named);
  const all = [...others, ...measured.rows].sort(
    (a, b) => compareCaps(a[0]!, b[0]!) || names.indexOf(a[1]!) - names.indexOf(b[1]!),
  );
  return `${markdownTable(measured.head, all)}\n\n${gateways.join("\n")}`;
}

/** By unit, then by amount. */
function compareCaps(a: string, b: string): number {
  const orderOf = (text: string): readonly [number, number] => {
    const unit = text.startsWith("$") ? "dollars" : units.find((known) => text.endsWith(known));
    return [units.indexOf(unit!), Number(text.replaceAll(/[^\d.]/g, ""))];
  };
  const [[unitA, amountA], [unitB, amountB]] = [orderOf(a), orderOf(b)];
  return unitA - unitB || amountA - amountB;
}

interface Rows {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function rowsOf(results: readonly GatewayResults[]): Rows {
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
  const caps = [...new Set(results.flatMap(({ runs }) => runs.map(({ cap }) => capText(cap))))];
  const rows = caps.flatMap((cap) =>
    results.flatMap(({ name, runs }) => {
      const own = runs.filter((run) => capText(run.cap) === cap);
      if (own.length === 0) return [];
      const killed = own.find((run) => run.killed && !run.unfinished);
      return [
        [
          cap,
          name,
          ...streams.map((count) => cell(own.find((run) => run.streams === count && !run.killed))),
          killed === undefined ? "" : percent(killed.lost ?? 0),
          killed === undefined ? "" : percent(killed.doubled ?? 0),
        ],
      ];
    }),
  );
  return { head, rows };
}

function cell(run: RunResult | undefined): string {
  if (run === undefined) return "";
  const share = percent(run.served / run.cap.amount);
  if (run.cap.unit === "slots") return `${share}, ${percent(run.utilisation)} busy`;
  return run.unfinished ? `> ${share}` : share;
}
