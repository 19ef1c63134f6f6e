/** The fields with which a managed key is rotated (`docs/authentication.md`). */
import type { ModelPatterns } from "../access/allowed-models.js";
import { periodSecondsMax } from "../bounds.js";
import { bad, type Checked, isCount, isObject, shortName, show } from "../checked.js";
import { rotationOverlapSeconds } from "./credential-bounds.js";
import { parseModels } from "./managed-key.js";

/** What a rotation is asked for with. */
interface KeyRotation {
  /** How long the secrets until now go on working; 0: not at all. */
  readonly overlapSeconds: number;
  /** The models that the key may use from now on; null: any; undefined: as before. */
  readonly models: ModelPatterns | null | undefined;
}

const known = ["overlap_seconds", "models"];

/** The body of POST /admin/auth-keys/{id}/rotate. */
export function parseKeyRotation(body: unknown): Checked<KeyRotation> {
  if (!isObject(body)) return bad(`the body must be a JSON object, not ${show(body)}`, "body");
  const unknown = Object.keys(body).find((field) => !known.includes(field));
  if (unknown !== undefined)
    return bad(
      `unknown field ${shortName(unknown)}: expected ${known.join(", ")}`,
      shortName(unknown),
    );
  const models = parseModels(body["models"]);
  if (!models.ok) return models;
  const overlapSeconds = body["overlap_seconds"] ?? rotationOverlapSeconds;
  return isCount(overlapSeconds) && overlapSeconds <= periodSecondsMax
    ? {
        ok: true,
        value: {
          overlapSeconds,
          models: body["models"] === undefined ? undefined : models.value,
        },
      }
    : bad(
        `overlap_seconds must be an integer from 0 to ${periodSecondsMax}, not ${show(overlapSeconds)}`,
        "overlap_seconds",
      );
}
