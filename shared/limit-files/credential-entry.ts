/**
 * Managed keys and denied JWTs as entries of a file of limits: the body of POST /admin/auth-keys
 * for an existing key, which is identified by its hash, and the body of PUT /admin/denied-jwts. An
 * expiry may be in the past, because a file stays unchanged. Pure.
 */
import { bad, type Checked, good } from "../checked.js";
import { type JwtDenial, jwtNameKey, parseJwtDenial } from "../domain/jwt-denial.js";
import {
  hashExpected,
  type ImportedKey,
  type KeyDefinition,
  parseKeyIssue,
  takeImportedKey,
} from "../domain/managed-key.js";
import { formatSeconds } from "../time.js";

/** A key that calls models; keys of administration are in no file. */
export type FileKey = Omit<KeyDefinition, "role"> & ImportedKey;

interface KeyEntry {
  readonly hash: string;
  readonly redacted_value: string;
  readonly name?: string;
  readonly user_path?: string;
  readonly labels?: readonly string[];
  readonly models?: readonly string[];
  readonly expires_at?: string;
}

type DenialEntry = { readonly jti: string } | { readonly sub: string };

export const keyEntryFields = [
  "name",
  "user_path",
  "labels",
  "models",
  "expires_at",
  "redacted_value",
  "hash",
] as const;

export const denialEntryFields = ["jti", "sub", "issuer", "expires_at"] as const;

export function parseKeyEntry(entry: unknown): Checked<FileKey> {
  const parsedKey = takeImportedKey(entry);
  if (!parsedKey.ok) return parsedKey;
  const { imported, key } = parsedKey.value;
  if (imported === null) return bad(`hash is required: ${hashExpected}`, "hash");
  const parsed = parseKeyIssue(key, 0);
  if (!parsed.ok) return parsed;
  const { role: _, ...definition } = parsed.value;
  return good({ ...definition, ...imported });
}

export function keyEntry({
  hash,
  redacted,
  name,
  userPath,
  labels,
  models,
  expiresAtMs,
}: FileKey): KeyEntry {
  return {
    ...(name === null ? {} : { name }),
    ...(userPath === null ? {} : { user_path: userPath }),
    ...(labels.length === 0 ? {} : { labels }),
    ...(models === null ? {} : { models }),
    ...expiryField(expiresAtMs),
    redacted_value: redacted,
    hash,
  };
}

export function parseDenialEntry(entry: unknown): Checked<JwtDenial> {
  return parseJwtDenial(entry, 0);
}

export function denialEntry({ claim, value, issuer, expiresAtMs }: JwtDenial): DenialEntry {
  return {
    ...((claim === "jti" ? { jti: value } : { sub: value }) satisfies DenialEntry),
    ...(issuer === null ? {} : { issuer }),
    ...expiryField(expiresAtMs),
  };
}

/** The denial for an item of the list of denied JWTs. */
export function denialOfItem(item: Readonly<Record<string, unknown>>): Checked<JwtDenial> {
  const present = denialEntryFields.flatMap((name) =>
    item[name] === null || item[name] === undefined ? [] : [[name, item[name]] as const],
  );
  return parseDenialEntry(Object.fromEntries(present));
}

/** The order of keys in a file. */
export function compareKeys(a: FileKey, b: FileKey): number {
  return compareTexts(keyOrder(a), keyOrder(b));
}

/** The order of denied JWTs in a file. */
export function compareDenials(a: JwtDenial, b: JwtDenial): number {
  return compareTexts(jwtNameKey(a), jwtNameKey(b));
}

function keyOrder({ userPath, name, hash }: FileKey): string {
  return [userPath ?? "", name ?? "", hash].join("\n");
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function expiryField(expiresAtMs: number | null): { readonly expires_at?: string } {
  return expiresAtMs === null ? {} : { expires_at: formatSeconds(expiresAtMs) };
}
