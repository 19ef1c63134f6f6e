/** What a PUT of a rule keeps of the rule that it replaces. */
import t from "tap";
import type { RulePage } from "../../../../shared/api/rule-item.js";
import { ask, startDaemon } from "../../in-memory-daemon.js";

const key = { user_path: "/team", limit_key: { period: "minute" } };

t.test("hold and on_exhausted stay if they are left out, or the change is refused", async (t) => {
  const table = [
    [{ max_tokens: 10, hold: "hard" }, { max_tokens: 20 }, { max_tokens: 20, hold: "hard" }],
    [{ max_tokens: 10, hold: "hard" }, { max_tokens: 20, on_exhausted: "warn" }, "hold"],
    [{ max_tokens: 10, hold: "hard" }, { max_requests: 5 }, "hold"],
    [
      { max_tokens: 10, hold: "hard" },
      { max_requests: 5, hold: "soft" },
      { max_requests: 5, hold: undefined },
    ],
    [{ max_tokens: 10, on_exhausted: "warn" }, { max_tokens: 10, hold: "hard" }, "on_exhausted"],
    [
      { max_tokens: 10, on_exhausted: "warn" },
      { max_tokens: 20 },
      { max_tokens: 20, on_exhausted: "warn" },
    ],
  ] as const;
  for (const [before, change, expected] of table) {
    const daemon = startDaemon([], {});
    await ask(daemon, "rate-limits.put", { ...key, ...before });
    const param = await ask(daemon, "rate-limits.put", { ...key, ...change }).then(
      () => null,
      (error: { failure?: { param?: string } }) => error.failure?.param,
    );
    const { rate_limits: rules } = (await ask(
      daemon,
      "rate-limits.list",
      null,
    )) as unknown as RulePage;
    const name = JSON.stringify([before, change]);
    if (typeof expected === "string") t.equal(param, expected, name);
    t.match(rules[0], typeof expected === "string" ? before : expected, name);
  }
});
