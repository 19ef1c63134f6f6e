/** The log of the reports, `log.md`: where each comes from, and what came of it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tidy/source-tree.js";
import type { OutsideCase } from "./outside-case.js";

const path = join(root, "test/outside/log.md");

const head = `# Reports from outside

Public reports of trouble that gateways, agents and SDKs had with providers, each played through real processes by \`npm run heavy -- outside\` and in \`npm test\`. Where a source isn't a thread, it is the provider's documentation or the program named. The result is that of the first try.

`;

export function logOf(cases: readonly OutsideCase[]): string {
  const counts = [...new Set(cases.map(({ kind }) => kind))].map((kind) => [
    kind,
    ...["passed", undefined, "decided", "open"].map(
      (result) => cases.filter((one) => one.kind === kind && isResult(one, result)).length,
    ),
  ]);
  const rows = cases.map(({ kind, id, source, right, result = "failed, mended" }) => [
    kind,
    id,
    source.join(", "),
    right,
    result,
  ]);
  return [
    head,
    table(["kind", "passed", "failed, mended", "decided otherwise", "open"], counts),
    "\n",
    table(["kind", "case", "source", "right", "result"], rows),
  ].join("");
}

function isResult({ result }: OutsideCase, wanted: string | undefined): boolean {
  return wanted === undefined ? result === undefined : result?.startsWith(wanted) === true;
}

type Row = readonly (string | number)[];

function table(head: Row, rows: readonly Row[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |\n`);
  return lines.join("");
}

export function readLog(): string {
  return readFileSync(path, "utf8");
}

export function writeLog(text: string): void {
  writeFileSync(path, text);
}
