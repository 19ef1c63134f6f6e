/**
 * The session that an agent names, in a header or in its body. It is used only for records, log
 * lines, affinity and budgets of sessions, since any client may name any session.
 *
 * The headers are those of Claude Code, Codex (with a hyphen; older releases and pi with an
 * underscore), opencode and pi. Claude Code's `metadata.user_id` contains its session, too. Not
 * read: `x-client-request-id`, which most clients change with each request.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { redactKeys } from "../../shared/domain/managed-key.js";
import { isSession } from "../../shared/wire/execution.js";
import type { NamedValues } from "../body/scan-json.js";

const headers = [
  // opencode's sub-agents have sessions of their own, which count as the session that runs them.
  "x-parent-session-id",
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "x-session-id",
  "x-session-affinity",
  "x-opencode-session",
  "thread-id",
  "conversation_id",
];

/** Claude Code's metadata has some 200 bytes. */
const metadataBytesMax = 4096;

/** Empty if the request names none. `body`: null without a body that has fields. */
export function sessionOf(
  exchange: { header(name: string): string | undefined },
  body: NamedValues | null,
): string {
  for (const name of headers) {
    const session = recordableSession(exchange.header(name));
    if (session !== "") return session;
  }
  if (body === null) return "";
  return (
    sessionInMetadata(fieldOf(body, "metadata")) ||
    recordableSession(fieldOf(body, "session_id")) ||
    recordableSession(fieldOf(body, "prompt_cache_key")) ||
    sessionInConversation(fieldOf(body, "conversation"))
  );
}

function fieldOf(body: NamedValues, name: string): unknown {
  const json = body.valuesOf(name).at(-1);
  return json === undefined || json.length > metadataBytesMax ? undefined : parseJson(json);
}

function sessionInMetadata(metadata: unknown): string {
  if (!isObject(metadata)) return "";
  const sessionId =
    recordableSession(metadata["session_id"]) || recordableSession(metadata["sessionId"]);
  const { user_id: user } = metadata;
  if (sessionId !== "" || typeof user !== "string") return sessionId;
  if (user.startsWith("{")) {
    const parsed = parseJson(user);
    return isObject(parsed) ? recordableSession(parsed["session_id"]) : "";
  }
  // The form of earlier releases of Claude Code.
  const position = user.lastIndexOf(sessionMark);
  return position === -1 ? "" : recordableSession(user.slice(position + sessionMark.length));
}

const sessionMark = "_session_";

function sessionInConversation(conversation: unknown): string {
  return recordableSession(isObject(conversation) ? conversation["id"] : conversation);
}

/** A session's name that can be recorded, without keys in it; otherwise empty. */
function recordableSession(value: unknown): string {
  return isSession(value) ? redactKeys(value) : "";
}
