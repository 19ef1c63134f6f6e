import { readFileSync } from "node:fs";
import type { Command } from "commander";
import t from "tap";
import { createProgram } from "../../bin/program.js";
import { exitCodeMeanings } from "../../bin/session/exit-code.js";

const page = readFileSync(
  new URL("../../../docs/reference/command-line.md", import.meta.url),
  "utf8",
);
const program = createProgram({
  terminal: {
    out: () => {},
    err: () => {},
    write: async () => {},
    columns: null,
    showProgress: null,
    openScreen: () => null,
    ask: null,
  },
  env: {},
  cwd: "/",
  uid: 1000,
  programs: "/",
  nowMs: () => 0,
  monoMs: () => 0,
  pause: async () => {},
});

/**
 * Every command that does something, with its full name; one may do so itself and have others below
 * it.
 */
function leaves(
  command: Command,
  name: string,
): readonly (readonly [name: string, command: Command])[] {
  const below = command.commands.flatMap((child) => leaves(child, `${name} ${child.name()}`));
  return below.length > 0 && (command === program || command.options.length === 0)
    ? below
    : [[name, command], ...below];
}

t.test(
  "the page on the command line has a section for every command, with every flag in it",
  async (t) => {
    for (const [name, command] of leaves(program, "sluice")) {
      // The scripts that complete ask it; people don't.
      if (name === "sluice complete") continue;
      const section = page.split(/^## /m).find((text) => text.startsWith(`${name}\n`)) ?? "";
      t.not(section, "", name);
      for (const { long } of command.options)
        t.match(section, new RegExp(`${long ?? ""}\\b`), `${name} ${long ?? ""}`);
    }
    for (const { long } of program.options)
      t.match(page, new RegExp(`\`${long ?? ""}\\b`), long ?? "");
  },
);

t.test("the page on the command line has the table of exit codes", async (t) => {
  for (const { code, meaning } of exitCodeMeanings)
    t.ok(page.includes(`| ${code} | ${meaning} |`), `${code} ${meaning}`);
});
