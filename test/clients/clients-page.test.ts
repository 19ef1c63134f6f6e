/** The page of the clients, from results, and that it knows every client. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { root } from "../tidy/source-tree.js";
import { agents } from "./agents/agents.js";
import type { Step } from "./client.js";
import { clientsPage, comparePage, verdictOf } from "./clients-page.js";
import type { CellResult } from "./run-cell.js";
import { sdks } from "./sdks/sdks.js";

const clients = [...agents, ...sdks];
const page = readFileSync(join(root, "docs", "clients.md"), "utf8");

function cell(model: string, wrong: readonly (readonly [Step, boolean])[]): CellResult {
  const steps = wrong.map(([step, failsDirectly]) => ({ step, problem: "p [1]", failsDirectly }));
  return { client: "claude-code", host: "openai", model, steps };
}

t.test("a cell is as good as its worst step", async (t) => {
  t.equal(verdictOf(cell("m", [])), "works");
  t.equal(verdictOf(cell("m", [["task", true]])), "as_without");
  t.equal(
    verdictOf(
      cell("m", [
        ["task", true],
        ["json", false],
      ]),
    ),
    "red",
  );
});

t.test("the page has every client, with its settings", async (t) => {
  const ids = clients.map(({ id }) => id);
  t.equal(new Set(ids).size, ids.length, "each by an id of its own");
  for (const { title, setUp } of clients) {
    t.ok(page.includes(`| ${title} |`), `${title} has a row`);
    t.ok(page.includes(setUp), `${title} has its settings`);
  }
});

t.test("the page is compared if every client has run, and only then", async (t) => {
  const results = clients.map(({ id }) => ({ ...cell("gpt-4o", []), client: id }));
  const now = clientsPage({ clients, results, before: page });
  t.equal(comparePage({ clients, results, before: now }), "same");
  t.equal(comparePage({ clients, results, before: `${now}more` }), "stale");
  t.equal(comparePage({ clients, results: results.slice(1), before: "other" }), "not_compared");
});

t.test("rows of clients that haven't run stay as they are", async (t) => {
  const again = clientsPage({ clients, results: [], before: page });
  const rows = (text: string): readonly string[] =>
    text.split("\n").filter((line) => clients.some(({ title }) => line.startsWith(`| ${title}`)));
  t.same(rows(again), rows(page));
  t.match(
    clientsPage({ clients, results: [cell("gpt-4o", [["task", false]])], before: page }),
    /\| Claude Code 2\.1 \|\u2717\|/,
  );
});
