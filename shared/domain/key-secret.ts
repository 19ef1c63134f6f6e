/**
 * The plain text of managed keys: generates it from random bytes, and hashes it for all other uses.
 * The plain text is never stored.
 */
import { hash, randomBytes } from "node:crypto";
import { managedKeyOf, redactKey } from "./managed-key.js";

/** A new key. `value` authenticates; the daemon gets only the other two. */
export interface NewKey {
  readonly value: string;
  readonly hash: string;
  readonly redacted: string;
}

/** Makes a key of 32 random bytes (`docs/authentication.md`). */
export function newKey(): NewKey {
  const value = managedKeyOf(randomBytes(32).toString("base64url"));
  return { value, hash: hashKey(value), redacted: redactKey(value) };
}

/**
 * SHA-256 in base64url. No salt and no slow function: 256 random bits can't be guessed, and each
 * request looks its key up by the hash.
 */
export function hashKey(key: string): string {
  return hash("sha256", key, "base64url");
}
