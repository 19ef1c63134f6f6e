/**
 * Which conversation a request continues, as far as its body says: for targets that are to keep
 * their conversations. Nothing of it is stored or sent on.
 */
import { jsonDepthMax } from "../../shared/bounds.js";
import { isObject } from "../../shared/checked.js";
import { nestedDeeperThan } from "../body/json-depth.js";

type Fields = Readonly<Record<string, unknown>>;

/** Of the first message as much as tells conversations apart. */
const messageCharsMax = 65_536;

/** By which agents name their sessions. */
const sessionHeaders = ["x-session-id", "session_id", "session-id"];

/** What a request's headers say, else its body, which is valid JSON. Null: nothing. */
export function conversationOf(
  exchange: { header(name: string): string | undefined },
  body: Buffer,
): string | null {
  for (const name of sessionHeaders) {
    const session = named(exchange.header(name));
    if (session !== null) return session;
  }
  const fields: unknown = JSON.parse(body.toString("latin1"));
  return isObject(fields) ? conversationIn(fields) : null;
}

/**
 * What clients name conversations by, else who the user is, else the first message of the user,
 * which all its requests repeat. Null: none of it is there, or that message is nested too deeply.
 */
export function conversationIn(fields: Fields): string | null {
  const { conversation, metadata } = fields;
  return (
    named(fields["prompt_cache_key"]) ??
    named(isObject(conversation) ? conversation["id"] : conversation) ??
    (isObject(metadata) ? (named(metadata["session_id"]) ?? named(metadata["user_id"])) : null) ??
    named(fields["user"]) ??
    firstMessage(fields["messages"] ?? fields["input"] ?? fields["contents"])
  );
}

function named(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function firstMessage(messages: unknown): string | null {
  if (typeof messages === "string") return named(messages.slice(0, messageCharsMax));
  if (!Array.isArray(messages)) return null;
  const first: unknown = messages.find((item) => isObject(item) && item["role"] === "user");
  // Gemini's own API calls it parts.
  const content = isObject(first) ? first["content" in first ? "content" : "parts"] : undefined;
  if (content === undefined || nestedDeeperThan(content, jsonDepthMax)) return null;
  return beginningOf(content);
}

/** How its JSON begins; an image isn't written whole for it, nor are the parts after it. */
function beginningOf(content: unknown): string {
  const cut = (_: string, value: unknown): unknown =>
    typeof value === "string" ? value.slice(0, messageCharsMax) : value;
  if (!Array.isArray(content)) return JSON.stringify(content, cut).slice(0, messageCharsMax);
  const parts: string[] = [];
  let chars = 0;
  for (const part of content) {
    if (chars >= messageCharsMax) break;
    const json = JSON.stringify(part, cut);
    parts.push(json);
    chars += json.length;
  }
  return `[${parts.join(",")}]`.slice(0, messageCharsMax);
}
