/**
 * Holds the pages for operators to the product: each piece of configuration in them is accepted,
 * each metric and each command exists.
 */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import t from "tap";
import { createProgram } from "../../bin/program.js";
import { configSchema } from "../../shared/config/config-schema.js";
import { parseYaml } from "../../shared/config/file/parse-yaml.js";
import { accepted } from "../shared/config/resolve-sample.js";

// The compiled test is three directories below the repository.
const root = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

const pages = [
  "authentication",
  "backup",
  "containers",
  "kubernetes",
  "monitor",
  "reload-and-upgrade",
  "runbook",
  "security",
  "several-hosts",
  "sizing",
  "systemd",
  "web-search",
].map((name) => ({ name, text: read(`docs/${name}.md`) }));

/** The blocks of a language, also those within lists. */
function blocks(text: string, language: string): readonly string[] {
  const fenced = new RegExp(`^( *)\`\`\`${language}\\n([^]*?)^ *\`\`\`$`, "gm");
  return [...text.matchAll(fenced)].map(([, indent = "", block = ""]) =>
    block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
}

const env = {
  CREDENTIALS_DIRECTORY: "/run/credentials/sluice",
  JWT_SECRET: "0123456789abcdef0123456789abcdef",
};

t.test("each configuration on a page is accepted", async (t) => {
  const sections = Object.keys(configSchema()["properties"] as object);
  let tried = 0;
  for (const { name, text } of pages)
    for (const block of blocks(text, "yaml")) {
      const { document, problems } = parseYaml(block);
      t.same(problems, [], `${name}: ${block}`);
      const keys = Object.keys(document as object);
      if (!keys.every((key) => sections.includes(key))) continue;
      tried++;
      accepted(block, { env });
    }
  t.ok(tried >= 8, `${tried} blocks`);
});

t.test("each metric that a page names is in the table", async (t) => {
  const table = read("docs/reference/metrics.md");
  for (const { name, text } of pages)
    for (const [metric] of text.matchAll(/\bsluice_[a-z_]+[a-z]\b/g))
      t.ok(table.includes(`\`${metric.replace(/_bucket$/, "")}\``), `${name}: ${metric}`);
});

t.test("each command in a block of a page exists, with its flags", async (t) => {
  const program = createProgram({
    terminal: {
      out: () => {},
      err: () => {},
      write: async () => {},
      columns: null,
      colour: false,
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
  const lines = pages.flatMap(({ name, text }) =>
    blocks(text, "sh")
      .flatMap((block) => block.split("\n"))
      .flatMap((line) => {
        const [, words] = /^(?:until |sudo -u \w+ )?sluice ([^#|;>]+)/.exec(line) ?? [];
        return words === undefined ? [] : [{ name, words: words.trim().split(/ +/) }];
      }),
  );
  for (const { name, words } of lines) {
    let command: Command = program;
    for (const word of words)
      command = command.commands.find((known) => known.name() === word) ?? command;
    const options = [...command.options, ...program.options];
    const unknown = words.filter(
      (word) => word.startsWith("--") && !options.some(({ long }) => long === word.split("=")[0]),
    );
    t.ok(command !== program, `${name}: ${words.join(" ")}`);
    t.same(unknown, [], `${name}: ${words.join(" ")}`);
  }
  t.ok(lines.length > 15, `${lines.length} commands`);
});
