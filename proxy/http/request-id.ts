/** Which id a request has: the caller's own, when it is sane, else a new one. */
import { randomBytes } from "node:crypto";
import { requestIdCharsMax } from "../../shared/bounds.js";

const sane = new RegExp(`^[A-Za-z0-9._:/+=@-]{1,${requestIdCharsMax}}$`);

/**
 * Ids for one process. New ones are unique among all proxies by 96 random bits per process, and
 * counted within it.
 */
export function createRequestIds(): (given: unknown) => string {
  const prefix = `req_${randomBytes(12).toString("base64url")}`;
  let counted = 0;
  return (given) =>
    typeof given === "string" && sane.test(given)
      ? given
      : prefix + (++counted).toString(36).padStart(6, "0");
}
