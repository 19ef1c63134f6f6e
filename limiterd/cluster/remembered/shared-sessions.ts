/**
 * The dashboard's sessions, as all hosts know them: [the body that opened it, whether by the master
 * key, when], under the hash of its token, for as long as it is used. A host keeps its own beside
 * it, for while the engine is away.
 */
import { parseJson } from "../../../shared/checked.js";
import { isMoment } from "../../../shared/time.js";
import {
  parseAdminOpening,
  parseSessionOpening,
  type SessionOpening,
  sessionIdleMs,
} from "../../../shared/wire/dashboard-session.js";
import type { EngineCommands } from "../engine/engine.js";

type Commands = Pick<EngineCommands, "get" | "set" | "del" | "pexpire">;

interface OpenedSession {
  readonly opening: SessionOpening;
  readonly openedAtMs: number;
}

function keyOf(clusterName: string, hash: string): string {
  return `sluice:${clusterName}:session:{${hash}}`;
}

/** Rejects as the commands, as do all of these. */
export async function tellSession(
  commands: Commands,
  clusterName: string,
  { opening, openedAtMs }: OpenedSession,
): Promise<void> {
  const text = JSON.stringify([opening.credential.kind === "admin", bodyOf(opening), openedAtMs]);
  await commands.set(keyOf(clusterName, opening.hash), text, { expiresMs: sessionIdleMs });
}

/** The session, which is used now; null: it has ended, or was never told. */
export async function askSession(
  commands: Commands,
  clusterName: string,
  hash: string,
): Promise<OpenedSession | null> {
  const key = keyOf(clusterName, hash);
  const text = await commands.get(key);
  const session = text === null ? null : sessionFromText(text);
  if (session?.opening.hash !== hash) return null;
  await commands.pexpire(key, sessionIdleMs);
  return session;
}

export async function endSession(
  commands: Commands,
  clusterName: string,
  hash: string,
): Promise<void> {
  await commands.del(keyOf(clusterName, hash));
}

/** As `shared/wire/dashboard-session.ts` reads it. */
function bodyOf({ hash, credential }: SessionOpening): object {
  switch (credential.kind) {
    case "admin":
      return { session_hash: hash, mark: credential.mark };
    case "key":
      return { session_hash: hash, key_hash: credential.keyHash };
    case "jwt": {
      const { mark, issuer, userPath, names, expiresAtMs } = credential;
      const jwt = { mark, issuer, user_path: userPath, names, expires_at_ms: expiresAtMs };
      return { session_hash: hash, ...jwt };
    }
  }
}

/** Null for what no host wrote. */
function sessionFromText(text: string): OpenedSession | null {
  const value = parseJson(text);
  if (!Array.isArray(value)) return null;
  const [isAdmin, body, openedAtMs] = value as unknown[];
  const opening = isAdmin === true ? parseAdminOpening(body) : parseSessionOpening(body);
  return opening.ok && isMoment(openedAtMs) ? { opening: opening.value, openedAtMs } : null;
}
