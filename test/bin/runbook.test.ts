/** Holds docs/runbook.md to the exit codes, the alerts, and what /health and /ready can say. */
import { readFileSync } from "node:fs";
import t from "tap";
import { exitCodeMeanings } from "../../bin/session/exit-code.js";

// The compiled test is three directories below the repository.
const root = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

function headingsOf(section: string): readonly string[] {
  const [, text = ""] = read("docs/runbook.md").split(`\n## ${section}\n`);
  return [...text.split("\n## ")[0]!.matchAll(/^### (.+)$/gm)].map(([, heading = ""]) => heading);
}

t.test("each exit code has its heading, and no other number has", async (t) => {
  t.same(
    headingsOf("Exit codes"),
    exitCodeMeanings.map(({ code }) => `Exit code ${code}`),
  );
});

t.test("each alert that ships has its heading, in the order of the file", async (t) => {
  const text = read("docs/examples/prometheus/alerts.yaml");
  const alerts = [...text.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = ""]) => name);
  t.same(headingsOf("Alerts"), alerts);
  const links = [...text.matchAll(/runbook_url: \S+runbook\.md#(\w+)$/gm)].map(([, to]) => to);
  t.same(
    links,
    alerts.map((name) => name.toLowerCase()),
    "each links to it",
  );
});

t.test("each reason of /ready and each degraded state of /health has its heading", async (t) => {
  const headings = headingsOf("Degraded states");
  const types = read("shared/api/gateway-status.ts");
  const words = (text: string | undefined): readonly string[] =>
    [...(text ?? "").matchAll(/"(\w+)"/g)].map(([, word = ""]) => word);
  const reasons = words(/readonly reason\?: ([^;]+);/.exec(types)?.[1]);
  const states = words(/type LinkState = ([^;]+);/.exec(types)?.[1]);
  t.ok(reasons.length >= 3 && states.length >= 3);
  for (const state of [...reasons, ...states])
    if (state !== "connected") t.ok(headings.includes(state), state);
  for (const field of ["store_failing", "cluster_failing", "inert_rules", "unsettled", "targets"]) {
    t.match(types, new RegExp(`readonly ${field}\\??: `), field);
    t.ok(headings.includes(field), field);
  }
});
