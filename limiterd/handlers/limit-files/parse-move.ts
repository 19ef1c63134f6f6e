/**
 * Reads the fields of a write beside the rule or budget itself (docs/reference/admin-api.md). In
 * the body of a PUT, `replaces` names the rule or budget that the written one replaces. In the body
 * of a DELETE, `revert` restores the configuration's definition of a manually edited one.
 */
import { type Checked, good, isObject } from "../../../shared/checked.js";
import { type KeyGrammar, type LimitKey, parseKey } from "../../../shared/domain/limit-key.js";
import { invalid } from "../../../shared/error-code.js";

interface Move<S extends string> {
  /** The body without its `replaces`. */
  readonly body: unknown;
  /** Null if the written one replaces no other. */
  readonly replaced: LimitKey<S> | null;
}

/** Separates `replaces` from a body: scope, subject and period, as in the body of a DELETE. */
export function parseMove<S extends string>(
  grammar: KeyGrammar<S>,
  body: unknown,
): Checked<Move<S>> {
  const { replaces, ...rest } = isObject(body) ? body : {};
  if (replaces === undefined) return good({ body: isObject(body) ? rest : body, replaced: null });
  const key = parseKey(grammar, replaces);
  if (key.ok) return good({ body: rest, replaced: key.value });
  const { message, param } = key.failure;
  return {
    ok: false,
    failure: {
      ...key.failure,
      message: `replaces: ${message}`,
      param: param === null || param === "body" ? "replaces" : `replaces.${param}`,
    },
  };
}

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
