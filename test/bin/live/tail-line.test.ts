import t from "tap";
import type { TailEvent } from "../../../bin/live/tail-cursor.js";
import { isShown, type TailFilter, tailJson, tailLine } from "../../../bin/live/tail-line.js";

const all: TailFilter = {
  path: "/",
  model: null,
  status: null,
  refusedOnly: false,
  slowMs: null,
};
const request = (fields: object = {}): TailEvent =>
  ({
    kind: "request",
    at: "2026-11-22T05:30:44.120Z",
    record: {
      status: 200,
      latency_ms: 1240,
      user_path: "/team/app",
      provider: "openai",
      model: "gpt-4o",
      requested_model: "smart",
      input_tokens: 1200,
      output_tokens: 310,
      total_cost: 0.0061,
      key_id: "key_2",
      request_id: "req_1",
      ...fields,
    },
  }) as unknown as TailEvent;
const refusal = {
  user_path: "/team/app",
  model: "smart",
  targets: ["openai/gpt-4o"],
  message: "rate limit exceeded for /team",
  retry_after: 15,
};
const refused = {
  kind: "refusal",
  at: "2026-11-22T05:30:45.000Z",
  refusal,
} as unknown as TailEvent;

t.test("a line has what ended, when, where and at what cost", async (t) => {
  t.equal(
    tailLine(request()),
    "05:30:44Z  200    1.24s  /team/app  openai/gpt-4o  in 1200 out 310  $0.006100  key_2  req_1",
  );
  t.equal(
    tailLine(request({ total_cost: null, key_id: null, model: null, latency_ms: 61_000 })),
    "05:30:44Z  200      61s  /team/app  openai/-  in 1200 out 310  -  req_1",
  );
  t.equal(
    tailLine(refused),
    "05:30:45Z  429  refused  /team/app  smart  rate limit exceeded for /team (15s)",
  );
  const message = "model not allowed for /team on o3: day rule with max_requests 0";
  const banned = { ...refusal, message, retry_after: null };
  t.equal(
    tailLine({ ...refused, refusal: banned } as unknown as TailEvent),
    `05:30:45Z  403  refused  /team/app  smart  ${message}`,
  );
  t.match(JSON.parse(tailJson(refused)), { kind: "refusal", retry_after: 15 });
});

t.test("filters leave out what isn't asked for", async (t) => {
  for (const [filter, ofRequest, ofRefusal] of [
    [{}, true, true],
    [{ path: "/team" }, true, true],
    [{ path: "/tea" }, false, false],
    [{ model: "smart" }, true, true],
    [{ model: "gpt-4o" }, true, true],
    [{ model: "claude" }, false, false],
    [{ status: "2xx" }, true, false],
    [{ status: "429" }, false, true],
    [{ refusedOnly: true }, false, true],
    [{ slowMs: 1000 }, true, false],
    [{ slowMs: 2000 }, false, false],
  ] as const) {
    t.equal(isShown(request(), { ...all, ...filter }), ofRequest, JSON.stringify(filter));
    t.equal(isShown(refused, { ...all, ...filter }), ofRefusal, JSON.stringify(filter));
  }
});
