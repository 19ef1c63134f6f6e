/**
 * Hashes for comparing secrets and configurations, finding cache entries and opening WebSockets;
 * session tokens.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Config } from "../shared/config/config.js";
import { hashKey } from "../shared/domain/make-managed-key.js";
import { cacheLast } from "../shared/text/remembered.js";

/** Cached: the configured secret is in memory anyway. */
const hashOfSecret = cacheLast((secret: string) => Buffer.from(hashKey(secret)));

/** Whether a hash of `hashKey` is that of a configured secret. Compares in constant time. */
export function isHashOf(hash: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(hash), hashOfSecret(secret));
}

/** The key of a request in the cache. `head` is one line, so it can't run into the body. */
export function digest(head: string, body: Buffer): string {
  return createHash("sha256").update(head).update("\n").update(body).digest("base64url");
}

/** A session's token: 32 random bytes. */
export function newSessionToken(): string {
  return randomBytes(32).toString("base64url");
}

/** A fingerprint of `text` in a session: it can be checked only with the session's token. */
export function sessionMark(token: string, text: string): string {
  return createHmac("sha256", token).update(text).digest("base64url");
}

/** The answer to the key of a WebSocket's handshake (RFC 6455 section 4.2.2). */
export function webSocketAccept(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** Names of fields that are or contain secrets, or may. */
const secretNames = /key|secret|token|password|^headers$|spanHeaders|^url$/i;

/**
 * A hash by which two processes, or two scrapes, recognize the same configuration: twelve
 * hexadecimal digits. Secrets are excluded: a short hash must not help to guess one.
 */
export function configHash(config: Config): string {
  const text = JSON.stringify(config, (name, value: unknown) => {
    // Network addresses.
    if (typeof value === "bigint") return String(value);
    // Numbers here are token caps.
    const mayBeSecret = typeof value === "string" || (typeof value === "object" && value !== null);
    return mayBeSecret && secretNames.test(name) ? "set" : value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
