/**
 * The events that a client sends over a WebSocket of the Responses API, and the HTTP request for a
 * `response.create`: its input begins with the conversation of the earlier response that it
 * continues.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent, isObject } from "../../../shared/checked.js";
import { type Failure, invalid } from "../../../shared/error-code.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { prewarms } from "../responses-to-chat/warm-up.js";
import type { JsonObject } from "../shared/translation.js";

export interface CreateEvent {
  readonly kind: "create";
  readonly streamId: string | null;
  readonly body: JsonObject;
  /** Empty if it continues no response. */
  readonly previousId: string;
  /** False for a warm-up, which runs no model. */
  readonly generate: boolean;
}

export type SocketClientEvent =
  | CreateEvent
  | { readonly kind: "steer"; readonly previousId: string; readonly input: unknown }
  /** A report that needs no answer. */
  | { readonly kind: "report" }
  | { readonly kind: "invalid"; readonly streamId: string | null; readonly failure: Failure };

const streamIdCharsMax = 128;

/** Never throws. */
export function readClientEvent(text: string): SocketClientEvent {
  const event = parseBodyExactly(text);
  const refuse = (message: string, param: string | null = null, streamId: string | null = null) =>
    ({ kind: "invalid", streamId, failure: invalid(message, param) }) as const;
  if (!isObject(event)) return refuse("the message must be a JSON object");
  if (nestedDeeperThan(event, jsonDepthMax))
    return refuse(`the message is nested deeper than ${jsonDepthMax} levels`);
  const { type, stream_id, generate, previous_response_id: previous, ...body } = event;
  const previousId = isAbsent(previous) ? "" : previous;
  if (type === "response.steer")
    return {
      kind: "steer",
      previousId: typeof previousId === "string" ? previousId : "",
      input: event["input"],
    };
  if (type === "response.processed") return { kind: "report" };
  const streamId = isAbsent(stream_id) ? null : stream_id;
  if (
    streamId !== null &&
    (typeof streamId !== "string" || streamId === "" || streamId.length > streamIdCharsMax)
  )
    return {
      kind: "invalid",
      streamId: null,
      failure: {
        ...invalid(
          `stream_id must be a string of 1 to ${streamIdCharsMax} characters`,
          "stream_id",
        ),
        code: "invalid_stream_id",
      },
    };
  if (type !== "response.create")
    return refuse("type must be response.create or response.steer", "type", streamId);
  if (!isAbsent(generate) && typeof generate !== "boolean")
    return refuse("generate must be true or false", "generate", streamId);
  if (body["background"] === true)
    return refuse(
      "background must be false: a WebSocket has no background responses",
      "background",
      streamId,
    );
  if (typeof previousId !== "string")
    return refuse("previous_response_id must be a string", "previous_response_id", streamId);
  const { input } = body;
  if (!isAbsent(input) && typeof input !== "string" && !Array.isArray(input))
    return refuse("input must be a string or an array", "input", streamId);
  return {
    kind: "create",
    streamId,
    body,
    previousId,
    generate: generate !== false && !prewarms(body),
  };
}

/** The items of its input as JSON, separated by commas. */
export function inputItems({ body: { input } }: CreateEvent): string {
  if (isAbsent(input)) return "";
  if (typeof input === "string")
    return JSON.stringify({ type: "message", role: "user", content: input });
  return writeExactly(input).slice(1, -1);
}

export function joinItems(earlier: string, later: string): string {
  return earlier === "" || later === "" ? earlier + later : `${earlier},${later}`;
}

const encryptedReasoning = "reasoning.encrypted_content";

/**
 * The body of the request over HTTP. `items`: its whole input. `continues`: the id of a response
 * that the provider stores; empty for none. If nothing is stored, the body asks for encrypted
 * reasoning, which the next request must send back.
 */
export function requestBody({ body }: CreateEvent, items: string, continues: string): Buffer {
  const { input: _, background: __, ...fields } = body;
  const out: Record<string, unknown> = { ...fields, stream: true };
  if (continues !== "") out["previous_response_id"] = continues;
  const { include } = body;
  const included: readonly unknown[] = Array.isArray(include) ? include : [];
  const needsReasoning = body["store"] === false && isObject(body["reasoning"]);
  if (needsReasoning && !included.includes(encryptedReasoning))
    out["include"] = [...included, encryptedReasoning];
  return Buffer.from(`${writeExactly(out).slice(0, -1)},"input":[${items}]}`);
}
