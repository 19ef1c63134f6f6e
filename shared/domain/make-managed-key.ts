/**
 * Makes managed keys, in the process that issues them: their plain text from random bytes, and the
 * hash for all other uses. The plain text is never stored.
 */
import { hash, randomBytes } from "node:crypto";
import { managedKeyOf, redactKey } from "./managed-key.js";

/** A new key. `value` is the secret; the daemon receives only the hash and the redacted value. */
export interface NewManagedKey {
  readonly value: string;
  readonly hash: string;
  readonly redacted: string;
}

/** Makes a key of 32 random bytes (`docs/authentication.md`). */
export function makeManagedKey(): NewManagedKey {
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
