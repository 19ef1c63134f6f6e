/**
 * `npm run heavy -- clients`: real clients through a real Sluice to strict stand-ins of the
 * providers, and docs/clients.md, which is made from the results. Ends with 1 if a cell isn't as it
 * should be or the page isn't what it would write, which is compared where every client is
 * installed.
 *
 * `--client` and `--provider` take a part of a name, and then the page isn't compared; `--write`
 * writes it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../tidy/source-tree.js";
import { agents } from "./agents/agents.js";
import { clientsPage, comparePage, verdictOf } from "./clients-page.js";
import { installClients } from "./install.js";
import { whyNotYet } from "./known.js";
import type { CellResult } from "./run-cell.js";
import { runMatrix } from "./run-matrix.js";
import { sdks } from "./sdks/sdks.js";

const { values } = parseArgs({
  options: {
    client: { type: "string", default: "" },
    provider: { type: "string", default: "" },
    lanes: { type: "string", default: "2" },
    write: { type: "boolean", default: false },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

function report(cell: CellResult): void {
  const { client, host, model, steps } = cell;
  const verdict = verdictOf(cell);
  print(`${verdict.padEnd(10)} ${client} on ${host}/${model}`);
  for (const { step, problem, failsDirectly } of steps)
    if (problem !== null)
      print(`           ${step}: ${problem}${failsDirectly ? " (without Sluice, too)" : ""}`);
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
  `${results.length} cells: ${count("works")} work, ${count("as_without")} fail as without Sluice, ${count("not_yet")} don't work yet, ${count("red")} are red`,
);
const pageFile = join(root, "docs", "clients.md");
const before = readFileSync(pageFile, "utf8");
const isWhole = values.client === "" && values.provider === "";
const parts = { clients: everything, results, before };
if (isWhole && values.write) writeFileSync(pageFile, clientsPage(parts));
const compared = isWhole && !values.write ? comparePage(parts) : null;
if (compared === "stale")
  print("docs/clients.md isn't what this run says: npm run heavy -- clients --write");
if (compared === "not_compared") print("docs/clients.md wasn't compared: not every client has run");
process.exitCode = count("red") > 0 || compared === "stale" ? 1 : 0;
