/**
 * Keep-alive events of each dialect, and errors within a stream. A comment is a block of its own:
 * some clients drop an event that follows a comment in the same block. Streams of Gemini's API have
 * keep-alives only while their request waits.
 */
import { isObject } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";
import type { Place } from "../../limiter/admission.js";

export type StreamDialect = "chat" | "responses" | "messages" | "google";

/** Null: streams of this operation have no keep-alives. */
export function streamDialect(operation: Operation): StreamDialect | null {
  switch (operation) {
    case "chat_completions":
    case "completions":
      return "chat";
    case "responses":
    case "messages":
      return operation;
    case "stream_generate_content":
      return "google";
    default:
      return null;
  }
}

/** The dialect of the streams of a path; null if none is known. */
export function dialectOfPath(path: string): StreamDialect | null {
  if (/\/(?:completions|audio\/[a-z]+|images\/[a-z]+)$/.test(path)) return "chat";
  if (path.endsWith("/responses")) return "responses";
  if (path.endsWith("/messages")) return "messages";
  return path.endsWith(":streamGenerateContent") ? "google" : null;
}

/** Whether an event may begin after these bytes. */
export function endsEvent(bytes: Buffer): boolean {
  return (
    bytes.length === 0 ||
    /(?:\n\n|\r\n\r\n|\r\r)$/.test(bytes.toString("latin1", Math.max(0, bytes.length - 4)))
  );
}

/** The last bytes of a stream: of the bytes before, and of this chunk. */
export function lastBytes(before: Buffer, chunk: Buffer): Buffer {
  return chunk.length < 4 ? Buffer.concat([before.subarray(-4), chunk]) : chunk;
}

/** A comment, as OpenRouter sends it; Anthropic's API has an event of its own. */
const comment = Buffer.from(": keep-alive\n\n");
const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n');

/**
 * A keep-alive for Gemini's API, which has no event for it, and whose SDK for Python reads a
 * comment as an error: an empty text, as the API itself sends it, adds nothing to the answer.
 */
const emptyText = Buffer.from(
  'data: {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0}]}\n\n',
);

export function keepAliveEvent(dialect: StreamDialect): Buffer {
  switch (dialect) {
    case "chat":
    case "responses":
      return comment;
    case "messages":
      return ping;
    case "google":
      return emptyText;
  }
}

/** A keep-alive with the place of a waiting request, if the dialect has comments. */
export function waitingEvent(dialect: StreamDialect, { position, expectedMs }: Place): Buffer {
  if (dialect === "google") return emptyText;
  const about = expectedMs === null ? "" : `, about ${Math.ceil(expectedMs / 1000)} s`;
  const waitComment = Buffer.from(
    `: waiting for room under a limit: number ${position}${about}\n\n`,
  );
  return dialect === "messages" ? Buffer.concat([waitComment, ping]) : waitComment;
}

/**
 * The last events of a stream that stand for an answer with this status. `body`: an error in the
 * dialect's shape; a stream can't express any other answer.
 */
export function errorEvents(dialect: StreamDialect, status: number, body: string): Buffer {
  const providerError = status >= 400 ? errorIn(body) : null;
  const message = "the provider answered without the requested stream";
  const error = providerError ?? { type: "provider_error", message, code: null, param: null };
  switch (dialect) {
    case "chat":
      return event(null, { error });
    case "messages":
      return event("error", {
        type: "error",
        error: providerError ?? { type: "api_error", message },
      });
    case "responses":
      return responsesError(error);
    case "google":
      return event(null, { error: providerError ?? { code: 500, message, status: "INTERNAL" } });
  }
}

/** The API ends a stream with both events: SDKs read the first, Codex the second. */
function responsesError(error: Readonly<Record<string, unknown>>): Buffer {
  const code = error["code"] ?? error["type"];
  const { message, param = null } = error;
  const failed = {
    type: "response.failed",
    sequence_number: 1,
    response: {
      id: "resp_failed",
      object: "response",
      status: "failed",
      output: [],
      error: { code, message },
    },
  };
  return Buffer.concat([
    event("error", { type: "error", sequence_number: 0, code, message, param, error }),
    event("response.failed", failed),
  ]);
}

function event(name: string | null, data: object): Buffer {
  return Buffer.from(`${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
}

/** Null if the body has no error. */
function errorIn(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) && isObject(value["error"]) ? value["error"] : null;
  } catch {
    return null;
  }
}
