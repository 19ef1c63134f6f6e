/**
 * The dashboard's sessions, only in memory: a restart of the daemon ends them all.
 * `handle-sessions.ts` checks the credential that opened a session with each request, so a session
 * ends with its key.
 */
import {
  type SessionCredential,
  type SessionOpening,
  sessionIdleMs,
  sessionMs,
  sessionsMax,
  sessionsPerHolderMax,
} from "../../shared/wire/dashboard-session.js";

export interface Session extends SessionOpening {
  readonly openedAtMs: number;
  readonly expiresAtMs: number;
  seenAtMs: number;
  /** Whether it is shared with other hosts. */
  isShared: boolean;
}

/** Makes a session that begins now. */
export function newSession({ hash, credential }: SessionOpening, nowMs: number): Session {
  const latestMs = nowMs + sessionMs;
  const expiresAtMs =
    credential.kind === "jwt" || credential.kind === "granted"
      ? Math.min(latestMs, credential.expiresAtMs)
      : latestMs;
  return { hash, credential, openedAtMs: nowMs, expiresAtMs, seenAtMs: nowMs, isShared: false };
}

export class SessionTable {
  /** By hash, in the order of last use. */
  readonly #byHash = new Map<string, Session>();
  /** By holder, in the order of opening. */
  readonly #byHolder = new Map<string, Set<Session>>();

  get size(): number {
    return this.#byHash.size;
  }

  get holderCount(): number {
    return this.#byHolder.size;
  }

  /**
   * Adds a session. Beyond the bounds the holder's oldest session ends, or the one idle longest.
   */
  add(session: Session): void {
    const { hash, credential } = session;
    this.close(hash);
    const holder = holderOf(credential);
    const earlier = this.#byHolder.get(holder);
    if (earlier !== undefined && earlier.size >= sessionsPerHolderMax)
      this.close(earlier.values().next().value!.hash);
    if (this.#byHash.size >= sessionsMax) this.#closeLongestIdle();
    this.#byHash.set(hash, session);
    const sessions = this.#byHolder.get(holder);
    if (sessions === undefined) this.#byHolder.set(holder, new Set([session]));
    else sessions.add(session);
  }

  /** The session, even if its time is over. */
  find(hash: string): Session | undefined {
    return this.#byHash.get(hash);
  }

  /** Notes a use and returns the session; null if there is none or its time is over. */
  use(hash: string, nowMs: number): Session | null {
    const session = this.#byHash.get(hash);
    if (session === undefined) return null;
    if (nowMs >= session.expiresAtMs || nowMs - session.seenAtMs >= sessionIdleMs) {
      this.close(hash);
      return null;
    }
    session.seenAtMs = nowMs;
    this.#byHash.delete(hash);
    this.#byHash.set(hash, session);
    return session;
  }

  /** Does nothing if there is no such session. */
  close(hash: string): void {
    const session = this.#byHash.get(hash);
    if (session === undefined) return;
    this.#byHash.delete(hash);
    const holder = holderOf(session.credential);
    const sessions = this.#byHolder.get(holder);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#byHolder.delete(holder);
  }

  /**
   * Closes the session that is idle longest. It isn't one of the master key: those are few, and
   * holders of keys must not sign operators out.
   */
  #closeLongestIdle(): void {
    for (const { hash, credential } of this.#byHash.values())
      if (credential.kind !== "admin") return this.close(hash);
  }
}

function holderOf(credential: SessionCredential): string {
  switch (credential.kind) {
    case "admin":
      return "admin";
    case "granted":
      return `granted ${credential.who}`;
    case "key":
      return `key ${credential.keyHash}`;
    case "jwt":
      return `jwt ${credential.userPath}`;
  }
}
