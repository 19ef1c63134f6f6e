import t from "tap";
import { upstreamPath } from "../../proxy/upstream-path.js";
import { providerConfig } from "../support/provider-config.js";

t.test("operations are where OpenAI and Anthropic have them", async (t) => {
  const provider = providerConfig({ name: "a" });
  t.same(
    (["chat_completions", "responses", "messages", "count_tokens", "embeddings", "speech", "transcriptions", "translations", "images", "files", "batches", "realtime"] as const).map((operation) => upstreamPath(provider, operation, "m")),
    ["/chat/completions", "/responses", "/messages", "/messages/count_tokens", "/embeddings", "/audio/speech", "/audio/transcriptions", "/audio/translations", "/images/generations", "/files", "/batches", "/realtime"],
  );
});

t.test("Azure's dated API has the models' operations below the deployment, and names its version", async (t) => {
  const dated = providerConfig({ name: "azure", type: "azure", apiVersion: "2024-10-21" });
  t.equal(upstreamPath(dated, "chat_completions", "my gpt/4"), "/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21");
  t.equal(upstreamPath(dated, "files", ""), "/files?api-version=2024-10-21");
  t.equal(upstreamPath(providerConfig({ name: "azure", type: "azure" }), "chat_completions", "gpt"), "/chat/completions");
});
