/**
 * `revert` in the body of a DELETE (docs/reference/admin-api.md): reverts a manually edited rule or
 * budget to the configuration's.
 */
import { type Checked, good, isObject } from "../../../shared/checked.js";
import { invalid } from "../../../shared/error-code.js";

interface Removal {
  /** The body without its `revert`. */
  readonly body: unknown;
  readonly revert: boolean;
}

export function parseRemoval(body: unknown): Checked<Removal> {
  if (!isObject(body)) return good({ body, revert: false });
  const { revert = false, ...rest } = body;
  if (typeof revert === "boolean") return good({ body: rest, revert });
  return { ok: false, failure: invalid("revert must be true or false", "revert") };
}
