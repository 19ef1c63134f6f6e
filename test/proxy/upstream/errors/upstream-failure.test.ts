import t from "tap";
import { asUpstreamFailure } from "../../../../proxy/upstream/errors/upstream-failure.js";

t.test("a provider without TLS at an https address is named as that", async (t) => {
  const error = Object.assign(new Error("wrong version number"), {
    code: "ERR_SSL_WRONG_VERSION_NUMBER",
  });
  t.match(asUpstreamFailure(error), { kind: "unreachable", reason: /base_url .* http:\/\// });
});

t.test("an error of Sluice's own is told in its words, one of Node by its code", async (t) => {
  for (const [code, message, reason] of [
    ["ERR_CONNECTION_CLOSED", "it closed the connection", "it closed the connection"],
    ["ERR_CONNECT_TIMEOUT", "no connection for 50 ms", "no connection for 50 ms"],
    ["ERR_PROXY_TIMEOUT", "no proxy for 50 ms", "no proxy for 50 ms"],
    ["ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:443", "ECONNREFUSED"],
  ] as const) {
    const error = Object.assign(new Error(message), { code });
    t.same(asUpstreamFailure(error), { kind: "unreachable", reason });
  }
});
