/**
 * Which conversation a request continues, as far as its body says: for targets that are to keep
 * their conversations. Nothing of it is stored or sent on.
 */
import { isObject } from "../../shared/checked.js";

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
 * which all its requests repeat. Null: none of it is there.
 */
export function conversationIn(fields: Fields): string | null {
  const { metadata } = fields;
  return (
    named(fields["prompt_cache_key"]) ??
    (isObject(metadata) ? (named(metadata["session_id"]) ?? named(metadata["user_id"])) : null) ??
    named(fields["user"]) ??
    firstMessage(fields["messages"] ?? fields["input"])
  );
}

function named(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function firstMessage(messages: unknown): string | null {
  if (typeof messages === "string") return named(messages.slice(0, messageCharsMax));
  if (!Array.isArray(messages)) return null;
  const first: unknown = messages.find((item) => isObject(item) && item["role"] === "user");
  if (!isObject(first) || first["content"] === undefined) return null;
  return JSON.stringify(first["content"]).slice(0, messageCharsMax);
}
