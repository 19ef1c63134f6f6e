import t from "tap";
import {
  credentialHeaders,
  credentialHeadersAt,
  redactHeaders,
  withOwnHeaders,
} from "../../../../proxy/upstream/credentials/provider-keys.js";
import { providerConfig } from "../../../support/provider-config.js";

t.test("each type gets its key in its own header; without a key there is no header", async (t) => {
  const table = [
    ["openai", ["authorization", "Bearer k"]],
    ["gemini", ["authorization", "Bearer k"]],
    ["anthropic", ["x-api-key", "k"]],
    ["azure", ["api-key", "k"]],
  ] as const;
  for (const [type, headers] of table) {
    t.same(credentialHeaders(providerConfig({ name: "a", type }), "k"), headers);
    t.same(credentialHeaders(providerConfig({ name: "a", type }), null), []);
  }
});

t.test("Gemini's own API gets the key in a header of its own", async (t) => {
  const gemini = providerConfig({
    name: "gemini",
    type: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
  });
  const own = "/v1beta/models/m:generateContent";
  const bearer = ["authorization", "Bearer k"];
  t.same(credentialHeadersAt(gemini, "k", own), ["x-goog-api-key", "k"]);
  t.same(credentialHeadersAt(gemini, "k", "/v1beta/openai/chat/completions"), bearer);
  t.same(credentialHeadersAt(gemini, null, "/v1beta/models"), []);
  t.same(credentialHeadersAt({ ...gemini, type: "openai" }, "k", "/v1beta/models"), bearer);
});

t.test(
  "the operator's headers come in place of a caller's, and are taken out of texts",
  async (t) => {
    const given = ["user-agent", "x", "OpenAI-Beta", "y"];
    t.equal(withOwnHeaders(given, []), given);
    t.same(withOwnHeaders(given, ["openai-beta", "z", "a", "b"]), [
      "user-agent",
      "x",
      "openai-beta",
      "z",
      "a",
      "b",
    ]);
    t.equal(
      redactHeaders("a secret-value, and red", ["a", "secret-value", "x", "red"]),
      "a [redacted], and red",
    );
  },
);
