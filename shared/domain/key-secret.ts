/**
 * Managed keys in plain, as long as anybody needs them so: made from random bytes, and turned into
 * the hash by which all else knows them.
 */
import { hash, randomBytes } from "node:crypto";
import { managedKeyOf, redactKey } from "./managed-key.js";

/** A fresh key. Only `value` opens anything; the daemon is told the other two. */
export interface NewKey {
  readonly value: string;
  readonly hash: string;
  readonly redacted: string;
}

/** Makes a key of 32 random bytes (CONTRACT section 2). It is nowhere kept. */
export function newKey(): NewKey {
  const value = managedKeyOf(randomBytes(32).toString("base64url"));
  return { value, hash: hashKey(value), redacted: redactKey(value) };
}

/**
 * SHA-256 in base64url. No salt and no slow function: 256 random bits can't be guessed, and each
 * request is looked up by it.
 */
export function hashKey(key: string): string {
  return hash("sha256", key, "base64url");
}
