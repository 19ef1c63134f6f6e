/** The ids of a request: the caller's, if it gave a valid one, and our own. */
import { randomBytes } from "node:crypto";
import { requestIdCharsMax } from "../../shared/bounds.js";

const validId = new RegExp(`^[A-Za-z0-9._:/+=@-]{1,${requestIdCharsMax}}$`);

interface RequestIds {
  /** The caller's, if it is valid; else our own. */
  readonly id: string;
  /** Unique: a mesh may give each request of a session, and each retry, the same id. */
  readonly ownId: string;
}

/**
 * Ids for one process. Our own are unique among all proxies by 96 random bits per process, and
 * counted within it.
 */
export function createRequestIds(): (given: unknown) => RequestIds {
  const prefix = `req_${randomBytes(12).toString("base64url")}`;
  let counted = 0;
  return (given) => {
    const ownId = prefix + (++counted).toString(36).padStart(6, "0");
    return { id: typeof given === "string" && validId.test(given) ? given : ownId, ownId };
  };
}
