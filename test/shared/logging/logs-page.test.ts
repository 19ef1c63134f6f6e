/** Holds docs/reference/logs.md to the fields and messages of the code. */
import { readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { lineFields, requestFields } from "../../../shared/logging/log-fields.js";

// The compiled test is four directories below the repository.
const root = new URL("../../../../", import.meta.url);
const page = readFileSync(new URL("docs/reference/logs.md", root), "utf8");

t.test("each field has its row, and each row its field, in the order of a line", (t) => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, name, meaning]) => ({
    name,
    meaning,
  }));
  const described = rows.filter(
    ({ name }) => !["log_format", "auto", "json", "text"].includes(name ?? ""),
  );
  t.same(described, [...lineFields, ...requestFields]);
  t.end();
});

/** The messages of one level in a source, as far as they are written there. */
function messagesIn(source: string): { readonly level: string; readonly message: string }[] {
  const found: { readonly level: string; readonly message: string }[] = [];
  for (const call of source.matchAll(/(?:\b|#)log\.(warn|error|fatal)\(/g)) {
    const rest = source.slice(call.index);
    // Calls end where their statement, or the callback around them, does.
    const text = rest.slice(0, /\);|\),\n|\)\n/.exec(rest)?.index);
    for (const [, message = ""] of text.matchAll(/"([^"\n]* [^"\n]*)"/g))
      found.push({ level: call[1]!, message });
  }
  return found;
}

t.test("no message has two rows", (t) => {
  const messages = [...page.matchAll(/^\| (.+) \| (?:warn|error|fatal) \| /gm)].map(
    ([, message = ""]) => message,
  );
  t.same(messages, [...new Set(messages)]);
  t.end();
});

t.test("each warning and error has its row, with its level", (t) => {
  let messages = 0;
  for (const program of ["bin", "limiterd", "proxy", "shared"])
    for (const path of readdirSync(new URL(`${program}/`, root), { recursive: true })) {
      if (!String(path).endsWith(".ts") || String(path).includes("dashboard/web")) continue;
      const source = readFileSync(new URL(`${program}/${path}`, root), "utf8");
      for (const { level, message } of messagesIn(source)) {
        if (message === "it takes too long") continue;
        messages++;
        t.ok(page.includes(`\n| ${message} | ${level} | `), `${message} (${level})`);
      }
    }
  t.ok(messages > 40, `${messages} messages`);
  t.end();
});
