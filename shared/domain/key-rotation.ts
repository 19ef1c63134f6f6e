/** The fields with which a managed key is rotated (`docs/authentication.md`). */
import { periodSecondsMax } from "../bounds.js";
import { bad, type Checked, isCount, isObject, shortName, show } from "../checked.js";
import { rotationOverlapSeconds } from "./credential-bounds.js";

/** What a rotation is asked for with. */
interface KeyRotation {
  /** How long the secrets until now go on working; 0: not at all. */
  readonly overlapSeconds: number;
}

/** The body of POST /admin/auth-keys/{id}/rotate. */
export function parseKeyRotation(body: unknown): Checked<KeyRotation> {
  if (!isObject(body)) return bad(`the body must be a JSON object, not ${show(body)}`, "body");
  const unknown = Object.keys(body).find((field) => field !== "overlap_seconds");
  if (unknown !== undefined)
    return bad(`unknown field ${shortName(unknown)}: expected overlap_seconds`, shortName(unknown));
  const overlapSeconds = body["overlap_seconds"] ?? rotationOverlapSeconds;
  return isCount(overlapSeconds) && overlapSeconds <= periodSecondsMax
    ? { ok: true, value: { overlapSeconds } }
    : bad(
        `overlap_seconds must be an integer from 0 to ${periodSecondsMax}, not ${show(overlapSeconds)}`,
        "overlap_seconds",
      );
}
