import t from "tap";
import { providerRequestId } from "../../../proxy/upstream/answer-relay.js";

t.test("a provider's id is found under the names that providers have for it", async (t) => {
  for (const [headers, id] of [
    [["X-Request-Id", "req_1"], "req_1"],
    [["request-id", "req_2", "content-type", "text/plain"], "req_2"],
    [["a", "b", "apim-request-id", "c0ffee"], "c0ffee"],
    [["x-amzn-RequestId", "x".repeat(500)], "x".repeat(128)],
    [["x-request-id", "req\u0080\u0094"], ""],
    [["x-request-id", "req\t1"], ""],
    [["y-request-id", "no", "via", "1"], ""],
    [[], ""],
  ] as const) {
    t.equal(providerRequestId(headers), id);
    t.equal(providerRequestId(headers.map((text) => Buffer.from(text, "latin1"))), id);
  }
});
