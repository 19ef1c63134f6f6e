import t from "tap";
import {
  credentialHeaders,
  credentialHeadersAt,
} from "../../../proxy/upstream/credential-headers.js";
import { providerConfig } from "../../support/provider-config.js";

t.test("each type gets its key in its own header; without a key there is no header", async (t) => {
  const table = [
    ["openai", ["authorization", "Bearer k"]],
    ["gemini", ["authorization", "Bearer k"]],
    ["anthropic", ["x-api-key", "k"]],
    ["azure", ["api-key", "k"]],
  ] as const;
  for (const [type, headers] of table) {
    t.same(credentialHeaders(providerConfig({ name: "a", type, apiKey: "k" })), headers);
    t.same(credentialHeaders(providerConfig({ name: "a", type })), []);
  }
});

t.test("Gemini's own API gets the key in a header of its own", async (t) => {
  const gemini = providerConfig({
    name: "gemini",
    type: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    apiKey: "k",
  });
  t.same(credentialHeadersAt(gemini, "/v1beta/models/m:generateContent"), ["x-goog-api-key", "k"]);
  t.same(credentialHeadersAt(gemini, "/v1beta/openai/chat/completions"), [
    "authorization",
    "Bearer k",
  ]);
  t.same(credentialHeadersAt({ ...gemini, apiKey: null }, "/v1beta/models"), []);
  t.same(credentialHeadersAt({ ...gemini, type: "openai" }, "/v1beta/models"), [
    "authorization",
    "Bearer k",
  ]);
});
