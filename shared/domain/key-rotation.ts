/** The fields with which a managed key is rotated (`docs/authentication.md`). */
import type { ModelPatterns } from "../access/allowed-models.js";
import { periodSecondsMax, rotationOverlapSeconds } from "../bounds.js";
import { asObject, bad, type Checked, isCount, show } from "../checked.js";
import { parseModels } from "./managed-key.js";

/** A request to rotate a key. */
interface KeyRotation {
  /** How long the earlier secrets keep working; 0 to end them immediately. */
  readonly overlapSeconds: number;
  /** The models that the key may use after the rotation; null for any, undefined to keep them. */
  readonly models: ModelPatterns | null | undefined;
}

/** The body of POST /admin/auth-keys/{id}/rotate. */
export function parseKeyRotation(body: unknown): Checked<KeyRotation> {
  const fields = asObject(body, ["overlap_seconds", "models"], { nullable: ["models"] });
  if (!fields.ok) return fields;
  const { overlap_seconds: overlapSeconds = rotationOverlapSeconds, models: modelsField } =
    fields.value;
  const models = parseModels(modelsField);
  if (!models.ok) return models;
  return isCount(overlapSeconds) && overlapSeconds <= periodSecondsMax
    ? {
        ok: true,
        value: {
          overlapSeconds,
          models: modelsField === undefined ? undefined : models.value,
        },
      }
    : bad(
        `overlap_seconds must be an integer from 0 to ${periodSecondsMax}, not ${show(overlapSeconds)}`,
        "overlap_seconds",
      );
}
