/** Requests to every endpoint as bytes, valid and mutated: line, headers, body, framing. */
import type { Random } from "../../sim/random.js";
import { mutateBytes } from "../mutate/mutate-bytes.js";
import { JsonMutator } from "../mutate/mutate-json.js";
import { mutateText, oddText } from "../mutate/odd-values.js";
import { issuedKey, toDaemonSamples } from "../samples/frame-samples.js";
import { requestSamples } from "../samples/request-samples.js";

export const masterKey = "the-master-key";

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly bodies: readonly unknown[];
  readonly headers: readonly string[];
}

const paths = {
  chat_completions: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  count_tokens: "/v1/messages/count_tokens",
  embeddings: "/v1/embeddings",
  speech: "/v1/audio/speech",
  images: "/v1/images/generations",
  completions: "/v1/completions",
  compact: "/v1/responses/compact",
  input_tokens: "/v1/responses/input_tokens",
  moderations: "/v1/moderations",
  rerank: "/v1/rerank",
  generate_content: "/v1beta/models/test/model:generateContent",
  stream_generate_content: "/v1beta/models/test/model:streamGenerateContent",
  embed_content: "/v1beta/models/test/model:embedContent",
  batch_embed_contents: "/v1beta/models/test/model:batchEmbedContents",
  interactions: "/v1beta/interactions",
  count_content_tokens: "/v1beta/models/test/model:countTokens",
} as const;
/** Of the configuration in `http.ts`; of each dialect. */
const models = ["test/model", "claude/model", "chatty/model", "dated/model", "smart"];

const at = (method: string, path: string, ...bodies: readonly unknown[]): Endpoint => ({
  method,
  path,
  bodies,
  headers: [],
});

function adminBodies(op: string): readonly unknown[] {
  return toDaemonSamples.flatMap((message) =>
    message.kind === "admin" && message.op === op ? [message.body] : [],
  );
}

const upgrade = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

const form =
  '--B\r\ncontent-disposition: form-data; name="model"\r\n\r\ntest/model\r\n--B\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nID3\r\n--B--\r\n';
const formType = ["Content-Type: multipart/form-data; boundary=B"];

const modelEndpoints: readonly Endpoint[] = requestSamples.flatMap(({ operation, body }) =>
  models.map((model) => at("POST", paths[operation], { ...body, model })),
);

const otherEndpoints: readonly Endpoint[] = [
  { ...at("POST", "/v1/audio/transcriptions", form), headers: formType },
  { ...at("POST", "/v1/audio/translations", form), headers: formType },
  { ...at("POST", "/v1/files", form), headers: formType },
  at("GET", "/v1/files"),
  at("GET", "/v1/files/file-1/content"),
  at("DELETE", "/v1/files/file-1"),
  at("POST", "/v1/batches", { input_file_id: "file-1", endpoint: "/v1/chat/completions" }),
  at("POST", "/v1/batches/b-1/cancel", {}),
  at("GET", "/v1/responses/resp_1/input_items?limit=2"),
  at("GET", "/v1/models"),
  at("GET", "/v1/models/test/model"),
  at("GET", "/v1/models/%E0%A4%A"),
  at("GET", "/v1/usage?days=3"),
  at("GET", "/v1/usage?start_date=2026-01-01&end_date=2026-02-01"),
  { ...at("GET", "/v1/realtime?model=test/model"), headers: upgrade },
  { ...at("GET", "/p/test/v1/realtime?model=m"), headers: upgrade },
  at("POST", "/p/test/v1/chat/completions", { model: "model", messages: [] }),
  at("POST", "/p/dated/deployments/gpt/chat/completions", { messages: [] }),
  at("PUT", "/p/test/any/%2e%2e/thing?key=1", { a: 1 }),
  at("OPTIONS", "/p/test/x"),
  at("GET", "/admin/rate-limits"),
  at("PUT", "/admin/rate-limits", ...adminBodies("rate-limits.put")),
  at("DELETE", "/admin/rate-limits", ...adminBodies("rate-limits.delete")),
  at("POST", "/admin/rate-limits/raise", ...adminBodies("rate-limits.raise")),
  at("DELETE", "/admin/rate-limits/raise", ...adminBodies("rate-limits.end-raise")),
  at("POST", "/admin/rate-limits/reset-one", ...adminBodies("rate-limits.reset-one")),
  at("POST", "/admin/rate-limits/reset", { confirmation: "reset" }),
  at("GET", "/admin/budgets"),
  at("PUT", "/admin/budgets", ...adminBodies("budgets.put")),
  at("DELETE", "/admin/budgets", ...adminBodies("budgets.delete")),
  at("POST", "/admin/budgets/raise", ...adminBodies("budgets.raise")),
  at("DELETE", "/admin/budgets/raise", ...adminBodies("budgets.end-raise")),
  at("POST", "/admin/budgets/reset-one", ...adminBodies("budgets.reset-one")),
  at("POST", "/admin/budgets/reset", { confirmation: "reset" }),
  at("PUT", "/admin/budgets/settings", ...adminBodies("budgets.put-settings")),
  at("GET", "/admin/auth-keys"),
  at("POST", "/admin/auth-keys", issuedKey),
  at("GET", "/admin/denied-jwts"),
  at("PUT", "/admin/denied-jwts", { jti: "a", issuer: "b", expires_at: "2030-01-31T12:00:00Z" }),
  at("DELETE", "/admin/denied-jwts", { jti: "a", issuer: "b" }),
  at("POST", "/admin/auth-keys/key_1/rotate", { overlap_seconds: 60 }),
  at("POST", "/admin/auth-keys/key_1/deactivate", {}),
  at("POST", "/admin/explain", { user_path: "/team", model: "smart" }, { request_id: "req_1" }),
  at("GET", "/health"),
  at("HEAD", "/ready"),
  at("TRACE", "/nothing"),
];

const all = [...modelEndpoints, ...otherEndpoints];
const mutator = new JsonMutator(
  all.flatMap(({ bodies }) => bodies.filter((body) => typeof body === "object")),
  { levels: 30_000, items: 160_000, chars: 2_000_000 },
);

const oddHeaders: readonly string[] = [
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Content-Length: 5",
  "Content-Length: 99999999999",
  "Expect: 100-continue",
  "Expect: x",
  "Connection: close",
  "Connection: Upgrade",
  "Upgrade: h2c",
  "Content-Encoding: gzip",
  "Content-Type: multipart/form-data; boundary=B",
  "Accept-Encoding: gzip",
  "Cache-Control: no-cache",
  "X-Sluice-Provider: test",
  "X-Sluice-User-Path: /team/x",
  "X-Request-ID: 1",
  "Authorization: Bearer sk-sluice-0",
  "Authorization: Basic eDp5",
  "anthropic-version: 2023-06-01",
  "Origin: null",
];

function bodyOf({ bodies }: Endpoint, random: Random): Buffer {
  if (bodies.length === 0) return Buffer.alloc(0);
  const body = random.pick(bodies);
  if (typeof body === "string")
    return random.chance(0.3) ? mutateBytes(Buffer.from(body), random) : Buffer.from(body);
  const text = random.chance(0.7) ? mutator.text(body, random) : JSON.stringify(body);
  return random.chance(0.1) ? mutateBytes(Buffer.from(text), random) : Buffer.from(text);
}

function chunked(body: Buffer, random: Random): Buffer {
  const middle = random.int(0, body.length);
  const chunks = [body.subarray(0, middle), body.subarray(middle)].filter(
    ({ length }) => length > 0,
  );
  const framed = chunks.map((chunk) =>
    Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]),
  );
  return Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]);
}

/** One request; large bodies are rare. */
export function requestBytes(random: Random): Buffer {
  const endpoint = random.pick(random.chance(0.5) ? modelEndpoints : otherEndpoints);
  const method = random.chance(0.97)
    ? endpoint.method
    : random.pick(["GET", "POST", "PATCH", "HEAD", "CONNECT"]);
  const path = random.chance(0.9) ? endpoint.path : encodeOdd(mutateText(endpoint.path, random));
  const headers = ["Host: 127.0.0.1", ...endpoint.headers];
  if (random.chance(0.9)) headers.push(`Authorization: Bearer ${masterKey}`);
  if (random.chance(0.8)) headers.push("X-Sluice-User-Path: /calm/app");
  for (let more = random.chance(0.3) ? random.int(1, 3) : 0; more > 0; more--)
    headers.push(
      random.chance(0.7) ? random.pick(oddHeaders) : `x-${oddText(random)}: ${oddText(random)}`,
    );
  let body = bodyOf(endpoint, random);
  if (endpoint.bodies.length > 0 && !endpoint.headers.includes(formType[0]!))
    headers.push("Content-Type: application/json");
  if (random.chance(0.15)) {
    headers.push("Transfer-Encoding: chunked");
    body = chunked(body, random);
  } else if (body.length > 0 || random.chance(0.1)) headers.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`, "utf8");
  const bytes = Buffer.concat([head, body]);
  return random.chance(0.15) ? mutateBytes(bytes, random) : bytes;
}

/** Mostly a path that a request line may hold. */
function encodeOdd(path: string): string {
  return path.replace(/[^\x21-\x7e]/g, (odd) => `%${Buffer.from(odd)[0]!.toString(16)}`);
}
