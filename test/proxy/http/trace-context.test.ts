import t from "tap";
import { forwardRequestHeaders } from "../../../proxy/http/copy-headers.js";
import { parseTraceparent, passesTrace } from "../../../proxy/http/trace-context.js";

const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const own = ["traceparent", `00-${span.traceId}-${span.spanId}-01`];
const withTrace = /^(?:accept|trace(?:parent|state))$/i;
const withoutTrace = /^accept$/i;

t.test("a provider that may get traces gets the request's own span", async (t) => {
  const table = [
    [
      "in place of the caller's",
      ["TraceParent", "00-1", "Accept", "a"],
      withTrace,
      ["Accept", "a", ...own],
    ],
    ["of each that it repeats", ["traceparent", "1", "traceparent", "2"], withTrace, own],
    ["where the caller names none", ["accept", "a"], withTrace, ["accept", "a", ...own]],
    ["with the caller's state", ["tracestate", "v=1"], withTrace, ["tracestate", "v=1", ...own]],
    ["and another isn't", ["accept", "a", "traceparent", "1"], withoutTrace, ["accept", "a"]],
  ] as const;
  for (const [name, headers, passed, expected] of table)
    t.same(forwardRequestHeaders([...headers], passed, span), expected, name);
  const headers = ["traceparent", "00-1"];
  t.same(forwardRequestHeaders(headers, withTrace), headers, "without a span the caller's passes");
});

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

t.test("a trace is taken over, and nothing that isn't one", async (t) => {
  t.same(parseTraceparent(`00-${traceId}-${spanId}-01`), { traceId, spanId, isSampled: true });
  t.same(parseTraceparent(` 00-${traceId}-${spanId}-02 `), { traceId, spanId, isSampled: false });
  t.same(parseTraceparent(`01-${traceId}-${spanId}-03-more`), { traceId, spanId, isSampled: true });
  for (const wrong of [
    undefined,
    "",
    "00",
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    // Sent twice.
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01\u0000`,
    `01-${traceId}-${spanId}-01-${"x".repeat(10_000)}`,
    '","injected":"',
  ])
    t.equal(parseTraceparent(wrong), null, String(wrong).slice(0, 80));
});

t.test("private providers get the trace, others if the operator allows it", async (t) => {
  const own = [
    "http://127.0.0.1:8000/v1",
    "http://localhost:11434/v1",
    "http://vllm:8000/v1",
    "http://10.1.2.3/v1",
    "http://172.31.0.1/v1",
    "http://192.168.1.5/v1",
    "http://[::1]:8000/v1",
    "http://[fd00::1]/v1",
    "http://[::ffff:10.0.0.1]/v1",
    "http://vllm.models.svc.cluster.local/v1",
    "http://gpu.internal/v1",
  ];
  const others = [
    "https://api.openai.com/v1",
    "https://localhost.example/v1",
    "http://172.32.0.1/v1",
    "http://8.8.8.8/v1",
    "http://[2606:4700::1]/v1",
    "https://internal.example.com/v1",
    "",
  ];
  for (const url of own) {
    t.ok(passesTrace(url, "private"), url);
    t.notOk(passesTrace(url, "none"), url);
  }
  for (const url of others) {
    t.notOk(passesTrace(url, "private"), url);
    t.ok(passesTrace(url, "all"), url);
  }
});
