import t from "tap";
import { refusalForClient } from "../../../proxy/http/retrying-clients.js";
import type { Breach, BudgetBreach } from "../../../shared/domain/verdict.js";
import { failure } from "../../../shared/error-code.js";

const breach: Breach = {
  scope: "user_path",
  subject: "/täm",
  periodSeconds: 86_400,
  dimension: "requests",
  cap: 500,
  waitSeconds: 19_000,
};
const spent: BudgetBreach = {
  dimension: "budget",
  scope: "user_path",
  subject: "/team",
  periodSeconds: 2_592_000,
  spentUsd: 502.1,
  amountUsd: 500,
  waitSeconds: 86_400,
};
const refused = failure("rate_limit_exceeded", "rate limit exceeded for /täm: day limit");
const nowMs = Date.UTC(2026, 10, 22, 18, 0, 0, 500);

t.test("Codex gets the time of its retry, with the error type at which it stops", async (t) => {
  for (const agent of ["codex_exec/0.169.0 (Debian)", "codex_cli_rs/0.60.0", "codex-tui/1.0"])
    t.same(refusalForClient(agent, breach, refused, nowMs), {
      status: 429,
      type: "usage_limit_reached",
      code: "rate_limit_exceeded",
      message: "rate limit exceeded for /täm: day limit",
      fields: { resets_at: Math.ceil(nowMs / 1000 + 19_000) },
      headers: ["x-codex-promo-message", "rate limit exceeded for /t?m: day limit"],
    });
});

t.test("opencode gets nothing that it takes for a reason to try again", async (t) => {
  const agent = "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14";
  const messages = [
    breach,
    { ...breach, dimension: "tokens", scope: "model", subject: "gpt-5" } as const,
    { ...breach, dimension: "children" } as const,
    { ...breach, dimension: "concurrent" } as const,
    spent,
  ].map((each) => {
    const { message, status, type, code } = refusalForClient(agent, each, refused, nowMs)!;
    t.same([status, type, code], [402, "insufficient_quota", "insufficient_quota"]);
    // Its own patterns.
    t.notMatch(
      message,
      /429|500|502|503|504|524|rate limit|rate_limit|try again|too many requests/i,
    );
    return message;
  });
  t.same(messages, [
    "the day request limit of /täm is reached, until 2026-11-22T23:16Z",
    "the day token limit of model gpt-5 is reached, until 2026-11-22T23:16Z",
    "the day template limit of /täm is reached, until 2026-11-22T23:16Z",
    "the concurrency limit of /täm is reached, until 2026-11-22T23:16Z",
    "the monthly budget of /team is reached, until 2026-11-23T18:00Z",
  ]);
});

t.test("everybody else gets what everybody gets", async (t) => {
  for (const agent of [undefined, "", "claude-cli/2.1", "my-opencode/1", "OpenAI/JS 6.0"])
    t.equal(refusalForClient(agent, breach, refused, nowMs), null, agent ?? "none");
});
