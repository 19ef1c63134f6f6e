import t from "tap";
import { fittingToolName, ToolNames } from "../../../../proxy/dialects/translation/tool-call.js";

t.test("a long or unusual name is shortened, and found again", async (t) => {
  const long = `mcp__${"server".repeat(12)}__`;
  const names = ["read", "", "a.b", `${long}one`, `${long}two`, "é".repeat(70)];
  const fitting = names.map(fittingToolName);
  t.same(fitting.slice(0, 2), ["read", ""], "as they are");
  t.same(
    fitting.filter((name) => name !== "" && !/^[\w-]{1,64}$/.test(name)),
    [],
  );
  t.equal(new Set(fitting).size, names.length, "none is another's");
  const known = new ToolNames([...names, undefined, 7]);
  t.same(
    fitting.map((name) => known.original(name)),
    names,
  );
  t.equal(known.original("unknown"), "unknown");
});
