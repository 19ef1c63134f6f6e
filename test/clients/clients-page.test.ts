/** The page of the clients, from results, and that it knows every client. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { root } from "../tidy/source-tree.js";
import { agents } from "./agents/agents.js";
import type { Step } from "./client.js";
import { clientsPage, pageDifferences, titlesIn, verdictOf } from "./clients-page.js";
import type { CellResult, StepResult } from "./run-cell.js";
import { sdks } from "./sdks/sdks.js";

const clients = [...agents, ...sdks];
const page = readFileSync(join(root, "docs", "clients.md"), "utf8");

type Wrong = readonly [step: Step, directly: StepResult["directly"], isLate?: boolean];

function cell(model: string, wrong: readonly Wrong[]): CellResult {
  const steps = wrong.map(
    ([step, directly, isLate = false]): StepResult => ({
      step,
      problem: "p [1]",
      directly,
      isLate,
    }),
  );
  return { client: "claude-code", host: "openai", model, steps, tookMs: 1 };
}

t.test("a cell is as good as its worst step", async (t) => {
  t.equal(verdictOf(cell("m", [])), "works");
  t.equal(verdictOf(cell("m", [["task", "fails"]])), "as_without");
  t.equal(
    verdictOf(
      cell("m", [
        ["task", "fails"],
        ["json", "works"],
      ]),
    ),
    "red",
  );
  t.equal(verdictOf(cell("m", [["abort", null, true]])), "red");
});

t.test("a client that is late everywhere says nothing of Sluice", async (t) => {
  t.equal(verdictOf(cell("m", [["task", "late", true]])), "late");
  t.equal(verdictOf(cell("m", [["task", "works", true]])), "red", "late through Sluice alone");
  t.equal(verdictOf(cell("m", [["task", "late"]])), "red", "refused through Sluice");
  t.equal(verdictOf(cell("m", [["task", "fails", true]])), "as_without");
});

t.test("the page has every client, with its settings", async (t) => {
  const ids = clients.map(({ id }) => id);
  t.equal(new Set(ids).size, ids.length, "each by an id of its own");
  const titles = page.split("\n").flatMap(titlesIn);
  for (const { title, setUp } of clients) {
    t.equal(titles.filter((each) => each === title).length, 1, `${title} has a row`);
    t.ok(page.includes(setUp), `${title} has its settings`);
  }
});

const resultsOf = (wrong: readonly Wrong[]): readonly CellResult[] =>
  clients.map(({ id }) => ({ ...cell("gpt-4o", id === "codex" ? wrong : []), client: id }));

t.test("the page is compared if every client has run, and only then", async (t) => {
  const results = resultsOf([]);
  const now = clientsPage({ clients, results, before: page });
  t.strictSame(pageDifferences({ clients, results, before: now }), []);
  t.strictSame(pageDifferences({ clients, results, before: `${now}more` }), [
    "only the page says: more",
  ]);
  t.equal(pageDifferences({ clients, results: results.slice(1), before: "other" }), null);
});

t.test("what differs from the page is named", async (t) => {
  const before = clientsPage({ clients, results: resultsOf([]), before: page });
  const { title } = clients.find(({ id }) => id === "codex")!;
  t.strictSame(pageDifferences({ clients, results: resultsOf([["task", "fails"]]), before }), [
    "codex on openai/gpt-4o: the page says ✓, this run ○: task: p [1]",
    `only this run says: - ○ ${title} with gpt-4o: \`p []\`.`,
  ]);
});

t.test("a cell that is late has the sign that it had", async (t) => {
  const late = resultsOf([["task", "late", true]]);
  for (const results of [resultsOf([]), resultsOf([["task", "fails"]])]) {
    const before = clientsPage({ clients, results, before: page });
    t.strictSame(pageDifferences({ clients, results: late, before }), []);
  }
});

t.test("versions of a client share a row while their signs are the same", async (t) => {
  const vercel = clients.find(({ title }) => title === "Vercel AI 6, @ai-sdk/anthropic")!;
  const rowsWith = (wrong: string): readonly string[] =>
    clientsPage({
      clients,
      results: clients.map(({ id }) => ({
        ...cell("gpt-4o", id === wrong ? [["task", "fails"]] : []),
        client: id,
      })),
      before: page,
    })
      .split("\n")
      .filter((line) => /^\| Vercel AI [\d, ]+@ai-sdk\/anthropic/.test(line))
      .map((line) => line.split("|").slice(1, 3).join("|"));
  t.same(rowsWith("none"), [" Vercel AI 5, 6, 7, @ai-sdk/anthropic |✓"]);
  t.same(rowsWith(vercel.id), [
    " Vercel AI 5, 7, @ai-sdk/anthropic |✓",
    " Vercel AI 6, @ai-sdk/anthropic |○",
  ]);
});

t.test("rows of clients that haven't run stay as they are", async (t) => {
  const again = clientsPage({ clients, results: [], before: page });
  const rows = (text: string): readonly string[] =>
    text.split("\n").filter((line) => clients.some(({ title }) => titlesIn(line).includes(title)));
  t.ok(rows(page).length > 20);
  t.same(rows(again), rows(page));
  t.same(again, clientsPage({ clients, results: [], before: again }), "and so again");
  t.match(
    clientsPage({ clients, results: [cell("gpt-4o", [["task", "works"]])], before: page }),
    /\| Claude Code 2\.1 \|\u2717\|/,
  );
});
