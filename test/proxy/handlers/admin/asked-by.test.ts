/** The handlers of /admin tell the daemon who asks, so that a role for a subtree sees no more. */
import { readdirSync, readFileSync } from "node:fs";
import t from "tap";

const folder = new URL("../../../../../proxy/handlers/admin/", import.meta.url);
/** What callers of the API ask about their own usage: the daemon answers for their own path. */
const ofCallers = "usage-api.ts";
/** Defines `askDaemon`. */
const itself = "asked-by.ts";

t.test("each call of the daemon says who asks", async (t) => {
  let calls = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
    if (file === ofCallers || file === itself) continue;
    const [, ...after] = readFileSync(new URL(file, folder), "utf8").split(/limiter\s*\.call\b/);
    for (const rest of after) {
      calls++;
      t.match(argumentsIn(rest), /\baskedBy\(context\),?\s*\)$/, file);
    }
  }
  t.ok(calls > 5, `${calls} calls`);
});

/** The arguments of a call, with their parentheses. */
function argumentsIn(text: string): string {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++;
    if (text[i] === ")" && --depth === 0) return text.slice(0, i + 1);
  }
  return text;
}
