/**
 * The plain text of managed keys: made from random bytes, and turned into the hash that identifies
 * the key everywhere else. It is stored nowhere.
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
 * SHA-256 in base64url. Without a salt and without a slow function: 256 random bits can't be
 * guessed, and each request's key is looked up by it.
 */
export function hashKey(key: string): string {
  return hash("sha256", key, "base64url");
}
