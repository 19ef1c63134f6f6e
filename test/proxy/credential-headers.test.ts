import t from "tap";
import { credentialHeaders } from "../../proxy/credential-headers.js";
import { providerConfig } from "../support/provider-config.js";

t.test("each type is shown its key in its own header, and nobody is shown one that isn't there", async (t) => {
  const table = [["openai", ["authorization", "Bearer k"]], ["gemini", ["authorization", "Bearer k"]], ["anthropic", ["x-api-key", "k"]], ["azure", ["api-key", "k"]]] as const;
  for (const [type, headers] of table) {
    t.same(credentialHeaders(providerConfig({ name: "a", type, apiKey: "k" })), headers);
    t.same(credentialHeaders(providerConfig({ name: "a", type })), []);
  }
});
