/** Holds the messages on docs/reference/logs.md to those of the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { programs, readSources, root } from "../../tidy/source-tree.js";

const page = readFileSync(join(root, "docs/reference/logs.md"), "utf8");
const section = page.split("## Warnings and errors\n")[1]!.split("\n## ")[0]!;
const rows = [...section.matchAll(/^- "([^"`]+)": /gm)].map(([, message = ""]) => message);

t.test("each message of the page is one of the code, and has one row", async (t) => {
  const sources = readSources(programs).map(({ text }) => text.replace(/\$\{\w+\}/g, "…"));
  t.ok(rows.length > 10, `${rows.length} rows`);
  t.same(rows, [...new Set(rows)]);
  const isWritten = (message: string): boolean =>
    sources.some(
      (text) =>
        text.includes(`"${message}"`) ||
        text.includes(`\`${message.replace(/^inert rule/, "inert …")}\``),
    );
  t.same(
    rows.filter((message) => !isWritten(message)),
    [],
  );
});
