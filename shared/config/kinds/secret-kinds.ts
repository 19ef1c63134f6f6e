/** The kinds of values that are secrets: messages never quote them. */
import { textOf } from "./text-kinds.js";
import { never, type ValueKind } from "./value-kind.js";

/**
 * A token that is sent in a header, or null for an empty one. White space around it, as a secret
 * read from a file has it, is dropped.
 */
function token(raw: unknown): string | null | undefined {
  if (typeof raw !== "string") return undefined;
  const trimmed = raw.trim();
  if (trimmed === "") return null;
  return /^[\x21-\x7e]+$/.test(trimmed) ? trimmed : undefined;
}

export const masterKey: ValueKind<string | null> = {
  label: "secret",
  // `none` is refused: it was meant as no key, and would be the first key that an attacker tries.
  expected:
    "must be a text of visible ASCII characters without white space, in quotes if it looks like a number; leave it out (not none) for no key",
  quotable: never,
  parse: (raw) => {
    const value = token(raw);
    return value?.toLowerCase() === "none" ? undefined : value;
  },
};

export const apiKey: ValueKind<string | null> = {
  label: "secret",
  expected:
    "must be a text of visible ASCII characters without white space, in quotes if it looks like a number, or none",
  quotable: never,
  parse: (raw) => {
    const value = token(raw);
    return value?.toLowerCase() === "none" ? null : value;
  },
};

/** RFC 7518 requires a key at least as long as the hash: 32 bytes for the shortest. */
const keySecretCharsMin = 32;

/** A shared secret for signatures: its UTF-8 bytes, without the white space around it. */
export const keySecret: ValueKind<string> = {
  label: "secret",
  expected: `must be a text of at least ${keySecretCharsMin} characters`,
  quotable: never,
  parse: (raw) => {
    const secret = textOf(raw);
    return secret !== undefined && secret.length >= keySecretCharsMin ? secret : undefined;
  },
};
