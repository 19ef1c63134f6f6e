/** What the provider of `model-api.ts` answers at each of its paths. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { chatChunks, chatCompletion } from "./recorded-chat.js";
import { message, messageEvents } from "./recorded-messages.js";
import { responseEvents, responseObject } from "./recorded-responses.js";
import type { Scene } from "./scene.js";

export interface ApiCall {
  readonly method: string;
  /** Below the base URL, without the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What it keeps for its callers. */
export interface Kept {
  readonly files: Map<string, { readonly file: object; readonly bytes: Buffer }>;
  readonly batches: Map<string, Json>;
  readonly responses: Map<string, Json>;
}

export type Json = Record<string, unknown>;

export const createKept = (): Kept => ({
  files: new Map(),
  batches: new Map(),
  responses: new Map(),
});

export const openaiKey = "openai-secret";
export const anthropicKey = "anthropic-secret";

/** The bytes of a spoken text: every byte there is. */
export const speech = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 251));
export const vector = [0.5, -0.25, 1.75, 0.0078125];

export const jsonOf = (call: ApiCall): Json => JSON.parse(call.body.toString()) as Json;
export const digestOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

type Answer = (kept: Kept, call: ApiCall, response: ServerResponse) => void | Promise<void>;

const routes: readonly (readonly [method: string, path: RegExp, answer: Answer])[] = [
  ["POST", /^\/chat\/completions$/, answerChat],
  ["POST", /^\/responses$/, answerResponses],
  ["POST", /^\/messages$/, answerMessages],
  [
    "POST",
    /^\/messages\/count_tokens$/,
    (_, call, response) =>
      reply(response, 200, { input_tokens: (jsonOf(call)["messages"] as unknown[]).length * 7 }),
  ],
  ["POST", /^\/embeddings$/, answerEmbeddings],
  [
    "POST",
    /^\/audio\/speech$/,
    (_, __, response) => void response.writeHead(200, { "content-type": "audio/mpeg" }).end(speech),
  ],
  ["POST", /^\/audio\/(transcriptions|translations)$/, answerRecording],
  [
    "POST",
    /^\/images\/generations$/,
    (_, __, response) =>
      reply(response, 200, {
        created: 1761000000,
        data: [{ b64_json: speech.toString("base64") }],
        usage: {
          input_tokens: 5,
          output_tokens: 10,
          total_tokens: 15,
          input_tokens_details: { text_tokens: 5, image_tokens: 0 },
        },
      }),
  ],
  ["POST", /^\/files$/, takeFile],
  [
    "GET",
    /^\/files$/,
    ({ files }, _, response) =>
      reply(response, 200, {
        object: "list",
        data: [...files.values()].map(({ file }) => file),
        has_more: false,
      }),
  ],
  [
    "GET",
    /^\/files\/([^/]+)$/,
    ({ files }, call, response) => replyKept(response, files.get(lastPart(call))?.file),
  ],
  [
    "DELETE",
    /^\/files\/([^/]+)$/,
    ({ files }, call, response) =>
      reply(response, 200, {
        id: lastPart(call),
        object: "file",
        deleted: files.delete(lastPart(call)),
      }),
  ],
  ["GET", /^\/files\/([^/]+)\/content$/, giveFile],
  ["POST", /^\/batches$/, takeBatch],
  [
    "GET",
    /^\/batches$/,
    ({ batches }, _, response) =>
      reply(response, 200, { object: "list", data: [...batches.values()], has_more: false }),
  ],
  [
    "GET",
    /^\/batches\/([^/]+)$/,
    ({ batches }, call, response) => replyKept(response, batches.get(lastPart(call))),
  ],
  [
    "POST",
    /^\/batches\/([^/]+)\/cancel$/,
    ({ batches }, call, response) =>
      replyKept(response, withStatus(batches.get(part(call, 2)), "cancelling")),
  ],
  [
    "GET",
    /^\/responses\/([^/]+)$/,
    ({ responses }, call, response) => replyKept(response, responses.get(lastPart(call))),
  ],
  [
    "DELETE",
    /^\/responses\/([^/]+)$/,
    ({ responses }, call, response) =>
      replyKept(
        response,
        responses.delete(lastPart(call))
          ? { id: lastPart(call), object: "response", deleted: true }
          : undefined,
      ),
  ],
  [
    "POST",
    /^\/responses\/([^/]+)\/cancel$/,
    ({ responses }, call, response) =>
      replyKept(response, withStatus(responses.get(part(call, 2)), "cancelled")),
  ],
  [
    "GET",
    /^\/responses\/([^/]+)\/input_items$/,
    (_, __, response) =>
      reply(response, 200, {
        object: "list",
        data: [
          {
            id: "msg_1",
            type: "message",
            role: "user",
            content: [{ type: "input_text", text: "hi" }],
          },
        ],
        first_id: "msg_1",
        last_id: "msg_1",
        has_more: false,
      }),
  ],
];

/**
 * Asked at the wrong place, with the wrong key, or for nothing: an error in the dialect of the
 * path.
 */
export async function answerCall(
  kept: Kept,
  call: ApiCall,
  response: ServerResponse,
): Promise<void> {
  const speaksMessages = call.path.startsWith("/messages");
  const refusal = speaksMessages
    ? refusalOfMessages(call)
    : call.headers.authorization === `Bearer ${openaiKey}`
      ? null
      : { status: 401, type: "invalid_request_error", message: "Incorrect API key provided" };
  if (refusal !== null) {
    const error = { type: refusal.type, message: refusal.message };
    return reply(
      response,
      refusal.status,
      speaksMessages ? { type: "error", error } : { error: { ...error, code: null, param: null } },
    );
  }
  const found = routes.find(([method, path]) => method === call.method && path.test(call.path));
  if (found === undefined)
    return reply(response, 404, {
      error: {
        type: "invalid_request_error",
        message: `Invalid URL (${call.method} ${call.path})`,
        code: null,
        param: null,
      },
    });
  try {
    await found[2](kept, call, response);
  } catch (error) {
    reply(response, 400, {
      error: { type: "invalid_request_error", message: String(error), code: null, param: null },
    });
  }
}

/** What Anthropic insists on. */
function refusalOfMessages(
  call: ApiCall,
): { readonly status: number; readonly type: string; readonly message: string } | null {
  if (call.headers["x-api-key"] !== anthropicKey)
    return { status: 401, type: "authentication_error", message: "invalid x-api-key" };
  if (call.headers["anthropic-version"] === undefined)
    return {
      status: 400,
      type: "invalid_request_error",
      message: "anthropic-version: header is required",
    };
  const body = jsonOf(call);
  if (call.path === "/messages" && !Number.isInteger(body["max_tokens"]))
    return { status: 400, type: "invalid_request_error", message: "max_tokens: Field required" };
  return null;
}

/** Tools are called once; their results, and a question without tools, get a text. */
function sceneOf(body: Json): Scene {
  const text = JSON.stringify(body["messages"] ?? body["input"]);
  if (/"role":"tool"|"tool_result"|"function_call_output"/.test(text)) return "report";
  if (Array.isArray(body["tools"]) && body["tools"].length > 0) return "tools";
  return (body["thinking"] as Json | undefined)?.["type"] === "enabled" ? "thinking" : "greeting";
}

function answerChat(_: Kept, call: ApiCall, response: ServerResponse): void {
  const body = jsonOf(call);
  const model = String(body["model"]);
  if (body["stream"] !== true) return reply(response, 200, chatCompletion(model, sceneOf(body)));
  const events = chatChunks(
    model,
    sceneOf(body),
    (body["stream_options"] as Json | undefined)?.["include_usage"] === true,
  );
  replyEvents(response, [
    ...events.map((event) => `data: ${JSON.stringify(event)}\n\n`),
    "data: [DONE]\n\n",
  ]);
}

function answerResponses({ responses }: Kept, call: ApiCall, response: ServerResponse): void {
  const body = jsonOf(call);
  const whole = responseObject(String(body["model"]), sceneOf(body));
  if (body["store"] !== false) responses.set(String(whole["id"]), whole);
  if (body["stream"] !== true) return reply(response, 200, whole);
  replyEvents(response, responseEvents(String(body["model"]), sceneOf(body)).map(namedEvent));
}

function answerMessages(_: Kept, call: ApiCall, response: ServerResponse): void {
  const body = jsonOf(call);
  const model = String(body["model"]);
  if (body["stream"] !== true) return reply(response, 200, message(model, sceneOf(body)));
  replyEvents(response, messageEvents(model, sceneOf(body)).map(namedEvent));
}

function answerEmbeddings(_: Kept, call: ApiCall, response: ServerResponse): void {
  const body = jsonOf(call);
  const embedding =
    body["encoding_format"] === "base64"
      ? Buffer.from(Float32Array.from(vector).buffer).toString("base64")
      : vector;
  const inputs = Array.isArray(body["input"]) ? body["input"] : [body["input"]];
  reply(response, 200, {
    object: "list",
    data: inputs.map((_input, index) => ({ object: "embedding", index, embedding })),
    model: body["model"],
    usage: { prompt_tokens: 6, total_tokens: 6 },
  });
}

/** Tells what it heard: how many bytes, and which. */
async function answerRecording(_: Kept, call: ApiCall, response: ServerResponse): Promise<void> {
  const form = await formOf(call);
  const file = form.get("file") as File;
  const text = `${form.get("model")} heard ${file.name}: ${digestOf(new Uint8Array(await file.arrayBuffer()))}`;
  const usage = {
    type: "tokens",
    input_tokens: 14,
    input_token_details: { text_tokens: 0, audio_tokens: 14 },
    output_tokens: 9,
    total_tokens: 23,
  };
  if (form.get("response_format") === "text")
    return void response
      .writeHead(200, { "content-type": "text/plain; charset=utf-8" })
      .end(`${text}\n`);
  if (form.get("stream") !== "true") return reply(response, 200, { text, usage });
  const deltas = text
    .split(" ")
    .map((word) => ({ type: "transcript.text.delta", delta: `${word} ` }));
  replyEvents(
    response,
    [...deltas, { type: "transcript.text.done", text, usage }].map(
      (event) => `data: ${JSON.stringify(event)}\n\n`,
    ),
  );
}

async function takeFile({ files }: Kept, call: ApiCall, response: ServerResponse): Promise<void> {
  const form = await formOf(call);
  const given = form.get("file") as File;
  const bytes = Buffer.from(await given.arrayBuffer());
  const file = {
    id: `file-${files.size + 1}`,
    object: "file",
    bytes: bytes.length,
    created_at: 1761000000,
    filename: given.name,
    purpose: form.get("purpose"),
    status: "processed",
  };
  files.set(file.id, { file, bytes });
  reply(response, 200, file);
}

function giveFile({ files }: Kept, call: ApiCall, response: ServerResponse): void {
  const found = files.get(part(call, 2));
  if (found === undefined) return replyKept(response, undefined);
  response.writeHead(200, { "content-type": "application/octet-stream" }).end(found.bytes);
}

function takeBatch({ batches }: Kept, call: ApiCall, response: ServerResponse): void {
  const batch = {
    id: `batch_${batches.size + 1}`,
    object: "batch",
    ...jsonOf(call),
    status: "validating",
    created_at: 1761000000,
    request_counts: { total: 0, completed: 0, failed: 0 },
  };
  batches.set(batch.id, batch);
  reply(response, 200, batch);
}

/** Node's own reader of forms: what it can't read wasn't one. */
function formOf(call: ApiCall): Promise<FormData> {
  return new Response(new Uint8Array(call.body), {
    headers: { "content-type": call.headers["content-type"] ?? "" },
  }).formData();
}

function withStatus(thing: Json | undefined, status: string): Json | undefined {
  if (thing !== undefined) thing["status"] = status;
  return thing;
}

const part = (call: ApiCall, at: number): string => call.path.split("/")[at] ?? "";
const lastPart = (call: ApiCall): string => part(call, 2);

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
}

function replyKept(response: ServerResponse, thing: unknown): void {
  if (thing === undefined)
    reply(response, 404, {
      error: { type: "invalid_request_error", message: "No such object", code: null, param: "id" },
    });
  else reply(response, 200, thing);
}

/** In writes that end anywhere, in the middle of a character too. */
function replyEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const bytes = Buffer.from(events.join(""));
  for (let at = 0; at < bytes.length; at += 61) response.write(bytes.subarray(at, at + 61));
  response.end();
}

function namedEvent(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
