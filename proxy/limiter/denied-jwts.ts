/**
 * The denied JWTs as last sent by the daemon: they stay in force while the daemon is away; the list
 * after each welcome updates them.
 */
import { jwtNameKey, namesOfToken } from "../../shared/domain/jwt-denial.js";
import type { JwtChange } from "../../shared/wire/message-from-daemon.js";

interface Known {
  readonly expiresAtMs: number | null;
  /** The last connection that listed it. */
  readonly connection: number;
}

export class DeniedJwts {
  readonly #byName = new Map<string, Known>();
  #connection = 0;

  /** Prepares for the list that follows, with this many entries. */
  welcomed(count: number): void {
    this.#connection++;
    if (count === 0) this.#byName.clear();
  }

  apply({ denied, allowed, complete }: JwtChange): void {
    for (const denial of denied)
      this.#byName.set(jwtNameKey(denial), {
        expiresAtMs: denial.expiresAtMs,
        connection: this.#connection,
      });
    for (const name of allowed) this.#byName.delete(jwtNameKey(name));
    if (!complete) return;
    for (const [key, { connection }] of this.#byName)
      if (connection !== this.#connection) this.#byName.delete(key);
  }

  /** Whether a token with these claims is denied; nearly free if no JWT is denied. */
  has(claims: Readonly<Record<string, unknown>>, nowMs: number): boolean {
    if (this.#byName.size === 0) return false;
    return namesOfToken(claims).some((key) => {
      const known = this.#byName.get(key);
      return known !== undefined && (known.expiresAtMs === null || nowMs < known.expiresAtMs);
    });
  }
}
