/** How the provider of `model-api.ts` answers at each of its paths. */
import type { ServerResponse } from "node:http";
import {
  type ApiCall,
  anthropicKey,
  digestOf,
  formOf,
  type Json,
  jsonOf,
  namedEvent,
  openaiKey,
  reply,
  replyEvents,
} from "./model-api-call.js";
import { chatChunks, chatCompletion } from "./recorded-chat.js";
import { message, messageEvents } from "./recorded-messages.js";
import { responseEvents, responseObject } from "./recorded-responses.js";
import type { Scene } from "./scene.js";
import { type Route, type StoredObjects, storedObjectRoutes } from "./stored-objects.js";

/** The bytes of a spoken text. All byte values occur. */
export const speech = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 251));
export const vector = [0.5, -0.25, 1.75, 0.0078125];

const routes: readonly Route[] = [
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
  ...storedObjectRoutes,
];

/** A wrong path, a wrong key or an invalid body gets an error in the dialect of the path. */
export async function answerCall(
  stored: StoredObjects,
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
    await found[2](stored, call, response);
  } catch (error) {
    reply(response, 400, {
      error: { type: "invalid_request_error", message: String(error), code: null, param: null },
    });
  }
}

/** What Anthropic requires of a request. */
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

/**
 * The tools of a request are called once; a request with their results, or without tools, gets a
 * text.
 */
function sceneOf(body: Json): Scene {
  const text = JSON.stringify(body["messages"] ?? body["input"]);
  if (/"role":"tool"|"tool_result"|"function_call_output"/.test(text)) return "report";
  if (Array.isArray(body["tools"]) && body["tools"].length > 0) return "tools";
  return (body["thinking"] as Json | undefined)?.["type"] === "enabled" ? "thinking" : "greeting";
}

function answerChat(_: StoredObjects, call: ApiCall, response: ServerResponse): void {
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

function answerResponses(
  { responses }: StoredObjects,
  call: ApiCall,
  response: ServerResponse,
): void {
  const body = jsonOf(call);
  const object = responseObject(String(body["model"]), sceneOf(body));
  if (body["store"] !== false) responses.set(String(object["id"]), object);
  if (body["stream"] !== true) return reply(response, 200, object);
  replyEvents(response, responseEvents(String(body["model"]), sceneOf(body)).map(namedEvent));
}

function answerMessages(_: StoredObjects, call: ApiCall, response: ServerResponse): void {
  const body = jsonOf(call);
  const model = String(body["model"]);
  if (body["stream"] !== true) return reply(response, 200, message(model, sceneOf(body)));
  replyEvents(response, messageEvents(model, sceneOf(body)).map(namedEvent));
}

function answerEmbeddings(_: StoredObjects, call: ApiCall, response: ServerResponse): void {
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

/** The transcript is the name and the digest of the recording. */
async function answerRecording(
  _: StoredObjects,
  call: ApiCall,
  response: ServerResponse,
): Promise<void> {
  const form = await formOf(call);
  const file = form.get("file") as File;
  const text = `${form.get("model")} transcribed ${file.name}: ${digestOf(new Uint8Array(await file.arrayBuffer()))}`;
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
