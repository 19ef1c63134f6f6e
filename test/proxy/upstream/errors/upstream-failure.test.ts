import t from "tap";
import { asUpstreamFailure } from "../../../../proxy/upstream/errors/upstream-failure.js";

t.test("a provider without TLS at an https address is named as that", async (t) => {
  const error = Object.assign(new Error("wrong version number"), {
    code: "ERR_SSL_WRONG_VERSION_NUMBER",
  });
  t.match(asUpstreamFailure(error), { kind: "unreachable", reason: /base_url .* http:\/\// });
});
