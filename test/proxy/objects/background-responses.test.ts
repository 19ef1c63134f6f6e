import t from "tap";
import type { Gateway } from "../../../proxy/gateway.js";
import { endOf, settleBeforeDeletion } from "../../../proxy/objects/background-responses.js";
import { type ErrorCode, failure } from "../../../shared/error-code.js";

const without = (code: ErrorCode): Gateway =>
  ({
    limiter: { call: () => Promise.resolve({ ok: false, failure: failure(code, "away") }) },
  }) as unknown as Gateway;

t.test("the end of a response has its usage, with the calls of tools", (t) => {
  const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 };
  const output = [
    { type: "web_search_call", id: "w" },
    { type: "mcp_call", id: "m", server_label: "github", name: "search" },
    { type: "function_call", name: "mine" },
  ];
  t.match(endOf({ status: "completed", usage, output }), {
    kind: "used",
    usage: { inputTokens: 9, toolCalls: { web_search: 1, "mcp:github/search": 1 } },
  });
  t.notHas(endOf({ status: "completed", usage, output: [] }), { usage: { toolCalls: {} } });
  t.same(endOf({ status: "failed", output: [] }), { kind: "unknown" });
  t.equal(endOf({ status: "in_progress", usage, output }), null);
  t.end();
});

t.test("while the daemon is away, responses can be deleted, and batches can't", async (t) => {
  const deletion = { provider: "a", id: "b", kind: "batch" } as const;
  const away = without("limiter_unavailable");
  t.match(await settleBeforeDeletion(away, deletion), { status: 503 });
  t.equal(await settleBeforeDeletion(away, { ...deletion, kind: "response" }), null);
  t.equal(await settleBeforeDeletion(without("feature_unavailable"), deletion), null, "no daemon");
});
