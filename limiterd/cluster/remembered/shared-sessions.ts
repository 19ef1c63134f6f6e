/**
 * The dashboard's sessions, shared by all hosts: [whether it administers, the body that
 * opened it, when], under the hash of its token, until it is idle for too long. Each host also
 * keeps its own sessions in memory, for when the engine is away.
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

/** All of these functions reject as the commands. */
export async function publishSession(
  commands: Commands,
  clusterName: string,
  { opening, openedAtMs }: OpenedSession,
): Promise<void> {
  const { kind } = opening.credential;
  const isAdmin = kind === "admin" || kind === "granted";
  const text = JSON.stringify([isAdmin, bodyOf(opening), openedAtMs]);
  await commands.set(keyOf(clusterName, opening.hash), text, { expiresMs: sessionIdleMs });
}

/** Returns the session and extends it; null if it has ended or was never shared. */
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

/** The body in the form that `shared/wire/dashboard-session.ts` parses. */
function bodyOf({ hash, credential }: SessionOpening): object {
  switch (credential.kind) {
    case "admin":
      return { session_hash: hash, mark: credential.mark };
    case "granted": {
      const { kind: _, expiresAtMs, ...granted } = credential;
      return { session_hash: hash, ...granted, expires_at_ms: expiresAtMs };
    }
    case "key":
      return { session_hash: hash, key_hash: credential.keyHash };
    case "jwt": {
      const { mark, issuer, userPath, names, expiresAtMs } = credential;
      const jwt = { mark, issuer, user_path: userPath, names, expires_at_ms: expiresAtMs };
      return { session_hash: hash, ...jwt };
    }
  }
}

/** Null for a text that no host wrote. */
function sessionFromText(text: string): OpenedSession | null {
  const value = parseJson(text);
  if (!Array.isArray(value)) return null;
  const [isAdmin, body, openedAtMs] = value as unknown[];
  const opening = isAdmin === true ? parseAdminOpening(body) : parseSessionOpening(body);
  return opening.ok && isMoment(openedAtMs) ? { opening: opening.value, openedAtMs } : null;
}
