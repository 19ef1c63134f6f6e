/**
 * Sets a maximum of output within the grant of hard caps, for a request whose answer can't be cut
 * while it is sent: in the field of its dialect, no higher than the maximum that it has.
 */

import { isObject, parseJson } from "../../shared/checked.js";
import type { MaxTokensField } from "../../shared/config/host-traits.js";
import type { Operation } from "../../shared/operation.js";
import { applySplices } from "../body/edit-model-body.js";
import { type JsonMember, lastMember, scanObject } from "../body/scan-json.js";

interface Granted {
  /** The tokens granted to all answers of the request together; at least 1. */
  readonly tokens: number;
  /** The number of requested answers. */
  readonly choices: number;
  /** The field of chat completions, for a request without any. */
  readonly chatField: MaxTokensField;
}

/** OpenAI refuses less. */
const responsesMin = 16;
/** Anthropic refuses less. */
const thinkingBudgetMin = 1024;

/** `body` is a JSON object in the provider's dialect, as `operation` says. */
export function withOutputMaximum(operation: Operation, body: Buffer, granted: Granted): Buffer {
  const max = Math.max(1, Math.floor(granted.tokens / granted.choices));
  switch (operation) {
    case "chat_completions":
      return lowerFields(body, ["max_completion_tokens", "max_tokens"], granted.chatField, max);
    case "completions":
      return lowerFields(body, ["max_tokens"], "max_tokens", max);
    case "responses":
      return lowerFields(
        body,
        ["max_output_tokens"],
        "max_output_tokens",
        Math.max(responsesMin, max),
      );
    case "messages":
      return withinThinking(lowerFields(body, ["max_tokens"], "max_tokens", max), max);
    case "generate_content":
    case "stream_generate_content":
      return inConfig(body, ["generationConfig", "generation_config"], (config) =>
        lowerFields(config, ["maxOutputTokens", "max_output_tokens"], "maxOutputTokens", max),
      );
    case "interactions":
      return inConfig(body, ["generation_config", "generationConfig"], (config) =>
        lowerFields(config, ["max_output_tokens", "maxOutputTokens"], "max_output_tokens", max),
      );
    default:
      return body;
  }
}

/** Lowers the fields that are above `max`; without any such field, adds the field `added`. */
function lowerFields(body: Buffer, fields: readonly string[], added: string, max: number): Buffer {
  const text = body.toString("latin1");
  const members = scanObject(text);
  const maximums = fields
    .map((field) => lastMember(members, field))
    .filter((member) => member !== null)
    .filter((member) => typeof readMember(text, member) === "number");
  if (maximums.length === 0) return withMember(body, members, added, String(max));
  const high = maximums.filter((member) => (readMember(text, member) as number) > max);
  const splices = high.map(({ start, end }) => ({ start, end, text: String(max) }));
  return applySplices(
    body,
    splices.sort((a, b) => a.start - b.start),
  );
}

function readMember(text: string, { start, end }: JsonMember): unknown {
  return parseJson(text.slice(start, end));
}

function withMember(
  body: Buffer,
  members: readonly JsonMember[],
  key: string,
  json: string,
): Buffer {
  const member = lastMember(members, key);
  if (member !== null)
    return applySplices(body, [{ start: member.start, end: member.end, text: json }]);
  const last = members.at(-1);
  const position = last === undefined ? body.indexOf("{") + 1 : last.end;
  const comma = last === undefined ? "" : ",";
  return applySplices(body, [{ start: position, end: position, text: `${comma}"${key}":${json}` }]);
}

/**
 * Keeps Anthropic's thinking budget below the maximum; without room for a budget, turns thinking
 * off.
 */
function withinThinking(body: Buffer, max: number): Buffer {
  const text = body.toString("latin1");
  const members = scanObject(text);
  const member = lastMember(members, "thinking");
  const thinking = member === null ? null : readMember(text, member);
  const budget = isObject(thinking) ? thinking["budget_tokens"] : null;
  if (typeof budget !== "number" || budget < max) return body;
  const fitting =
    max > thinkingBudgetMin
      ? { ...(thinking as object), budget_tokens: max - 1 }
      : { type: "disabled" };
  return withMember(body, members, "thinking", JSON.stringify(fitting));
}

function inConfig(
  body: Buffer,
  names: readonly string[],
  change: (config: Buffer) => Buffer,
): Buffer {
  const text = body.toString("latin1");
  const members = scanObject(text);
  const member = names
    .map((name) => lastMember(members, name))
    .find((candidate) => candidate !== null && isObject(readMember(text, candidate)));
  const config = member == null ? Buffer.from("{}") : body.subarray(member.start, member.end);
  const changed = change(config).toString("latin1");
  if (member == null) return withMember(body, members, names[0]!, changed);
  const latin1 = text.slice(0, member.start) + changed + text.slice(member.end);
  return Buffer.from(latin1, "latin1");
}
