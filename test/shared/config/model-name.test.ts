import fc from "fast-check";
import t from "tap";
import {
  type ModelNaming,
  modelName,
  modelSubjects,
  namingOf,
  namingsOf,
  writtenName,
} from "../../../shared/config/model-name.js";
import { type ProviderType, providerTypes } from "../../../shared/config/provider-type.js";

t.test("what a type of provider takes as understood isn't in the name", async (t) => {
  const table = [
    ["gemini", "models/gemini-2.5-flash", "gemini-2.5-flash"],
    ["gemini", " models/models/gemini-2.5-flash ", "gemini-2.5-flash"],
    ["gemini", "tunedModels/mine", "tunedModels/mine"],
    ["gemini", "models/", "models/"],
    ["ollama", "llama3:latest", "llama3"],
    ["ollama", "llama3:LATEST", "llama3"],
    ["ollama", "llama3:8b", "llama3:8b"],
    ["ollama", "library/llama3", "llama3"],
    ["ollama", "https://registry.ollama.ai/library/llama3:latest", "llama3"],
    ["ollama", "registry.ollama.ai/me/own:latest", "me/own"],
    ["ollama", "example.com/library/llama3", "example.com/library/llama3"],
    ["ollama", ":latest", ":latest"],
    ["ollama", "models/ :latest", "models/"],
    ["ollama", "x:latest:latest", "x"],
    ["gemini", "models/ models/x", "x"],
    ["openai", "models/gpt-4o:latest\n", "models/gpt-4o:latest"],
    ["azure", "My-Deployment", "My-Deployment"],
  ] as const;
  for (const [type, written, name] of table) t.equal(writtenName(type, written), name, written);
});

t.test("a name's name is itself, and it is never empty", async () => {
  const parts = ["models/", "library/", "registry.ollama.ai/", "http://", ":latest", " ", "x", "/"];
  fc.assert(
    fc.property(
      fc.constantFrom(...providerTypes),
      fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }),
      (type, written) => {
        const name = writtenName(type, written.join(""));
        return (
          writtenName(type, name) === name && (name !== "") === (written.join("").trim() !== "")
        );
      },
    ),
  );
});

t.test("a subject is a provider's model by its name, or one at all providers", async (t) => {
  const namings = namingsOf([
    { name: "Google", type: "gemini" },
    { name: "openai", type: "openai" },
    { name: "local", type: "ollama" },
  ]);
  const table = [
    ["google/models/Gemini-2.5", ["google/gemini-2.5"]],
    ["openai/models/x", ["openai/models/x"]],
    ["GPT-4o", ["gpt-4o"]],
    ["models/x", ["models/x", "google/x"]],
    ["Llama3:latest", ["llama3:latest", "local/llama3"]],
    ["meta/llama-3", ["meta/llama-3"]],
  ] as const;
  for (const [subject, subjects] of table)
    t.same(modelSubjects(subject, namings), subjects, subject);
});

t.test("a model that is written in another way at a service has one name", async (t) => {
  const at = (name: string, type: ProviderType, baseUrl = "") => namingOf({ name, type, baseUrl });
  const openrouter = at("any", "openai", "https://openrouter.ai/api/v1");
  const bedrock = at("any", "openai", "https://bedrock-mantle.us-east-1.api.aws/v1");
  const vertex = at("v", "openai", "https://eu-aiplatform.googleapis.com/v1/x/endpoints/openapi");
  const [claude, gemini] = [at("c", "anthropic"), at("g", "gemini")];
  const table: readonly (readonly [ModelNaming, string, string])[] = [
    ...["nitro", "floor", "online", "exacto", "NITRO", "online:floor"].map(
      (suffix) => [openrouter, `openai/gpt-4o:${suffix}`, "openai/gpt-4o"] as const,
    ),
    [openrouter, "openai/gpt-4o@preset/mine", "openai/gpt-4o"],
    [openrouter, "@preset/mine", "@preset/mine"],
    ...["free", "batch", "thinking", "extended", "beta"].map(
      (product) => [openrouter, `a/b:${product}`, `a/b:${product}`] as const,
    ),
    [openrouter, "a/b:free:nitro", "a/b:free"],
    [at("openrouter", "openai", "http://relay.internal/v1"), "a/b:nitro", "a/b"],
    [at("other", "openai", "http://relay.internal/v1"), "a/b:nitro", "a/b:nitro"],
    [at("huggingface", "openai", ""), "openai/gpt-oss-120b:groq", "openai/gpt-oss-120b"],
    [bedrock, "us.anthropic.claude-x-v1:0", "anthropic.claude-x-v1:0"],
    [bedrock, "GLOBAL.openai.gpt-oss-120b", "openai.gpt-oss-120b"],
    [bedrock, "openai.gpt-oss-120b", "openai.gpt-oss-120b"],
    [
      bedrock,
      "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-x-v1:0",
      "anthropic.claude-x-v1:0",
    ],
    [vertex, "google/gemini-2.0-flash-001", "google/gemini-2.0-flash"],
    [vertex, "publishers/google/models/gemini-2.5-pro", "google/gemini-2.5-pro"],
    [vertex, "anthropic/claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4-5"],
    [claude, "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    [claude, "claude-3-5-haiku-latest", "claude-3-5-haiku"],
    [claude, "claude-sonnet-4-0", "claude-sonnet-4"],
    [claude, "claude-sonnet-4-20250514", "claude-sonnet-4"],
    [claude, "claude-opus-4-1", "claude-opus-4-1"],
    [gemini, "models/gemini-2.0-flash-001", "gemini-2.0-flash"],
    [gemini, "gemini-1.5-pro-latest", "gemini-1.5-pro"],
    [gemini, "gemini-flash-latest", "gemini-flash-latest"],
    [at("openai", "openai", "https://api.openai.com/v1"), "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"],
  ];
  for (const [naming, written, name] of table) {
    t.equal(modelName(naming, written), name, written);
    t.equal(modelName(naming, name), name);
  }
});
