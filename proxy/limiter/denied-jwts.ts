/**
 * The denied JWTs as the daemon last sent them: kept while the daemon is away, and updated by the
 * list that follows each welcome.
 */
import { jwtNameKey, namesOfToken } from "../../shared/domain/jwt-denial.js";
import type { JwtChange } from "../../shared/wire/message-from-daemon.js";

interface Known {
  readonly expiresAtMs: number | null;
  /** Of the connection that named it last. */
  readonly connection: number;
}

export class DeniedJwts {
  readonly #byName = new Map<string, Known>();
  #connection = 0;

  /** A list of so many is about to come. */
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

  /** Whether a token with these claims is denied; all but free while none is. */
  has(claims: Readonly<Record<string, unknown>>, nowMs: number): boolean {
    if (this.#byName.size === 0) return false;
    return namesOfToken(claims).some((key) => {
      const known = this.#byName.get(key);
      return known !== undefined && (known.expiresAtMs === null || nowMs < known.expiresAtMs);
    });
  }
}
