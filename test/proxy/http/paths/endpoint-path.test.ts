import t from "tap";
import { endpointPath } from "../../../../proxy/http/paths/endpoint-path.js";

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

t.test("a path of nothing but slashes is read at once", async (t) => {
  const long = "/".repeat(15_000);
  t.equal(endpointPath(long), long);
  t.equal(endpointPath(`/v1${"/v1".repeat(5000)}/models`), "/v1/models");
});
