/** What the proxy compares and looks up by a hash. */
import { createHash, timingSafeEqual } from "node:crypto";

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
