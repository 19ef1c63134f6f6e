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

/** All two-digit endings in base 36. */
const endings = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).padStart(2, "0"));

/**
 * Ids for one process. Own ids are unique among all proxies by 96 random bits per process and a
 * counter of six digits in base 36.
 */
export function createRequestIds(): (given: unknown) => RequestIds {
  const prefix = `req_${randomBytes(12).toString("base64url")}`;
  const beginningOf = (block: number): string => prefix + block.toString(36).padStart(4, "0");
  let counted = 0;
  /** All but the last two digits, shared by that many ids. */
  let beginning = beginningOf(0);
  return (given) => {
    const ending = ++counted % endings.length;
    if (ending === 0) beginning = beginningOf(counted / endings.length);
    const ownId = beginning + endings[ending]!;
    return { id: typeof given === "string" && validId.test(given) ? given : ownId, ownId };
  };
}
