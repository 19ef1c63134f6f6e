/** The real SDK and a real collector, on loopback. */
import t from "tap";
import { spansPerBatch, spansWaitingMax } from "../../../../proxy/bounds.js";
import { createSpanMaker, type ExportEvents } from "../../../../proxy/metrics/spans/otel-spans.js";
import type { SpanMaker } from "../../../../proxy/metrics/spans/spans.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { startTraceCollector } from "../../../support/providers/trace-collector.js";

interface Counted extends ExportEvents {
  exported: number;
  dropped: number;
  failed: number;
  reason: string;
  readonly ignored: string[];
}

function counting(): Counted {
  return {
    exported: 0,
    dropped: 0,
    failed: 0,
    reason: "",
    ignored: [],
    onIgnored(reason) {
      this.ignored.push(reason);
    },
    onExported(spans) {
      this.exported += spans;
    },
    onDropped(spans) {
      this.dropped += spans;
    },
    onFailed(spans, reason) {
      this.failed += spans;
      this.reason = reason;
    },
  };
}

/** As without a word about it. */
const json = { protocol: "http/json", headers: null, spanHeaders: null } as const;

function endOne(maker: SpanMaker, parent: { traceId: string; spanId: string } | null = null): void {
  const span = maker.start({ name: "one", kind: "server", parent, startMs: 1_700_000_000_000.25 });
  span.event("seen", { a: true }, 1_700_000_000_001);
  span.end({ attributes: { n: 1, s: "x" }, error: true, atMs: 1_700_000_000_002.5 });
}

t.test("spans reach the collector as they are, with its headers", async (t) => {
  const collector = await startTraceCollector();
  t.teardown(() => collector.close());
  const events = counting();
  const headers = "x-api-key=a%20b,x-other=c,x-third=d";
  const endpoint = `${collector.url}/v1/traces`;
  const config = { ...json, endpoint, headers, spanHeaders: "X-Third=spans" };
  const maker = createSpanMaker(config, "proxy-2", events);
  const parent = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  endOne(maker, parent);
  await maker.close();
  t.same([events.exported, events.dropped, events.failed], [1, 0, 0]);
  const [request] = collector.requests;
  t.equal(request!.path, "/v1/traces");
  t.match(request!.headers, { "x-api-key": "a b", "x-other": "c", "x-third": "spans" });
  t.equal(request!.headers["content-type"], "application/json");
  t.match(collector.resource, { "service.name": "sluice", "sluice.proxy": "proxy-2" });
  t.match(
    collector.spans,
    exactly([
      {
        name: "one",
        traceId: parent.traceId,
        parentSpanId: parent.spanId,
        kind: 2,
        startTimeUnixNano: "1700000000000250000",
        endTimeUnixNano: "1700000000002500000",
        status: { code: 2 },
        attributes: { n: 1, s: "x" },
        events: [{ name: "seen", attributes: { a: true } }],
      },
    ]),
  );
});

t.test("wrong variables for sending spans are reported", async (t) => {
  const names = ["OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_CERTIFICATE"] as const;
  t.teardown(() => {
    for (const name of names) delete process.env[name];
  });
  const [compression, certificate] = names;
  for (const [name, value, reason] of [
    [compression, "gzip", null],
    [compression, "zstd", /OTEL_EXPORTER_OTLP_COMPRESSION is invalid/],
    [certificate, "/nowhere/ca.pem", /root certificate file/],
  ] as const) {
    process.env[name] = value;
    const events = counting();
    await createSpanMaker({ ...json, endpoint: "http://127.0.0.1:1" }, "proxy", events).close();
    if (reason === null) t.same(events.ignored, []);
    else t.match(events.ignored.join("; "), reason);
    delete process.env[name];
  }
});

t.test("they are written as protobuf where that is asked for", async (t) => {
  const collector = await startTraceCollector();
  t.teardown(() => collector.close());
  collector.answer = (response) => void response.writeHead(200).end();
  const endpoint = `${collector.url}/v1/traces`;
  const protobuf = {
    protocol: "http/protobuf",
    headers: "x-api-key=a",
    spanHeaders: null,
  } as const;
  const config = { ...protobuf, endpoint };
  const events = counting();
  const maker = createSpanMaker(config, "proxy", events);
  endOne(maker);
  await maker.close();
  t.same([events.exported, events.failed], [1, 0]);
  const [request] = collector.requests;
  t.match(request!.headers, { "x-api-key": "a", "content-type": "application/x-protobuf" });
  t.match(request!.body, /service\.name[^]*sluice/);
});

t.test("a long text is cut", async (t) => {
  const collector = await startTraceCollector();
  t.teardown(() => collector.close());
  const maker = createSpanMaker(
    { endpoint: `${collector.url}/v1/traces`, ...json },
    "proxy",
    counting(),
  );
  const span = maker.start({ name: "one", kind: "client", parent: null, startMs: 1 });
  span.end({ attributes: { s: "x".repeat(100_000) }, error: false, atMs: 2 });
  await maker.close();
  t.equal(String(collector.spans[0]!.attributes["s"]).length, 1024);
});

t.test("beyond the bound they are dropped and counted; an end doesn't wait for long", async (t) => {
  const collector = await startTraceCollector();
  t.teardown(() => collector.close());
  // It takes the requests and says nothing.
  collector.answer = () => {};
  const events = counting();
  const config = { endpoint: `${collector.url}/v1/traces`, ...json };
  const maker = createSpanMaker(config, "proxy", events, { exportMs: 300, closeMs: 20 });
  for (let i = 0; i < spansWaitingMax + 1000; i++) endOne(maker);
  t.ok(events.dropped >= 1000 - 2 * spansPerBatch, `${events.dropped} dropped`);
  const dropped = events.dropped;
  for (let i = 0; i < 10; i++) endOne(maker);
  t.equal(events.dropped, dropped + 10);
  const beganMs = performance.now();
  await maker.close();
  t.ok(performance.now() - beganMs < 20_000, "it doesn't wait for the answers");
});

t.test("a collector that is away: what can't be sent is counted", async (t) => {
  const collector = await startTraceCollector();
  await collector.close();
  const events = counting();
  const config = { endpoint: `${collector.url}/v1/traces`, ...json };
  const maker = createSpanMaker(config, "proxy", events, { exportMs: 100, closeMs: 20_000 });
  endOne(maker);
  await maker.close();
  t.same([events.exported, events.failed], [0, 1]);
});

t.test("a collector's refusal is logged with its reason", async (t) => {
  const collector = await startTraceCollector();
  t.teardown(() => collector.close());
  collector.answer = (response) => void response.writeHead(401).end("a page of text");
  const events = counting();
  const maker = createSpanMaker(
    { endpoint: `${collector.url}/v1/traces`, ...json },
    "proxy",
    events,
  );
  endOne(maker);
  await maker.close();
  t.equal(events.failed, 1);
  t.match(events.reason, /Unauthorized|401/);
});
