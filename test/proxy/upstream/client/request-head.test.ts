import t from "tap";
import { requestHead } from "../../../../proxy/upstream/client/request-head.js";

const headOf = (over: { method?: string; path?: string; headers?: string[] }, closes = false) =>
  requestHead({ method: "POST", path: "/v1/x", headers: [], ...over }, "provider:8080", closes);

t.test("the head names the host once, and leaves the body's headers to who sends it", async (t) => {
  t.same(headOf({ headers: ["A", "b", "x-empty", "", "Content-Length", "12"] }), {
    text: "POST /v1/x HTTP/1.1\r\nhost: provider:8080\r\nconnection: keep-alive\r\nA: b\r\nx-empty: \r\n",
    length: 12,
    hasBody: true,
  });
  t.same(headOf({ method: "GET", path: "/\u00e9?a=b", headers: ["Host", "other"] }, true), {
    text: "GET /\u00e9?a=b HTTP/1.1\r\nhost: other\r\nconnection: close\r\n",
    length: null,
    hasBody: false,
  });
});

t.test("what could end a line or frame the body differently is refused", async (t) => {
  for (const [over, error] of [
    [{ method: "GET /x HTTP/1.1\r\n" }, /invalid request method/],
    [{ method: "" }, /invalid request method/],
    [{ path: "v1" }, /invalid request path/],
    [{ path: "http://other/" }, /invalid request path/],
    [{ path: "/ HTTP/1.1" }, /invalid request path/],
    [{ path: "/\r\nx: y" }, /invalid request path/],
    [{ path: "/\u0100" }, /invalid request path/],
    [{ headers: ["a", "b\r\nc: d"] }, /invalid a header/],
    [{ headers: ["a", "b\nc"] }, /invalid a header/],
    [{ headers: ["a", "\0"] }, /invalid a header/],
    [{ headers: ["a", "\u0141"] }, /invalid a header/],
    [{ headers: ["a b", "c"] }, /invalid a b header/],
    [{ headers: ["a:", "c"] }, /invalid a: header/],
    [{ headers: ["", "c"] }, /invalid {2}header/],
    [{ headers: ["host", "a", "Host", "b"] }, /duplicate host header/],
    [{ headers: ["content-length", "1", "Content-Length", "1"] }, /invalid content-length header/],
    [{ headers: ["content-length", "1 "] }, /invalid content-length header/],
    [{ headers: ["content-length", "-1"] }, /invalid content-length header/],
    [{ headers: ["Transfer-Encoding", "chunked"] }, /invalid Transfer-Encoding header/],
    [{ headers: ["connection", "close"] }, /invalid connection header/],
    [{ headers: ["upgrade", "x"] }, /invalid upgrade header/],
    [{ headers: ["expect", "100-continue"] }, /invalid expect header/],
  ] as const)
    t.throws(
      () => headOf({ ...over, headers: [...("headers" in over ? over.headers : [])] }),
      error,
    );
});
