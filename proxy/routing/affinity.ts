/**
 * Keeps a conversation at one target, whose provider has it in its prompt cache, by rendezvous
 * hashing: each target has a rank for each conversation, and the highest is tried first. So every
 * proxy chooses the same target without a table, and removing a target moves only the target's own
 * conversations.
 */

import { jsonDepthMax } from "../../shared/bounds.js";
import { isObject } from "../../shared/checked.js";
import { targetName } from "../../shared/domain/target-name.js";
import { nestedDeeperThan } from "../body/json-value.js";
import { type NamedValues, scanArray } from "../body/scan-json.js";
import type { WeightedTarget } from "./resolve-model.js";

/**
 * The targets, the conversation's own first; the others follow in order as fallbacks. A target with
 * twice the weight gets twice as many conversations.
 */
export function withOwnFirst(
  ordered: readonly WeightedTarget[],
  conversation: string,
): readonly WeightedTarget[] {
  let bestIndex = 0;
  let best = -Infinity;
  for (const [i, target] of ordered.entries()) {
    const rank = rankOf(target, conversation);
    if (rank > best || (rank === best && targetName(target) < targetName(ordered[bestIndex]!))) {
      best = rank;
      bestIndex = i;
    }
  }
  if (bestIndex === 0) return ordered;
  return [ordered[bestIndex]!, ...ordered.slice(0, bestIndex), ...ordered.slice(bestIndex + 1)];
}

/** The logarithm of a number between 0 and 1 makes the shares proportional to the weights. */
function rankOf(target: WeightedTarget, conversation: string): number {
  const share = (hash(`${conversation}\n${targetName(target)}`) + 0.5) / 2 ** 32;
  return -target.weight / Math.log(share);
}

/**
 * FNV-1a of 32 bits, mixed once more, since FNV-1a gives close values for texts that differ only at
 * the end.
 */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}

type Fields = Readonly<Record<string, unknown>>;

/** How much of the first message is read: enough to distinguish conversations. */
const messageCharsMax = 65_536;

/** How many items are searched for a user's message; a body may have millions. */
const firstMessagesMax = 100;

/**
 * The conversation of a request: the session that it names, else the user, else the first message
 * of the user, which all of its requests repeat. Null if unknown. Only the session is ever stored
 * or sent. Forms contain audio or pictures, which no prompt cache has. `byMessage`: whether user
 * and first message count.
 */
export function conversationOf(
  session: string,
  body: NamedValues,
  byMessage = true,
): string | null {
  if (session !== "") return session;
  if (!byMessage) return null;
  // Parses only the relevant fields of a large body.
  const fields: Record<string, unknown> = {};
  for (const name of naming) {
    const json = body.valuesOf(name).at(-1);
    if (json !== undefined) fields[name] = JSON.parse(json);
  }
  const conversation = conversationIn(fields);
  if (conversation !== null) return conversation;
  for (const name of holdingMessages) {
    const json = body.valuesOf(name).at(-1) ?? "null";
    if (json !== "null") return conversationIn({ messages: upToFirst(json) });
  }
  return null;
}

const naming = ["metadata", "user"];
const holdingMessages = ["messages", "input", "contents"];

/** The first message of a user in a list of messages; any other value as it is. */
function upToFirst(json: string): unknown {
  if (!json.startsWith("[")) return JSON.parse(json);
  for (const { start, end } of scanArray(json, 0, firstMessagesMax)) {
    // An item of a list of token ids is a number; such a list may be long.
    if (json[start] !== "{") continue;
    const item: unknown = JSON.parse(json.slice(start, end));
    if (isUsers(item)) return [item];
  }
  return null;
}

/**
 * The user, or the first message. Null if there is neither, or if that message is nested too
 * deeply.
 */
export function conversationIn({
  metadata,
  user,
  messages,
  input,
  contents,
}: Fields): string | null {
  return (
    (isObject(metadata) ? nonEmpty(metadata["user_id"]) : null) ??
    nonEmpty(user) ??
    firstMessage(messages ?? input ?? contents)
  );
}

function nonEmpty(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function firstMessage(messages: unknown): string | null {
  if (typeof messages === "string") return nonEmpty(messages.slice(0, messageCharsMax));
  if (!Array.isArray(messages)) return null;
  const first: unknown = messages.slice(0, firstMessagesMax).find(isUsers);
  // Gemini's own API has parts instead.
  const content = isObject(first) ? first["content" in first ? "content" : "parts"] : undefined;
  if (content === undefined || nestedDeeperThan(content, jsonDepthMax)) return null;
  return beginningOf(content);
}

const isUsers = (item: unknown): boolean => isObject(item) && item["role"] === "user";

/** The beginning of a content's JSON, without serializing a whole image or the parts after it. */
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
