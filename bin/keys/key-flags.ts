/** The flags of `sluice keys issue`, as the request to the daemon. Pure. */

import { importedKeyCharsMax, importedKeyCharsMin } from "../../shared/bounds.js";
import { amountOf } from "../../shared/config/kinds/number-kinds.js";
import { parseAmount } from "../../shared/domain/budget.js";
import { parseKeyRotation } from "../../shared/domain/key-rotation.js";
import { hashKey } from "../../shared/domain/make-managed-key.js";
import {
  couldBeImportedKey,
  hashExpected,
  type ImportedKey,
  importedHash,
  parseKeyIssue,
  redactKey,
  unknownRedacted,
} from "../../shared/domain/managed-key.js";
import type { Failure } from "../../shared/error-code.js";
import { parseTimestamp } from "../../shared/time.js";
import type { ArgumentProblem, ParsedArguments } from "../session/command-failure.js";
import { readDuration } from "../text/duration.js";

export interface KeyIssueFlags {
  readonly path?: string;
  readonly role?: string;
  readonly name?: string;
  readonly label?: readonly string[];
  readonly model?: readonly string[];
  readonly expires?: string;
  readonly hash?: string;
  readonly valueFile?: string;
}

/** An existing key of which only the hash is known; null without `--hash`. */
export function keyOfHash(text: string | undefined): ParsedArguments<ImportedKey | null> {
  if (text === undefined) return { ok: true, value: null };
  const hash = importedHash(text.trim());
  return hash === null
    ? { ok: false, problems: [{ message: `--hash must be ${hashExpected}`, param: "--hash" }] }
    : { ok: true, value: { hash, redacted: unknownRedacted } };
}

/** The existing key in a file. A short key could be guessed. */
export function keyOfValue(text: string): ParsedArguments<ImportedKey> {
  const value = text.trim();
  return value.length >= importedKeyCharsMin && couldBeImportedKey(value)
    ? { ok: true, value: { hash: hashKey(value), redacted: redactKey(value) } }
    : {
        ok: false,
        problems: [
          {
            message:
              `--value-file must hold one key of ${importedKeyCharsMin} to ${importedKeyCharsMax} ` +
              "visible characters that isn't a JWT",
            param: "--value-file",
          },
        ],
      };
}

/** `key` is the body of POST /admin/auth-keys; the daemon's clock counts `expires_in_seconds`. */
interface KeyIssue {
  readonly key: Readonly<Record<string, unknown>>;
  readonly expires_in_seconds: number | null;
}

const durationExpected = "a length of time such as 30d (s, m, h, d or w)";
const expiresExpected = `${durationExpected} or a timestamp such as 2030-01-31T12:00:00Z`;

export interface KeyRotateFlags {
  readonly overlap?: string;
  readonly model?: readonly string[];
}

/** The values, each once, of `--label a b`, `--label a --label b` or `--label a,b`. */
function listOf(values: readonly string[]): readonly string[] {
  return [...new Set(values.flatMap((text) => text.split(",").map((label) => label.trim())))];
}

/** The request, or all problems. The daemon checks whether an expiry is in the future. */
export function keyIssueFromFlags({
  path,
  role,
  name,
  label = [],
  model = [],
  expires,
}: KeyIssueFlags): ParsedArguments<KeyIssue> {
  const problems: ArgumentProblem[] = [];
  const key = {
    ...(name === undefined ? {} : { name }),
    ...(path === undefined ? {} : { user_path: path }),
    ...(role === undefined ? {} : { role }),
    ...(label.length === 0 ? {} : { labels: listOf(label) }),
    ...(model.length === 0 ? {} : { models: listOf(model) }),
  };
  for (const [field, value] of Object.entries(key)) {
    const checked = parseKeyIssue({ [field]: value }, 0);
    if (!checked.ok) problems.push(asFlagProblem(checked.failure));
  }
  if (role !== undefined && model.length > 0)
    problems.push({
      message: "--role can't be combined with --model: a key with a role calls no models",
      param: "--role",
    });
  const expiry = expires === undefined ? {} : readExpiry(expires);
  if (expiry === null) problems.push(expiryProblem(expires));
  if (problems.length > 0 || expiry === null) return { ok: false, problems };
  return {
    ok: true,
    value: {
      key: { ...key, ...(expiry.at === undefined ? {} : { expires_at: expiry.at }) },
      expires_in_seconds: expiry.inSeconds ?? null,
    },
  };
}

/** The body of PUT /admin/budgets for `--monthly`; null without it. */
export function monthlyBudget({
  path,
  monthly,
}: {
  readonly path?: string;
  readonly monthly?: string;
}): ParsedArguments<({ readonly amount: number } & Readonly<Record<string, unknown>>) | null> {
  if (monthly === undefined) return { ok: true, value: null };
  const amount = parseAmount(amountOf(monthly) ?? monthly, "--monthly");
  const problems: ArgumentProblem[] = amount.ok ? [] : [amount.failure];
  if (path === undefined)
    problems.push({ message: "--monthly needs --path: the path has the budget", param: "--path" });
  if (!amount.ok || problems.length > 0) return { ok: false, problems };
  const body = { scope: "user_path", subject: path, budget_key: { period: "monthly" } };
  return { ok: true, value: { ...body, amount: amount.value } };
}

/** `rotation` is the body of POST /admin/auth-keys/{id}/rotate. */
export function keyRotationFromFlags({
  overlap,
  model = [],
}: KeyRotateFlags): ParsedArguments<{ readonly rotation: Readonly<Record<string, unknown>> }> {
  const seconds = overlap === undefined ? undefined : overlapSeconds(overlap);
  const models = model.length === 0 ? {} : { models: listOf(model) };
  const checked = parseKeyRotation(models);
  const problems: ArgumentProblem[] = checked.ok ? [] : [asFlagProblem(checked.failure)];
  if (seconds === null) {
    const message = `--overlap must be ${durationExpected} or 0, not ${JSON.stringify(overlap)}`;
    problems.push({ message, param: "--overlap" });
  }
  if (problems.length > 0) return { ok: false, problems };
  const overlapping = seconds === undefined ? {} : { overlap_seconds: seconds };
  return { ok: true, value: { rotation: { ...overlapping, ...models } } };
}

/** Null if the text is no duration. */
function overlapSeconds(overlap: string): number | null {
  return overlap.trim() === "0" ? 0 : readDuration(overlap);
}

const flagOf: Readonly<Record<string, string>> = {
  name: "--name",
  user_path: "--path",
  role: "--role",
  labels: "--label",
  models: "--model",
  expires_at: "--expires",
  overlap_seconds: "--overlap",
};

/** A problem with a field of the body, as a problem with the flag that gave it. */
export function asFlagProblem({
  message,
  param,
}: Pick<Failure, "message" | "param">): ArgumentProblem {
  const flag = flagOf[(param ?? "").replace(/\[.*/, "")];
  return flag === undefined
    ? { message, param }
    : { message: message.replace(/^\w+/, flag), param: flag };
}

/** What is wrong with a time that `readExpiry` doesn't take. */
export function expiryProblem(text: string | undefined): ArgumentProblem {
  return {
    message: `--expires must be ${expiresExpected}, not ${JSON.stringify(text)}`,
    param: "--expires",
  };
}

/** A moment, or a length of time from now on; null for anything else. */
export function readExpiry(
  text: string,
): { readonly at?: string; readonly inSeconds?: number } | null {
  if (parseTimestamp(text) !== null) return { at: text.trim() };
  const inSeconds = readDuration(text);
  return inSeconds === null ? null : { inSeconds };
}

/**
 * The message about a text that is neither a key nor an id. It doesn't quote what could be a part
 * of a key.
 */
export function notAKey(flag: string, text: string): string {
  const quoted = text.includes("sk-") ? "" : `, not ${JSON.stringify(text.slice(0, 20))}`;
  return `${flag} must be an id such as key_7, or a complete key${quoted}`;
}
