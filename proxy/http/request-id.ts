/** The id of a request: the caller's own if it is valid, otherwise a new one. */
import { randomBytes } from "node:crypto";
import { requestIdCharsMax } from "../../shared/bounds.js";

const validId = new RegExp(`^[A-Za-z0-9._:/+=@-]{1,${requestIdCharsMax}}$`);

/**
 * Ids for one process. New ones are unique among all proxies by 96 random bits per process, and
 * counted within it.
 */
export function createRequestIds(): (given: unknown) => string {
  const prefix = `req_${randomBytes(12).toString("base64url")}`;
  let counted = 0;
  return (given) =>
    typeof given === "string" && validId.test(given)
      ? given
      : prefix + (++counted).toString(36).padStart(6, "0");
}
