import t from "tap";
import { logRequest, RequestRecord } from "../../proxy/request-record.js";
import type { Log } from "../../shared/log.js";
import { FakeExchange } from "./fake-exchange.js";

/** What a log line holds, and its level. */
function logged(
  record: RequestRecord,
  path = "/v1/chat/completions",
): { readonly level: string; readonly fields: unknown } {
  const lines: { level: string; fields: unknown }[] = [];
  const log = {
    line: (level: string, fields: string) =>
      lines.push({ level, fields: JSON.parse(`{${fields}}`) }),
  } as unknown as Log;
  logRequest(log, { exchange: new FakeExchange({ path }), record, endedMonoMs: 112.34 });
  t.equal(lines.length, 1);
  return lines[0]!;
}

t.test("a request that was refused at once has a line with what is always known", async (t) => {
  const record = new RequestRecord(100);
  record.end(401, "refused");
  t.same(logged(record), {
    level: "info",
    fields: {
      request_id: "req_test",
      method: "POST",
      path: "/v1/chat/completions",
      status: 401,
      outcome: "refused",
      ms: 12.3,
    },
  });
});

t.test("the line of an executed request has everything that was noted on its way", async (t) => {
  const record = new RequestRecord(100);
  record.identified({ userPath: '/team "a"', keyId: "key_7" });
  record.model = "smart";
  record.target = { provider: "claude", model: "opus" };
  record.tried = [{ target: { provider: "openai", model: "gpt" }, why: "503" }];
  record.tries = 2;
  record.savedBytes = 40;
  record.forwarded({
    status: 200,
    outcome: "complete",
    usage: {
      inputTokens: 3,
      outputTokens: 4,
      totalTokens: 7,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      reportedCost: null,
      details: null,
    },
    estimated: true,
    executed: true,
    firstByteMonoMs: 105.06,
    note: "a note",
    failed: null,
    bug: null,
    finish: () => {},
  });
  record.cost = 2_500_000;
  t.match(logged(record).fields, {
    user_path: '/team "a"',
    key: "key_7",
    model: "smart",
    target: "claude/opus",
    tries: 2,
    tried: [{ target: "openai/gpt", why: "503" }],
    first_byte_ms: 5.1,
    tokens: 7,
    input_tokens: 3,
    output_tokens: 4,
    cost_usd: 0.0000025,
    rewrite_bytes_saved: 40,
    estimated: true,
    note: "a note",
  });
});

t.test("a key in a path is redacted", async (t) => {
  const key = `sk-sluice-${"k".repeat(43)}`;
  const record = new RequestRecord(100);
  record.end(404, "refused");
  t.notOk(JSON.stringify(logged(record, `/v1/models/${key}`).fields).includes(key));
});

t.test("health checks are logged for debugging only, unless they fail", async (t) => {
  for (const [outcome, level] of [
    ["answered", "debug"],
    ["refused", "info"],
  ] as const) {
    const record = new RequestRecord(100);
    record.end(200, outcome);
    t.equal(logged(record, "/health").level, level);
  }
});
