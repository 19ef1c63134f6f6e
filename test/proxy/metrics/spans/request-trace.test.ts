import fc from "fast-check";
import t from "tap";
import { isSampled, Tracing } from "../../../../proxy/metrics/spans/request-trace.js";
import type { SpanMaker } from "../../../../proxy/metrics/spans/spans.js";
import { traceSamplers } from "../../../../shared/metrics/telemetry-config.js";
import { exactly } from "../../../support/patterns/exactly.js";

type Made = Parameters<SpanMaker["start"]>[0] & {
  readonly id: string;
  readonly events: unknown[];
  ended: unknown[];
};

function makeTracing(clock: { monoMs: number; nowMs: number }): {
  readonly made: Made[];
  readonly tracing: Tracing;
} {
  const made: Made[] = [];
  const maker: SpanMaker = {
    start(what) {
      const span: Made = { ...what, id: `s${made.length}`, events: [], ended: [] };
      made.push(span);
      return {
        traceId: what.parent?.traceId ?? "t0",
        spanId: span.id,
        event: (...event) => void span.events.push(event),
        end: (ended) => void span.ended.push(ended),
      };
    },
    close: async () => {},
  };
  const tracing = new Tracing(
    { sampler: "parentbased_always_on", sample: 1 },
    {
      maker,
      providerOf: () => ({ type: "openai", address: "", port: 0 }),
      monoMs: () => clock.monoMs,
      nowMs: () => clock.nowMs,
      random: () => 0,
    },
  );
  return { made, tracing };
}

const forwarded = {
  status: 200,
  outcome: "complete",
  usage: null,
  estimated: false,
  executed: true,
  firstByteMonoMs: null,
  failed: null,
} as const;
const what = {
  target: { provider: "p", model: "m" },
  operation: "chat_completions",
  stream: false,
  resent: 0,
} as const;

t.test("a request's span is below the caller's, its attempts' are below its own", async (t) => {
  const { made, tracing } = makeTracing({ monoMs: 130, nowMs: 10_130 });
  const parent = { traceId: "t7", spanId: "c1", isSampled: true };
  const trace = tracing.begin("POST /v1/x", parent, 100)!;
  t.equal(trace.traceId, "t7");
  trace.noteVerdict("admitted", 12);
  const attempt = trace.attempt(what, 150);
  t.same([attempt.traceId, attempt.spanId], ["t7", "s1"]);
  attempt.ended(forwarded, 160);
  trace.end({ a: 1 }, false, 170);
  t.match(
    made,
    exactly([
      {
        name: "POST /v1/x",
        kind: "server",
        parent,
        startMs: 10_100,
        events: [["sluice.admission", { "sluice.verdict": "admitted" }, 10_130]],
        ended: [{ attributes: { a: 1 }, error: false, atMs: 10_170 }],
      },
      {
        name: "chat m",
        kind: "client",
        parent: { traceId: "t7", spanId: "s0" },
        startMs: 10_150,
        ended: [{ error: false, atMs: 10_160 }],
      },
    ]),
  );
  t.equal(made[1]!.ended.length, 1, "an attempt ends once");
});

t.test("an attempt that an exception has ended is an error", async (t) => {
  const { made, tracing } = makeTracing({ monoMs: 0, nowMs: 0 });
  const trace = tracing.begin("POST /v1/x", null, 0)!;
  trace.attempt(what, 1);
  trace.end({}, true, 2);
  t.match(
    made[1]!.ended,
    exactly([{ attributes: { "error.type": "internal_error" }, error: true }]),
  );
});

t.test("a request whose caller doesn't record its trace has no span", async (t) => {
  const { made, tracing } = makeTracing({ monoMs: 0, nowMs: 0 });
  t.equal(tracing.begin("GET /", { traceId: "t", spanId: "s", isSampled: false }, 0), null);
  t.same(made, []);
});

const traceId = "0af7651916cd43dd8448eb211c80319c";
const recorded = { traceId, isSampled: true };
const unrecorded = { traceId, isSampled: false };

t.test("each sampler, by what the caller says", async (t) => {
  // Of a part of one half, by chances of 0.4 and 0.6; the id's random part is 0.93.
  const table = [
    ["always_on", [true, true, true, true]],
    ["always_off", [false, false, false, false]],
    ["traceidratio", [false, false, true, false]],
    ["parentbased_always_on", [true, false, true, true]],
    ["parentbased_always_off", [true, false, false, false]],
    ["parentbased_traceidratio", [true, false, true, false]],
  ] as const;
  for (const [sampler, expected] of table) {
    const config = { sampler, sample: 0.5 };
    const decided = [
      isSampled(config, recorded, () => 0),
      isSampled(config, unrecorded, () => 0),
      isSampled(config, null, () => 0.4),
      isSampled(config, null, () => 0.6),
    ];
    t.same(decided, expected, sampler);
  }
  t.same(
    table.map(([sampler]) => sampler),
    traceSamplers,
  );
});

t.test("a ratio takes all, none, or the same traces as any smaller one and more", async (t) => {
  const ids = fc.stringMatching(/^[0-9a-f]{32}$/);
  const takes = (id: string, sample: number): boolean =>
    isSampled({ sampler: "traceidratio", sample }, { traceId: id, isSampled: false }, () => 0);
  fc.assert(
    fc.property(ids, fc.double({ min: 0, max: 1, noNaN: true }), (id, sample) => {
      if (takes(id, 0) || !takes(id, 1)) return false;
      return !takes(id, sample / 2) || takes(id, sample);
    }),
  );
  t.end();
});
