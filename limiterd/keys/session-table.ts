/**
 * The sessions of the dashboard, in memory alone: a restart of the daemon ends them all. A session
 * is no more than the credential that opened it: whoever judges that with each request
 * (`handle-sessions.ts`) ends it with its key.
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
  /** Other hosts know of it. */
  isTold: boolean;
}

/** A session that begins now. */
export function newSession({ hash, credential }: SessionOpening, nowMs: number): Session {
  const latestMs = nowMs + sessionMs;
  const expiresAtMs =
    credential.kind === "jwt" ? Math.min(latestMs, credential.expiresAtMs) : latestMs;
  return { hash, credential, openedAtMs: nowMs, expiresAtMs, seenAtMs: nowMs, isTold: false };
}

export class SessionTable {
  /** In the order of their last use. */
  readonly #byHash = new Map<string, Session>();
  /** Whose they are, each holder's in the order of their opening. */
  readonly #ofHolder = new Map<string, Set<Session>>();

  get size(): number {
    return this.#byHash.size;
  }

  /** How many have sessions. */
  get holders(): number {
    return this.#ofHolder.size;
  }

  /** Where there are too many, the holder's oldest ends, or the one that was idle longest. */
  add(session: Session): void {
    const { hash, credential } = session;
    this.close(hash);
    const holder = holderOf(credential);
    const others = this.#ofHolder.get(holder);
    if (others !== undefined && others.size >= sessionsPerHolderMax)
      this.close(others.values().next().value!.hash);
    if (this.#byHash.size >= sessionsMax) this.#endIdlest();
    this.#byHash.set(hash, session);
    const held = this.#ofHolder.get(holder);
    if (held === undefined) this.#ofHolder.set(holder, new Set([session]));
    else held.add(session);
  }

  /** Whether it has ended or not. */
  find(hash: string): Session | undefined {
    return this.#byHash.get(hash);
  }

  /** The session, which is used now; null: there is none, or its time is over. */
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

  /** Closing one that isn't there is no error. */
  close(hash: string): void {
    const session = this.#byHash.get(hash);
    if (session === undefined) return;
    this.#byHash.delete(hash);
    const holder = holderOf(session.credential);
    const held = this.#ofHolder.get(holder);
    held?.delete(session);
    if (held?.size === 0) this.#ofHolder.delete(holder);
  }

  /**
   * None of the master key's, which are never all that there are: holders of keys don't sign
   * operators out.
   */
  #endIdlest(): void {
    for (const { hash, credential } of this.#byHash.values())
      if (credential.kind !== "admin") return this.close(hash);
  }
}

function holderOf(credential: SessionCredential): string {
  switch (credential.kind) {
    case "admin":
      return "admin";
    case "key":
      return `key ${credential.keyHash}`;
    case "jwt":
      return `jwt ${credential.userPath}`;
  }
}
