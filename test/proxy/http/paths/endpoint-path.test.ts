import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { apiResources, endpointAddress } from "../../../../proxy/http/match-route.js";
import { root } from "../../../tidy/source-tree.js";

const endpointPath = (written: string): string => endpointAddress(written).path;

t.test("a base URL may have /v1 or not, and slashes at its end", async (t) => {
  const chat = "/v1/chat/completions";
  const table: readonly (readonly [written: string, path: string])[] = [
    [chat, chat],
    ["/chat/completions", chat],
    ["/v1/v1/chat/completions", chat],
    ["/v1/v1/v1/chat/completions", chat],
    ["//chat/completions", chat],
    ["//v1/chat/completions", chat],
    ["/v1//chat/completions", chat],
    ["/v1/chat/completions/", chat],
    ["/v1/chat/completions//", chat],
    ["/chat/completions/", chat],
    ["/v1/v1/messages", "/v1/messages"],
    ["/messages/count_tokens", "/v1/messages/count_tokens"],
    ["/models", "/v1/models"],
    ["/v1/models/", "/v1/models"],
    ["/models/groq/openai/gpt", "/v1/models/groq/openai/gpt"],
    ["/realtime", "/v1/realtime"],
    ["/v2/rerank", "/v1/rerank"],
    ["/files/file-1/content", "/v1/files/file-1/content"],
    ["/vector_stores", "/v1/vector_stores"],
    ["/v1/usage/", "/v1/usage"],
  ];
  for (const [written, path] of table) t.equal(endpointPath(written), path, written);
});

t.test("what is no model endpoint's is taken as it is written", async (t) => {
  for (const path of [
    "/",
    "",
    "/v1",
    "/v1/v1",
    "*",
    "/usage",
    "/V1/models",
    "/chat%2Fcompletions",
    "/constructor",
    "/health/",
    "//health",
    "/admin/rate-limits/",
    "//admin/rate-limits",
    "/admin//rate-limits",
    "/p/openai//v1/models",
    "//p/openai/v1/models",
    "/p/openai/chat/completions/",
  ])
    t.equal(endpointPath(path), path, path);
});

t.test("a path of nothing but slashes is read in linear time", async (t) => {
  const long = "/".repeat(15_000);
  t.equal(endpointPath(long), long);
  t.equal(endpointPath(`/v1${"/v1".repeat(5000)}/models`), "/v1/models");
});

t.test("Azure's clients name the model in the path, and a date in the query", async (t) => {
  const table: readonly (readonly [
    url: string,
    path: string,
    query: string,
    model: string | null,
  ])[] = [
    [
      "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
      "/v1/chat/completions",
      "",
      "gpt-4o",
    ],
    ["/openai/deployments/a%2Fb/embeddings?x=1&API-Version=1", "/v1/embeddings", "x=1", "a/b"],
    ["/openai/deployments/openai/gpt-4o/images/edits", "/v1/images/edits", "", "openai/gpt-4o"],
    ["//openai/deployments/x/audio/speech/", "//openai/deployments/x/audio/speech/", "", null],
    ["/openai/deployments/x/audio/speech/", "/v1/audio/speech", "", "x"],
    ["/openai/deployments/%ff/embeddings", "/v1/embeddings", "", "\ufffd"],
    ["/openai/deployments/x/admin", "/openai/deployments/x/admin", "", null],
    ["/openai/deployments/x", "/openai/deployments/x", "", null],
    ["/openai/deployments/x/batches?api-version=1", "/v1/batches", "", "x"],
    ["/openai/deployments/x/responses", "/v1/responses", "", "x"],
    ["/openai/deployments/x/files/file-1", "/v1/files/file-1", "", "x"],
    ["/openai/v1/responses?api-version=preview", "/v1/responses", "", null],
    ["/openai/responses?api-version=2025-04-01-preview", "/v1/responses", "", null],
    ["/openai/files/file-1?api-version=1&limit=2", "/v1/files/file-1", "limit=2", null],
    ["/openai/models", "/v1/models", "", null],
    ["/openai/realtime?api-version=1&deployment=gpt", "/v1/realtime", "model=gpt", null],
    ["/openai/admin/rate-limits", "/openai/admin/rate-limits", "", null],
    ["/openai/p/x/v1", "/openai/p/x/v1", "", null],
    ["/v1/files?api-version=1", "/v1/files", "api-version=1", null],
  ];
  for (const [url, path, query, model] of table)
    t.same(endpointAddress(url), { path, query, model }, url);
});

t.test("Google's clients name the model in the path", async (t) => {
  const table: readonly (readonly [url: string, path: string, model: string | null])[] = [
    ["/v1beta/models/gemini-x:generateContent", "/v1beta/models:generateContent", "gemini-x"],
    ["/v1/models/gemini-x:countTokens", "/v1beta/models:countTokens", "gemini-x"],
    ["/v1alpha/models/a/b:embedContent", "/v1beta/models:embedContent", "a/b"],
    ["//v1beta/models/a%2Fb:streamGenerateContent", "/v1beta/models:streamGenerateContent", "a/b"],
    ["/v1beta/tunedModels/x:generateContent", "/v1beta/models:generateContent", "tunedModels/x"],
    ["/v1beta/models/x:predict", "/v1beta/models/x:predict", null],
    [
      "/v1beta/models/ollama/qwen3:27b:streamGenerateContent",
      "/v1beta/models:streamGenerateContent",
      "ollama/qwen3:27b",
    ],
    ["/v1beta/models/%ff:generateContent", "/v1beta/models:generateContent", "\ufffd"],
    ["/v1beta/models", "/v1beta/models", null],
    ["/v1/models/llama:8b", "/v1/models/llama:8b", null],
  ];
  for (const [url, path, model] of table)
    t.same(endpointAddress(`${url}?alt=sse`), { path, query: "alt=sse", model }, url);
});

t.test("every resource that OpenAI's SDK appends to a base URL is known", async (t) => {
  const folder = join(root, "node_modules/openai/resources");
  const called = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), "utf8").matchAll(/_client\.\w+\((?:path)?[`'"]\/(\w+)/g),
    ])
    .map(([, resource]) => resource!);
  t.ok(called.length > 50);
  t.same(
    [...new Set(called)].filter((resource) => !apiResources.has(resource)),
    [],
  );
});
