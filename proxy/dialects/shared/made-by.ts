/**
 * Marks encrypted reasoning and signatures with the account that made them, if the targets of a
 * virtual model belong to several accounts: no other account can read them, and providers refuse
 * what they can't read. Clients return them unchanged; the mark is removed before the provider gets
 * them.
 *
 * Not here: the upstream that adds the marks to answers, and how reasoning of other accounts is
 * handled (`own-reasoning.ts`).
 */
import type { Operation } from "../../../shared/operation.js";

const mark = "made_by:";
/** The beginning of the mark in base64; six bytes are eight characters. */
const markInBase64 = Buffer.from(mark.slice(0, 6)).toString("base64");

/**
 * The text for a model of another account, which can't read the encrypted summary of the
 * conversation.
 */
export const compactedElsewhere =
  "An earlier part of this conversation was compacted by another provider, and can't be read here.";

export function isCompaction({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === "compaction" || type === "compaction_summary";
}

function markOf(account: string): string {
  return `${mark}${encodeURIComponent(account)}:`;
}

/** Padded to whole groups of base64, so that it can precede a signature in base64. */
function signatureMarkOf(account: string): string {
  const text = markOf(account);
  const padded = text.padEnd(Math.ceil(text.length / 3) * 3, ":");
  return Buffer.from(padded).toString("base64");
}

/**
 * The ends of the marks. They are searched first, since a text that begins with a rare letter is
 * found in a tenth of the time.
 */
const sign = Buffer.from(mark.slice(4));
const signInBase64 = Buffer.from(markInBase64.slice(4));

/** Whether a request may have a mark. */
export function isMarked(body: Buffer): boolean {
  return (
    (body.indexOf(sign) !== -1 || body.indexOf(signInBase64) !== -1) &&
    (body.includes(mark) || body.includes(markInBase64))
  );
}

/** Null if another account made it. A stream may have marked a secret in several pieces. */
export function ownSecret(text: string, account: string): string | null {
  if (!text.startsWith(mark)) return text;
  const accountMark = markOf(account);
  return text.startsWith(accountMark) ? text.replaceAll(accountMark, "") : null;
}

/** As `ownSecret`, for a signature in base64. */
export function ownSignature(text: string, account: string): string | null {
  if (!text.startsWith(markInBase64)) return text;
  const accountMark = signatureMarkOf(account);
  return text.startsWith(accountMark) ? text.slice(accountMark.length) : null;
}

/** The account that made the last marked reasoning of a request; null if none is marked. */
export function makerOf(body: Buffer): string | null {
  const plain = body.lastIndexOf(mark);
  if (plain !== -1) return makerIn(body.toString("latin1", plain, plain + makerCharsMax));
  const coded = body.lastIndexOf(markInBase64);
  if (coded === -1) return null;
  const text = body.toString("latin1", coded, coded + makerCharsMax);
  return makerIn(Buffer.from(text, "base64").toString("latin1"));
}

/** The longest mark that is read; a multiple of four. */
const makerCharsMax = 1024;

function makerIn(text: string): string | null {
  const end = text.indexOf(":", mark.length);
  if (!text.startsWith(mark) || end === -1) return null;
  try {
    return decodeURIComponent(text.slice(mark.length, end));
  } catch {
    // A client wrote it.
    return null;
  }
}

/** How the secrets in the JSON of an answer are marked. */
export interface Marking {
  /** JSON without these texts contains no secret. */
  readonly keys: readonly string[];
  /**
   * Matches the text before a secret. Quotes within texts are escaped, so a match is never inside
   * one.
   */
  readonly pattern: RegExp;
  readonly mark: string;
}

/** Null if answers of the operation have no secrets. */
export function markingOf(operation: Operation, account: string): Marking | null {
  switch (operation) {
    case "responses":
    case "compact":
      return {
        keys: ['"encrypted_content"'],
        pattern: /"encrypted_content"\s*:\s*"(?!")/g,
        mark: markOf(account),
      };
    case "messages":
      return {
        keys: ['"signature"', '"redacted_thinking"'],
        // The arguments of a call may have a field `signature`.
        pattern:
          /(?:"signature_delta"\s*,\s*"signature"|"thinking"\s*:\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*,\s*"signature"|"redacted_thinking"\s*,\s*"data")\s*:\s*"(?!")/g,
        mark: markOf(account),
      };
    case "generate_content":
    case "stream_generate_content":
      return {
        keys: ['"thoughtSignature"', '"thought_signature"'],
        pattern: /"thought(?:S|_s)ignature"\s*:\s*"(?!")/g,
        mark: signatureMarkOf(account),
      };
    case "chat_completions":
      return {
        keys: ['"thought_signature"', '"reasoning.encrypted"', '"signature"'],
        // Google's field of a call, and OpenRouter's `reasoning_details`.
        pattern:
          /(?:"thought_signature"|"reasoning\.(?:encrypted|text)"(?:\s*,\s*"\w+"\s*:\s*(?:"[^"\\]*(?:\\.[^"\\]*)*"|null|\d+))*?\s*,\s*"(?:data|signature)")\s*:\s*"(?!")/g,
        mark: signatureMarkOf(account),
      };
    default:
      return null;
  }
}
