/** Holds docs/dashboard.md to the pages, the commands and the flags that there are. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { allNodes, type CommandNode, treeOf } from "../../bin/completion/command-tree.js";
import { createProgram } from "../../bin/program.js";
import { shellTexts } from "../../proxy/dashboard/web/texts/shell-texts.js";
import { root } from "../tidy/source-tree.js";
import { sessionForTests } from "./command-session.js";

const rows = readFileSync(join(root, "docs/dashboard.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes("?"))
  .map((line) => line.split("|").map((cell) => cell.trim()));
const nodes = treeOf(createProgram(sessionForTests().session)).children.flatMap(allNodes);

/** The command with the longest name that the words begin with. */
function commandOf(words: readonly string[]): CommandNode | undefined {
  return nodes
    .filter(({ name }) => name.split(" ").every((word, at) => words[at] === word))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

const pages = Object.values(shellTexts.pages);

t.test("each question has a page of the dashboard", async (t) => {
  for (const [, question = "", page = ""] of rows)
    t.ok(
      pages.some((name) => page.startsWith(name)),
      `${question} ${page}`,
    );
});

t.test("each question has a command, with flags that it knows", async (t) => {
  t.equal(rows.length, 12);
  for (const [, question = "", , command = ""] of rows) {
    const [program, ...words] = command.replaceAll("`", "").split(" ");
    t.equal(program, "sluice", question);
    const node = commandOf(words);
    t.ok(node, command);
    const known = node?.flags.map(({ long }) => long) ?? [];
    for (const word of words.filter((each) => each.startsWith("--")))
      t.ok(known.includes(word), `${command}: ${word}`);
  }
});
