/**
 * Managed keys: their form, the fields to issue one, and the parts of a key that may be shown
 * (`docs/authentication.md`). Only issuers and callers know the plain text of a key; all other code
 * uses its hash and id. `make-managed-key.ts` hashes keys.
 */

import { type AdminRole, adminRoles, isAdminRole } from "../access/admin-role.js";
import { type ModelPatterns, parseModelPatterns } from "../access/allowed-models.js";
import { importedKeyCharsMax, keyNameBytesMax, labelBytesMax, labelsPerKeyMax } from "../bounds.js";
import { asObject, bad, type Checked, isCount, isObject, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { parseTimestamp } from "../time.js";
import { parseUserPath } from "./limit-key.js";
import { isPrintable } from "./target-name.js";

export const managedKeyPrefix = "sk-sluice-";
const keyShape = /^sk-sluice-[\w-]{43}$/;
const hashShape = /^[\w-]{43}$/;
const redactedShape = /^sk-sluice-[\w-]{4}…$/;
const shownChars = 4;
const tokenShape = new RegExp(`^[!-~]{1,${importedKeyCharsMax}}$`);
const jwtShape = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const hexHashShape = /^[0-9a-f]{64}$/i;
const redactedImportShape = /^[!-~]{0,6}…$/;
const importShownChars = 6;

/** Whether a token has the form of a managed key, which no other kind of token has. */
export function looksLikeManagedKey(token: string): boolean {
  return keyShape.test(token);
}

/** A key from 32 random bytes in base64url. */
export function managedKeyOf(secret: string): string {
  return managedKeyPrefix + secret;
}

/** Whether a value from outside is the SHA-256 of a key, in base64url. */
export function isKeyHash(value: unknown): value is string {
  return typeof value === "string" && hashShape.test(value);
}

/**
 * Whether a token can be an imported key: one that another gateway issued, of any form but that of
 * a JWT.
 */
export function couldBeImportedKey(token: string): boolean {
  return tokenShape.test(token) && !jwtShape.test(token);
}

/** The SHA-256 of a key in base64url, from one in hex or base64url; null for anything else. */
export function importedHash(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const text = value.replace(/=$/, "");
  if (hexHashShape.test(text)) return Buffer.from(text, "hex").toString("base64url");
  return isKeyHash(text) ? text : null;
}

/** Shown for an imported key of which only the hash is known. */
export const unknownRedacted = "…";

/**
 * The part of a key that may be shown: its first characters, by which its owner recognizes it. 232
 * bits of a key that Sluice has generated remain unknown.
 */
export function redactKey(key: string): string {
  const visibleStart = key.startsWith(managedKeyPrefix)
    ? managedKeyPrefix.length + shownChars
    : importShownChars;
  return `${key.slice(0, visibleStart)}…`;
}

/**
 * A text from outside for the log, with the keys in it redacted: people easily paste a key into the
 * wrong place.
 */
export function redactKeys(text: string): string {
  return text.includes("sk-")
    ? text.replace(/sk-sluice-[\w-]{43}|(?<![\w-])sk-[\w-]{16,}/g, redactKey)
    : text;
}

/** The end of a refusal where managed keys have closed a gateway without a master key. */
export const setMasterKey = "set SLUICE_MASTER_KEY";

/** Whether a value from outside has the form that `redactKey` returns, or is `unknownRedacted`. */
export function isRedactedKey(value: unknown): value is string {
  return typeof value === "string" && (redactedShape.test(value) || isImported(value));
}

/** Whether a redacted key is of a form that Sluice doesn't generate. */
export function isImported(redacted: string): boolean {
  return redactedImportShape.test(redacted);
}

/** The public id of a key, such as `key_7`: its number in the order of issue. */
export function keyId(number: number): string {
  return `key_${number}`;
}

/** The notice for the issuer of an open gateway's first key. */
export const firstKeyNotice =
  "the first key closes this gateway for good: from now on callers without a key get 401, " +
  "and /admin over HTTP needs a master key or a key of administration";

/** Whether a key is the first that was ever issued. */
export function isFirstKey(id: string): boolean {
  return id === keyId(1);
}

/** The number in a key's id; null for any other text. */
export function keyNumber(id: string): number | null {
  const digits = /^key_([1-9]\d{0,15})$/.exec(id)?.[1];
  return digits !== undefined && isCount(Number(digits)) ? Number(digits) : null;
}

/** The status of a key at a given time. */
export const keyStatuses = ["active", "expired", "deactivated"] as const;
export type KeyStatus = (typeof keyStatuses)[number];

/** The fields of a key that its issuer chooses. */
export interface KeyDefinition {
  /** For people; null if it has none. */
  readonly name: string | null;
  /**
   * The only path that the key may use; null if the caller names the path, as with the master key.
   */
  readonly userPath: string | null;
  /** Labels for budgets and reports, without duplicates. */
  readonly labels: readonly string[];
  /** The models that the key may use; null for any. */
  readonly models: ModelPatterns | null;
  /** The key is refused from this time on; null for never. */
  readonly expiresAtMs: number | null;
  /**
   * Null for a key that calls models. Otherwise it opens /admin for its path, or for everything
   * without one, and no model (`docs/roles.md`).
   */
  readonly role: AdminRole | null;
}

/** A key that another gateway issued. */
export interface ImportedKey {
  readonly hash: string;
  readonly redacted: string;
}

/**
 * The imported key that the body of POST /admin/auth-keys names, null if it names none, and the
 * other fields, which `parseKeyIssue` checks.
 */
export function takeImportedKey(
  body: unknown,
): Checked<{ readonly imported: ImportedKey | null; readonly key: unknown }> {
  if (!isObject(body)) return { ok: true, value: { imported: null, key: body } };
  const { hash: hashField = null, redacted_value: redacted = null, ...key } = body;
  if (redacted !== null && !isRedactedKey(redacted))
    return bad(
      "redacted_value must be up to 6 first characters of the key and …",
      "redacted_value",
    );
  if (hashField === null)
    return redacted === null
      ? { ok: true, value: { imported: null, key } }
      : bad("hash is required for redacted_value", "hash");
  const hash = importedHash(hashField);
  // The message doesn't repeat the value, which could be the key.
  if (hash === null) return bad(`hash must be ${hashExpected}`, "hash");
  if (isAdminRole(key["role"]))
    return bad("hash can't be combined with role: Sluice generates keys of administration", "hash");
  return { ok: true, value: { imported: { hash, redacted: redacted ?? unknownRedacted }, key } };
}

export const hashExpected = "the SHA-256 of a key: 64 hex digits, or 43 characters of base64url";

const issueFields = ["name", "user_path", "labels", "models", "expires_at", "role"];

/**
 * The body of POST /admin/auth-keys. `nowMs` is the daemon's clock: an expiry in the past is
 * refused.
 */
export function parseKeyIssue(body: unknown, nowMs: number): Checked<KeyDefinition> {
  const fields = asObject(body, issueFields, { nullable: issueFields });
  if (!fields.ok) return fields;
  const name = parseName(fields.value["name"]);
  if (!name.ok) return name;
  const userPath = parsePath(fields.value["user_path"]);
  if (!userPath.ok) return userPath;
  const labels = parseLabels(fields.value["labels"]);
  if (!labels.ok) return labels;
  const models = parseModels(fields.value["models"]);
  if (!models.ok) return models;
  const expiresAtMs = parseExpiry(fields.value["expires_at"], nowMs);
  if (!expiresAtMs.ok) return expiresAtMs;
  const role = parseRole(fields.value["role"]);
  if (!role.ok) return role;
  const fieldOfOtherKeys =
    models.value !== null ? "models" : labels.value.length > 0 ? "labels" : null;
  if (role.value !== null && fieldOfOtherKeys !== null)
    return bad(
      `${fieldOfOtherKeys} can't be combined with role: a key with a role calls no model`,
      fieldOfOtherKeys,
    );
  return {
    ok: true,
    value: {
      name: name.value,
      userPath: userPath.value,
      labels: labels.value,
      // With an empty list, an older release refuses its requests for models, too.
      models: role.value === null ? models.value : [],
      expiresAtMs: expiresAtMs.value,
      role: role.value,
    },
  };
}

function parseName(raw: unknown): Checked<string | null> {
  if (raw === undefined || raw === null) return { ok: true, value: null };
  const problem = problemOfText(raw, keyNameBytesMax);
  return problem === null
    ? { ok: true, value: (raw as string).trim() }
    : bad(`name ${problem}`, "name");
}

const pathOrNone = "a path such as /team/app, or be left out for a key that is bound to none";

/** An empty path would be the root, which an issuer must not get by leaving a field blank. */
function parsePath(raw: unknown): Checked<string | null> {
  if (raw === undefined || raw === null) return { ok: true, value: null };
  if (typeof raw !== "string" || raw.trim() === "")
    return bad(`user_path must be ${pathOrNone}, not ${show(raw)}`, "user_path");
  return parseUserPath(raw, "user_path");
}

function parseLabels(raw: unknown): Checked<readonly string[]> {
  if (raw === undefined || raw === null) return { ok: true, value: [] };
  if (!Array.isArray(raw) || raw.length > labelsPerKeyMax)
    return bad(
      `labels must be an array of at most ${labelsPerKeyMax} texts, not ${
        Array.isArray(raw) ? `one of ${raw.length}` : show(raw)
      }`,
      "labels",
    );
  const labels = new Set<string>();
  for (const [i, label] of (raw as unknown[]).entries()) {
    const problem = problemOfText(label, labelBytesMax);
    if (problem !== null) return bad(`labels[${i}] ${problem}`, `labels[${i}]`);
    labels.add((label as string).trim());
  }
  return { ok: true, value: [...labels] };
}

/**
 * The models that a key may use; null for any. An empty list is refused: such a key would allow
 * nothing, and is most likely a mistake.
 */
export function parseModels(raw: unknown): Checked<ModelPatterns | null> {
  if (raw === undefined || raw === null) return { ok: true, value: null };
  return Array.isArray(raw) && raw.length === 0
    ? bad("models must name a model, or be left out for a key that may use any", "models")
    : parseModelPatterns(raw, "models");
}

function parseRole(raw: unknown): Checked<AdminRole | null> {
  if (raw === undefined || raw === null) return { ok: true, value: null };
  return isAdminRole(raw)
    ? { ok: true, value: raw }
    : bad(`role must be one of ${adminRoles.join(", ")}, not ${show(raw)}`, "role");
}

function parseExpiry(raw: unknown, nowMs: number): Checked<number | null> {
  if (raw === undefined || raw === null) return { ok: true, value: null };
  const atMs = typeof raw === "string" ? parseTimestamp(raw) : null;
  if (atMs === null)
    return bad(
      `expires_at must be an RFC 3339 timestamp such as 2030-01-31T12:00:00Z, not ${show(raw)}`,
      "expires_at",
    );
  return atMs > nowMs
    ? { ok: true, value: atMs }
    : bad(`expires_at must be in the future, not ${show(raw)}`, "expires_at");
}

/** Null if it is a text of 1 to `bytesMax` bytes without control characters. */
function problemOfText(value: unknown, bytesMax: number): string | null {
  if (typeof value !== "string" || value.trim() === "")
    return `must be a text that isn't blank, not ${show(value)}`;
  if (utf8Bytes(value.trim()) > bytesMax)
    return `must be at most ${bytesMax} bytes, not ${utf8Bytes(value.trim())}`;
  return isPrintable(value.trim())
    ? null
    : `must not hold control characters, as ${show(value)} does`;
}
