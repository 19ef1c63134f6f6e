/** Makes and applies the definitions of managed keys and of denied JWTs. */
import { type JwtName, jwtNameKey } from "../../../shared/domain/jwt-denial.js";
import { type Definition, definitionOf } from "../../cluster/definitions/definition.js";
import {
  denialChange,
  denialFromStored,
  denialRemoval,
  type JwtDenials,
  type StoredDenial,
} from "../../keys/jwt-denials.js";
import type { KeyFields, KeyRing } from "../../keys/key-ring.js";
import { keyChange, keyFromStored } from "../../keys/stored-key.js";
import type { Applying } from "./applying.js";

export function keyDefinition(fields: KeyFields): Definition {
  return definitionOf("keys", keyChange(fields));
}

/**
 * Applies a definition. Returns null, or what is wrong with it. A deleted key always leaves a
 * tombstone.
 */
export function applyKey(
  { keys }: { readonly keys: KeyRing },
  { key, value }: Definition,
  { changes }: Applying,
): string | null {
  const fields = value === null ? null : keyFromStored(Number(key), value);
  if (fields === null) return "it is no key";
  changes.push(keyChange(keys.put(fields)));
  return null;
}

export function denialDefinition(denial: StoredDenial): Definition {
  return definitionOf("denials", denialChange(denial));
}

export function denialDeletion(name: JwtName): Definition {
  return { kind: "denials", key: jwtNameKey(name), value: null };
}

/** Applies a definition. Returns null, or what is wrong with it. */
export function applyDenial(
  { denials }: { readonly denials: JwtDenials },
  { key, value }: Definition,
  { changes, denied, allowed }: Applying,
): string | null {
  if (value === null) {
    const existing = denials.get(key);
    if (existing === undefined) return null;
    denials.delete(existing);
    allowed.push(existing);
    changes.push(denialRemoval(existing));
    return null;
  }
  const denial = denialFromStored(value);
  if (denial === null || jwtNameKey(denial) !== key) return "it is no denied JWT";
  denials.put(denial);
  denied.push(denial);
  changes.push(denialChange(denial));
  return null;
}
