/** Holds docs/dashboard.md to the commands, the flags and the endpoints that there are. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { allNodes, type CommandNode, treeOf } from "../../bin/completion/command-tree.js";
import { createProgram } from "../../bin/program.js";
import { shellTexts } from "../../proxy/dashboard/web/texts/shell-texts.js";
import { adminKeyRoutes, adminRoutes } from "../../proxy/http/paths/admin-routes.js";
import { root } from "../tidy/source-tree.js";
import { sessionForTests } from "./command-session.js";

const rows = readFileSync(join(root, "docs/dashboard.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes("?"))
  .map((line) => line.split("|").map((cell) => cell.trim()));
const nodes = treeOf(createProgram(sessionForTests().session)).children.flatMap(allNodes);
const routes = new Set([
  "GET /metrics",
  ...adminRoutes.flatMap(([path, methods]) =>
    Object.keys(methods).map((each) => `${each} ${path}`),
  ),
  ...adminKeyRoutes.flatMap(([, methods, path]) =>
    Object.keys(methods).map((each) => `${each} ${path}`),
  ),
]);

/** The command with the longest name that the words begin with. */
function commandOf(words: readonly string[]): CommandNode | undefined {
  return nodes
    .filter(({ name }) => name.split(" ").every((word, at) => words[at] === word))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

const pages = Object.values(shellTexts.pages);

t.test("each question has a page of the dashboard, and a number of steps to it", async (t) => {
  for (const [, question = "", page = "", steps = ""] of rows) {
    t.ok(
      pages.some((name) => page.startsWith(name)),
      `${question} ${page}`,
    );
    t.match(steps, /^\d(–\d)?$/, question);
  }
});

t.test("each question has a command, with flags that it knows, and an endpoint", async (t) => {
  t.equal(rows.length, 12);
  for (const [, question = "", , , command = "", endpoint = ""] of rows) {
    const [program, ...words] = command.replaceAll("`", "").split(" ");
    t.equal(program, "sluice", question);
    const node = commandOf(words);
    t.ok(node, command);
    const known = node?.flags.map(({ long }) => long) ?? [];
    for (const word of words.filter((each) => each.startsWith("--")))
      t.ok(known.includes(word), `${command}: ${word}`);
    const asked = endpoint.replaceAll("`", "").replace(/\?.*$/, "");
    t.ok(routes.has(asked), asked);
  }
});
