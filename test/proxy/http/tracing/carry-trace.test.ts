import t from "tap";
import { forwardRequestHeaders } from "../../../../proxy/http/copy-headers.js";

const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const own = ["traceparent", `00-${span.traceId}-${span.spanId}-01`];
const told = /^(?:accept|trace(?:parent|state))$/i;
const untold = /^accept$/i;

t.test("a provider that is told of traces is told of the request's own span", async (t) => {
  const table = [
    [
      "in place of the caller's",
      ["TraceParent", "00-1", "Accept", "a"],
      told,
      ["Accept", "a", ...own],
    ],
    ["of each that it repeats", ["traceparent", "1", "traceparent", "2"], told, own],
    ["where the caller names none", ["accept", "a"], told, ["accept", "a", ...own]],
    ["with the caller's state", ["tracestate", "v=1"], told, ["tracestate", "v=1", ...own]],
    ["and another isn't", ["accept", "a", "traceparent", "1"], untold, ["accept", "a"]],
  ] as const;
  for (const [name, headers, passed, expected] of table)
    t.same(forwardRequestHeaders([...headers], passed, span), expected, name);
  const headers = ["traceparent", "00-1"];
  t.same(forwardRequestHeaders(headers, told), headers, "without a span the caller's passes");
});
