import t from "tap";
import { parseBudgetWrite } from "../../../shared/domain/budget.js";
import { holdField, holdWords, parseHold } from "../../../shared/domain/hold.js";
import { parseRuleWrite } from "../../../shared/domain/rule.js";

const entitled = { perChildEntitled: true };

t.test("a limit is soft unless it says hard", async (t) => {
  for (const value of [undefined, null, "soft"])
    t.same(parseHold(value, "at"), { ok: true, value: {} });
  t.same(parseHold("hard", "at"), { ok: true, value: { hold: "hard" } });
  for (const value of ["Hard", true, 1, {}])
    t.match(parseHold(value, "at"), { ok: false, failure: { param: "at" } }, String(value));
  t.same([holdField({}), holdField({ hold: "hard" })], [{}, { hold: "hard" }]);
  t.same([holdWords(undefined), holdWords("hard")], [null, "hard cap"]);
});

t.test("a hard rule needs a cap on tokens or cost", async (t) => {
  const put = (caps: object) =>
    parseRuleWrite({ user_path: "/team", limit_key: { period: "day" }, ...caps }, entitled);
  for (const cap of ["max_tokens", "max_input_tokens", "max_output_tokens", "max_cost"])
    t.match(put({ [cap]: 9, hold: "hard" }), { ok: true, value: { hold: "hard" } }, cap);
  t.match(put({ max_requests: 9, hold: "hard" }), {
    ok: false,
    failure: {
      param: "hold",
      message: "hold hard needs max_tokens, max_input_tokens, max_output_tokens or max_cost",
    },
  });
  t.notOk(put({ max_tokens: 9, hold: "hard", on_exhausted: "warn" }).ok);
  t.ok(put({ max_tokens: 9, hold: "soft", on_exhausted: "warn" }).ok);
  t.ok(put({ max_tokens: 9, hold: "hard", on_exhausted: { use: "cheap" } }).ok);
});

t.test("a budget may be hard, unless it only warns", async (t) => {
  const put = (more: object) =>
    parseBudgetWrite(
      { user_path: "/team", budget_key: { period: "daily" }, amount: 1, ...more },
      entitled,
    );
  t.match(put({ hold: "hard" }), { ok: true, value: { hold: "hard" } });
  t.match(put({ hold: "hard", on_exhausted: "warn" }), {
    ok: false,
    failure: {
      param: "hold",
      message: "hold hard can't be combined with on_exhausted warn, which refuses nothing",
    },
  });
});
