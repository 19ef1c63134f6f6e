/**
 * The valid JWTs that are refused: in `denials`, [claim, value, issuer, deniedAtMs, expiresAtMs] by
 * name. The daemon announces each to the proxies, which check tokens.
 */
import {
  deniedClaims,
  type JwtDenial,
  type JwtName,
  jwtNameKey,
} from "../../shared/domain/jwt-denial.js";
import { isMoment } from "../../shared/time.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";

export interface StoredDenial extends JwtDenial {
  readonly deniedAtMs: number;
}

export class JwtDenials {
  readonly #byName = new Map<string, StoredDenial>();

  get size(): number {
    return this.#byName.size;
  }

  has(name: JwtName): boolean {
    return this.#byName.has(jwtNameKey(name));
  }

  /** The denial with this text as its name. */
  get(key: string): StoredDenial | undefined {
    return this.#byName.get(key);
  }

  /** Whether a token with this name (`namesOfToken`) is denied now. */
  denies(name: string, nowMs: number): boolean {
    const denial = this.#byName.get(name);
    return denial !== undefined && (denial.expiresAtMs === null || nowMs < denial.expiresAtMs);
  }

  all(): Iterable<StoredDenial> {
    return this.#byName.values();
  }

  /** Adds a denial, or replaces one with the same name. */
  put(denial: StoredDenial): void {
    const key = jwtNameKey(denial);
    this.#byName.delete(key);
    this.#byName.set(key, denial);
  }

  delete(name: JwtName): void {
    this.#byName.delete(jwtNameKey(name));
  }

  /** The expired denials, which it doesn't remove. */
  expired(nowMs: number): readonly StoredDenial[] {
    return [...this.#byName.values()].filter(
      ({ expiresAtMs }) => expiresAtMs !== null && expiresAtMs <= nowMs,
    );
  }
}

export function denialChange(denial: StoredDenial): Change {
  const { claim, value, issuer, deniedAtMs, expiresAtMs } = denial;
  return {
    table: "denials",
    key: jwtNameKey(denial),
    value: [claim, value, issuer, deniedAtMs, expiresAtMs],
  };
}

export function denialRemoval(name: JwtName): Change {
  return { table: "denials", key: jwtNameKey(name), value: undefined };
}

/** Throws `StoreUnreadableError` for an invalid entry, because its tokens would be accepted. */
export function restoreDenials(store: Store): JwtDenials {
  const denials = new JwtDenials();
  for (const { key, value } of store.entries("denials")) {
    const denial = denialFromStored(value) ?? throwMalformed(store, "denials", key);
    denials.put(denial);
  }
  return denials;
}

/** Null for what `denialChange` never wrote. */
export function denialFromStored([
  rawClaim,
  value,
  issuer,
  deniedAtMs,
  expiresAtMs,
]: readonly unknown[]): StoredDenial | null {
  const claim = deniedClaims.find((candidate) => candidate === rawClaim);
  if (claim === undefined || typeof value !== "string") return null;
  if (!(issuer === null || typeof issuer === "string") || !isMoment(deniedAtMs)) return null;
  if (!(expiresAtMs === null || isMoment(expiresAtMs))) return null;
  return { claim, value, issuer, deniedAtMs, expiresAtMs };
}
