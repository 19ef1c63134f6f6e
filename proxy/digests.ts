/** What the proxy compares and looks up by a hash, and the tokens of sessions. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Compares in constant time, whatever the lengths. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(
    createHash("sha256").update(given).digest(),
    createHash("sha256").update(expected).digest(),
  );
}

/** The key of a request in the cache. `head` is one line, so it can't run into the body. */
export function digest(head: string, body: Buffer): string {
  return createHash("sha256").update(head).update("\n").update(body).digest("base64url");
}

/** A session's token: 32 random bytes. */
export function newSessionToken(): string {
  return randomBytes(32).toString("base64url");
}

/** What `text` leaves with a session: only who has its token can tell which text it was. */
export function sessionMark(token: string, text: string): string {
  return createHmac("sha256", token).update(text).digest("base64url");
}
