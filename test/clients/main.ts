/**
 * `npm run heavy -- clients`: real clients through a real Sluice to strict stand-ins of the
 * providers, and docs/clients.md, which is made from the results. Ends with 1 if a cell isn't as it
 * should be or the page isn't what it would write, which is compared where every client is
 * installed. The last lines say which cells.
 *
 * `--client` and `--provider` take a part of a name, and then the page isn't compared; `--write`
 * writes it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../tidy/source-tree.js";
import { agents } from "./agents/agents.js";
import { clientsPage, pageDifferences, reasonOf, verdictOf } from "./clients-page.js";
import { installClients } from "./install.js";
import { whyNotYet } from "./known.js";
import type { CellResult } from "./run-cell.js";
import { runMatrix } from "./run-matrix.js";
import { sdks } from "./sdks/sdks.js";

const { values } = parseArgs({
  options: {
    client: { type: "string", default: "" },
    provider: { type: "string", default: "" },
    lanes: { type: "string", default: "3" },
    write: { type: "boolean", default: false },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

function report(cell: CellResult): void {
  const { client, host, model, steps, tookMs } = cell;
  const verdict = verdictOf(cell);
  print(`${verdict.padEnd(10)} ${client} on ${host}/${model} (${(tookMs / 1000).toFixed(1)} s)`);
  for (const { step, problem, directly } of steps)
    if (problem !== null)
      print(
        `           ${step}: ${problem}${directly === null ? "" : ` (without Sluice: ${directly})`}`,
      );
  if (verdict === "works" && whyNotYet(cell) !== null)
    print("           this cell works: take it out of test/clients/known.ts");
}

installClients();
const everything = [...agents, ...sdks];
const clients = everything.filter((client) => {
  if (!client.id.includes(values.client)) return false;
  if (!client.isThere()) print(`skipped: ${client.title} isn't installed`);
  return client.isThere();
});
const results = await runMatrix({
  clients,
  provider: values.provider,
  lanes: Math.min(Number(values.lanes), clients.length),
  report,
});
const count = (verdict: string): number =>
  results.filter((cell) => verdictOf(cell) === verdict).length;
print(
  `${results.length} cells: ${count("works")} work, ${count("as_without")} fail as without Sluice, ${count("late")} are late with and without it, ${count("not_yet")} don't work yet, ${count("red")} are red`,
);
const pageFile = join(root, "docs", "clients.md");
const before = readFileSync(pageFile, "utf8");
const isWhole = values.client === "" && values.provider === "";
const parts = { clients: everything, results, before };
if (isWhole && values.write) writeFileSync(pageFile, clientsPage(parts));
const differences = isWhole && !values.write ? pageDifferences(parts) : [];
if (differences === null) print("docs/clients.md wasn't compared: not every client has run");
const wrong = [
  ...results
    .filter((cell) => verdictOf(cell) === "red")
    .map((cell) => `${cell.client} on ${cell.host}/${cell.model}: ${reasonOf(cell)}`),
  ...(differences ?? []),
];
if ((differences ?? []).length > 0)
  print("docs/clients.md isn't what this run says: npm run heavy -- clients --write");
for (const line of wrong) print(`not ok - ${line}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
