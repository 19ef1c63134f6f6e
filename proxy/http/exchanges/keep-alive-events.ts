/**
 * Keep-alive events of each dialect, and errors within a stream. Google's streams have no
 * keep-alives: its older clients stop reading at a comment, and its API has no event for this.
 */
import { isObject } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";

export type StreamDialect = "chat" | "responses" | "messages";

/** Null: streams of this operation have no keep-alives. */
export function streamDialect(operation: Operation): StreamDialect | null {
  switch (operation) {
    case "chat_completions":
    case "completions":
      return "chat";
    case "responses":
    case "messages":
      return operation;
    default:
      return null;
  }
}

/** A comment, as OpenRouter sends it; Anthropic's API has an event of its own. */
const comment = Buffer.from(": keep-alive\n\n");
const ping = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n');

export function keepAliveEvent(dialect: StreamDialect): Buffer {
  return dialect === "messages" ? ping : comment;
}

/**
 * The last events of a stream that replace an answer with this status. `body`: an error in the
 * dialect's shape; a stream can't express any other answer.
 */
export function errorEvents(dialect: StreamDialect, status: number, body: string): Buffer {
  const given = status >= 400 ? errorIn(body) : null;
  const message = "the provider answered without the requested stream";
  const error = given ?? { type: "provider_error", message, code: null, param: null };
  switch (dialect) {
    case "chat":
      return event(null, { error });
    case "messages":
      return event("error", {
        type: "error",
        error: given ?? { type: "api_error", message },
      });
    case "responses":
      return responsesError(error);
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
