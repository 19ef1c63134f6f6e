import t from "tap";
import {
  isModelOperation,
  matchRoute,
  meetsLimits,
  patterns,
} from "../../../proxy/http/match-route.js";

const endpoints: readonly (readonly [
  method: string,
  path: string,
  endpoint: string,
  area: string,
])[] = [
  ["POST", "/v1/chat/completions", "chat_completions", "model"],
  ["POST", "/v1/responses", "responses", "model"],
  ["GET", "/v1/responses", "responses_socket", "model"],
  ["POST", "/mcp/tracker", "mcp", "model"],
  ["GET", "/mcp/tracker", "mcp_session", "model"],
  ["DELETE", "/mcp/tracker", "mcp_session", "model"],
  ["POST", "/v1/messages", "messages", "model"],
  ["POST", "/v1/embeddings", "embeddings", "model"],
  ["POST", "/v1/audio/speech", "speech", "model"],
  ["POST", "/v1/images/generations", "images", "model"],
  ["POST", "/v1/completions", "completions", "model"],
  ["POST", "/v1/responses/compact", "compact", "model"],
  ["POST", "/v1/moderations", "moderations", "model"],
  ["POST", "/v1/rerank", "rerank", "model"],
  ["POST", "/v1/images/edits", "image_edits", "model"],
  ["POST", "/v1/images/variations", "image_variations", "model"],
  ["POST", "/v1/responses/input_tokens", "input_tokens", "model"],
  ["GET", "/v1/messages/batches", "message_batches", "model"],
  ["POST", "/v1/messages/batches", "message_batch_submission", "model"],
  ["GET", "/v1/messages/batches/msgbatch_1", "message_batches", "model"],
  ["DELETE", "/v1/messages/batches/msgbatch_1", "message_batches", "model"],
  ["POST", "/v1/messages/batches/msgbatch_1/cancel", "message_batches", "model"],
  ["GET", "/v1/messages/batches/msgbatch_1/results", "message_batches", "model"],
  ["POST", "/v1/uploads", "uploads", "model"],
  ["POST", "/v1/uploads/upload_1/parts", "uploads", "model"],
  ["POST", "/v1/uploads/upload_1/complete", "uploads", "model"],
  ["POST", "/v1/uploads/upload_1/cancel", "uploads", "model"],
  ["GET", "/v1/containers", "containers", "model"],
  ["POST", "/v1/containers", "containers", "model"],
  ["GET", "/v1/containers/cntr_1", "containers", "model"],
  ["DELETE", "/v1/containers/cntr_1", "containers", "model"],
  ["GET", "/v1/containers/cntr_1/files", "containers", "model"],
  ["POST", "/v1/containers/cntr_1/files", "containers", "model"],
  ["GET", "/v1/containers/cntr_1/files/cfile_1", "containers", "model"],
  ["DELETE", "/v1/containers/cntr_1/files/cfile_1", "containers", "model"],
  ["GET", "/v1/containers/cntr_1/files/cfile_1/content", "containers", "model"],
  ["POST", "/v1/conversations", "conversations", "model"],
  ["GET", "/v1/conversations/conv_1", "conversations", "model"],
  ["POST", "/v1/conversations/conv_1", "conversations", "model"],
  ["DELETE", "/v1/conversations/conv_1", "conversations", "model"],
  ["GET", "/v1/conversations/conv_1/items", "conversations", "model"],
  ["POST", "/v1/conversations/conv_1/items", "conversations", "model"],
  ["GET", "/v1/conversations/conv_1/items/msg_1", "conversations", "model"],
  ["DELETE", "/v1/conversations/conv_1/items/msg_1", "conversations", "model"],
  ["POST", "/v1beta/interactions", "interactions", "model"],
  ["GET", "/v1beta/interactions/v1_abc", "stored_interactions", "model"],
  ["DELETE", "/v1beta/interactions/v1_abc", "stored_interactions", "model"],
  ["POST", "/v1beta/interactions/v1_abc/cancel", "stored_interactions", "model"],
  ["POST", "/v1beta/models:generateContent", "generate_content", "model"],
  ["POST", "/v1beta/models:streamGenerateContent", "stream_generate_content", "model"],
  ["POST", "/v1beta/models:embedContent", "embed_content", "model"],
  ["POST", "/v1beta/models:batchEmbedContents", "batch_embed_contents", "model"],
  ["POST", "/v1beta/models:countTokens", "count_content_tokens", "model"],
  ["GET", "/v1beta/models", "models", "model"],
  ["GET", "/v1beta/models/gemini/x", "model", "model"],
  ["GET", "/v1/models", "models", "model"],
  ["GET", "/v1/realtime", "realtime", "model"],
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(
    (method) => [method, "/p/openai/v1/anything", "passthrough", "model"] as const,
  ),
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(
    (method) => [method, "/p/openai", "passthrough", "model"] as const,
  ),
  ["GET", "/admin/limits", "limits", "admin"],
  ["POST", "/admin/limits", "limits", "admin"],
  ["GET", "/admin/rate-limits", "rate-limits", "admin"],
  ["PUT", "/admin/rate-limits", "rate-limits", "admin"],
  ["DELETE", "/admin/rate-limits", "rate-limits", "admin"],
  ["GET", "/admin/rate-limits/children", "rate-limits-children", "admin"],
  ["POST", "/admin/rate-limits/test", "rate-limits-test", "admin"],
  ["POST", "/admin/rate-limits/raise", "rate-limits-raise", "admin"],
  ["DELETE", "/admin/rate-limits/raise", "rate-limits-raise", "admin"],
  ["POST", "/admin/budgets/raise", "budgets-raise", "admin"],
  ["DELETE", "/admin/budgets/raise", "budgets-raise", "admin"],
  ["POST", "/admin/rate-limits/reset-one", "rate-limits-reset-one", "admin"],
  ["POST", "/admin/rate-limits/reset", "rate-limits-reset", "admin"],
  ["GET", "/admin/auth-keys", "auth-keys", "admin"],
  ["POST", "/admin/auth-keys", "auth-keys", "admin"],
  ["GET", "/admin/denied-jwts", "denied-jwts", "admin"],
  ["PUT", "/admin/denied-jwts", "denied-jwts", "admin"],
  ["DELETE", "/admin/denied-jwts", "denied-jwts", "admin"],
  ["POST", "/admin/auth-keys/key_7/rotate", "auth-keys-rotate", "admin"],
  ["POST", "/admin/auth-keys/key_7/deactivate", "auth-keys-deactivate", "admin"],
  ["DELETE", "/admin/auth-keys/key_7", "auth-keys-delete", "admin"],
  ["POST", "/admin/explain", "explain", "admin"],
  ["GET", "/admin/targets", "targets", "admin"],
  ["GET", "/admin/in-flight", "in-flight", "admin"],
  ["GET", "/admin/queues", "queues", "admin"],
  ["GET", "/admin/refusals", "refusals", "admin"],
  ["GET", "/admin/upstream-limits", "upstream-limits", "admin"],
  ["GET", "/admin/status", "status", "admin"],
  ["GET", "/admin/usage", "usage-summary", "admin"],
  ["GET", "/admin/usage/records", "usage-records", "admin"],
  ["GET", "/admin/usage/export", "usage-export", "admin"],
  ["GET", "/admin/usage/follow", "usage-follow", "admin"],
  ["POST", "/admin/usage/reprice", "usage-reprice", "admin"],
  ["GET", "/admin/budgets/children", "budgets-children", "admin"],
  ["GET", "/admin/providers", "providers", "admin"],
  ["GET", "/admin/config", "config", "admin"],
  ["GET", "/metrics", "metrics", "admin"],
  ["GET", "/metrics/limiter", "metrics-limiter", "admin"],
  ["GET", "/openapi.json", "openapi", "model"],
  ["GET", "/api/hello", "hello", "model"],
  ["HEAD", "/api/hello", "hello", "model"],
  ["GET", "/health", "health", "health"],
  ["HEAD", "/health", "health", "health"],
  ["GET", "/ready", "ready", "health"],
  ["HEAD", "/ready", "ready", "health"],
];

t.test("each endpoint has its method, path and kind of credentials", async (t) => {
  for (const [method, path, endpoint, area] of endpoints)
    t.match(matchRoute(method, path), { kind: "endpoint", endpoint, area }, `${method} ${path}`);
});

t.test("a route is the path, with names in the place of what callers choose", async (t) => {
  const table: readonly (readonly [string, string, string])[] = [
    ["POST", "/v1/chat/completions", "/v1/chat/completions"],
    ["GET", "/v1/models/openai/gpt-x", "/v1/models/{id}"],
    ["GET", "/v1beta/models/gemini-x", "/v1/models/{id}"],
    ["POST", "/p/openai/v1/anything", "/p/{provider}/{path}"],
    ["GET", "/v1/files/file-1/content", "/v1/files/{id}/content"],
    ["POST", "/v1/uploads/u/parts", "/v1/uploads/{id}/parts"],
    ["GET", "/v1/containers/c/files/f", "/v1/containers/{id}/files/{id}"],
    ["POST", "/admin/auth-keys/k/rotate", "/admin/auth-keys/{id}/rotate"],
    ["GET", "/", "/dashboard"],
    ["GET", "/dashboard/main.js", "/dashboard"],
  ];
  for (const [method, path, route] of table) t.match(matchRoute(method, path), { route }, path);
  // Every other path is itself: none of them holds anything that a caller has chosen.
  for (const [pattern, { route }] of patterns) t.match(route, /^\//, String(pattern));
});

t.test("a known path with another method names those that it allows", async (t) => {
  const paths = [...new Set(endpoints.map(([, path]) => path))];
  const found: unknown[] = [];
  const expected: unknown[] = [];
  for (const path of paths) {
    const written = endpoints.filter(([, of]) => of === path).map(([method]) => method);
    const area = endpoints.find(([, of]) => of === path)![3];
    const allowed =
      area === "model" && written.includes("GET") ? [...new Set([...written, "HEAD"])] : written;
    for (const method of [
      "GET",
      "HEAD",
      "POST",
      "PUT",
      "PATCH",
      "DELETE",
      "OPTIONS",
      "CONNECT",
      "get",
      "",
      "constructor",
      "toString",
      "__proto__",
    ]) {
      if (allowed.includes(method)) continue;
      const match = matchRoute(method, path);
      const allow = match.kind === "wrong-method" ? match.allow.split(", ").sort() : null;
      found.push([method, path, match.kind, allow]);
      expected.push([method, path, "wrong-method", [...allowed].sort()]);
    }
  }
  t.ok(found.length > 200, `${found.length} methods of paths`);
  t.same(found, expected);
});

t.test("HEAD is GET without a body, but for administration", async (t) => {
  t.match(matchRoute("HEAD", "/v1/models"), { endpoint: "models" });
  t.match(matchRoute("HEAD", "/v1/files/file-1"), { endpoint: "files" });
  t.match(matchRoute("HEAD", "/v1/chat/completions"), { kind: "wrong-method", allow: "POST" });
  t.match(matchRoute("HEAD", "/admin/rate-limits"), { kind: "wrong-method" });
});

t.test("an unknown path fails in the shape of the API that it belongs to", async (t) => {
  const table: readonly (readonly [path: string, area: string])[] = [
    ["", "model"],
    ["/v1", "model"],
    ["/v1/nope", "model"],
    ["/v1/chat/completions/", "model"],
    ["/v1/chat/completions/x", "model"],
    ["/V1/models", "model"],
    ["//v1/models", "model"],
    ["/health/", "model"],
    ["/healthy", "model"],
    ["/constructor", "model"],
    ["__proto__", "model"],
    ["*", "model"],
    ["/administrator", "model"],
    ["/p", "model"],
    ["/p/", "model"],
    ["/p//x", "model"],
    ["/px/openai", "model"],
    ["/admin", "admin"],
    ["/admin/", "admin"],
    ["/admin/rate-limits/", "admin"],
    ["/admin/rate-limits/reset-all", "admin"],
    ["/admin/nope", "admin"],
  ];
  for (const [path, area] of table)
    for (const method of ["GET", "POST"])
      t.same(matchRoute(method, path), { kind: "unknown", area }, `${method} ${path}`);
});

t.test(
  "what is sent to a model or passed through is limited, lists and files aren't",
  async (t) => {
    const limited = endpoints
      .map(([method, path]) => matchRoute(method, path))
      .flatMap((match) => (match.kind === "endpoint" && meetsLimits(match.endpoint) ? [match] : []))
      .map(({ endpoint }) => endpoint);
    t.same(
      [...new Set(limited)],
      [
        "chat_completions",
        "responses",
        "mcp",
        "messages",
        "embeddings",
        "speech",
        "images",
        "completions",
        "compact",
        "moderations",
        "rerank",
        "image_edits",
        "image_variations",
        "message_batch_submission",
        "interactions",
        "generate_content",
        "stream_generate_content",
        "embed_content",
        "batch_embed_contents",
        "realtime",
        "passthrough",
      ],
    );
    for (const endpoint of ["transcriptions", "translations", "batch_submission"] as const)
      t.ok(meetsLimits(endpoint), endpoint);
    for (const endpoint of ["count_tokens", "files", "batches", "stored_responses"] as const)
      t.notOk(meetsLimits(endpoint), endpoint);
    t.ok(isModelOperation("chat_completions"));
    t.notOk(isModelOperation("passthrough"), "it is limited, but names no operation");
  },
);

t.test("where /admin has a port of its own, each serves its half", async (t) => {
  for (const [method, path, endpoint, area] of endpoints) {
    const isAdmin = area === "admin" || area === "dashboard";
    const isBoth =
      area === "health" || ["usage", "openapi", "metrics", "metrics-limiter"].includes(endpoint);
    const served = (by: "models" | "admin"): boolean =>
      matchRoute(method, path, by).kind === "endpoint";
    t.equal(served("models"), isBoth || !isAdmin, `${method} ${path}`);
    t.equal(served("admin"), isBoth || isAdmin, `${method} ${path}, admin`);
  }
  t.match(matchRoute("GET", "/admin/status", "models"), { kind: "unknown", area: "admin" });
  t.match(matchRoute("GET", "/dashboard/x", "models"), { kind: "unknown", area: "dashboard" });
  t.match(matchRoute("PATCH", "/admin/status", "models"), { kind: "unknown" });
});
