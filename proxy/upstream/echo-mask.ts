/**
 * Removes the credential of a call from its answer, because some providers echo it. The replacement
 * has the same length, so lengths stay true and a stream passes as it comes. Bytes are held back
 * only while they may be the beginning of a secret, and only if there are enough of them to reveal
 * something.
 *
 * Not here: errors, whose text is changed as a whole (`ProviderKeys.redact`).
 */
import type { UpstreamFailure } from "./errors/upstream-failure.js";
import type { UpstreamSink } from "./upstream.js";

/** Shorter values, such as `dummy`, are words that may occur in an answer. */
export const echoedSecretCharsMin = 16;

/**
 * The most bytes of a provider's text in the reason of a failure: too few to reveal an echoed
 * secret.
 */
export const quotedCharsMax = 12;

/**
 * If fewer bytes at the end of a piece match the beginning of a secret, they pass: a single letter
 * isn't held back.
 */
const heldCharsMin = 8;

/** Matches names of operator headers that may contain a secret. */
const secretName = /auth|key|token|secret|cookie|password/i;

/** The secrets to look for in answers to calls with this key. `headers`: the operator's. */
export function echoedSecrets(key: string | null, headers: readonly string[]): readonly Buffer[] {
  const secrets = headers.filter((_, i) => i % 2 === 1 && secretName.test(headers[i - 1]!));
  if (key !== null) secrets.push(key);
  // The secret part of a value such as `Bearer x`.
  return [...new Set(secrets.map((value) => value.replace(/^\w+ /, "")))]
    .filter((value) => value.length >= echoedSecretCharsMin)
    .map((value) => Buffer.from(value, "latin1"));
}

/**
 * Returns `sink` itself if there are no secrets. `statusMax`: bodies of answers with a greater
 * status pass unchanged.
 */
export function maskSecrets(
  sink: UpstreamSink,
  secrets: readonly Buffer[],
  statusMax: number,
): UpstreamSink {
  return secrets.length === 0 ? sink : new MaskedSink(sink, secrets, statusMax);
}

/**
 * Passes an answer on without the secrets in its headers, and in its body if the status is at most
 * `statusMax`.
 */
class MaskedSink implements UpstreamSink {
  readonly #sink: UpstreamSink;
  readonly #secrets: readonly Buffer[];
  readonly #statusMax: number;
  /** The last bytes, if they may be the beginning of a secret. */
  #tail: Buffer = none;
  /** How many bytes of `#tail` have been passed on. */
  #sent = 0;
  #isMasked = false;

  constructor(sink: UpstreamSink, secrets: readonly Buffer[], statusMax: number) {
    this.#sink = sink;
    this.#secrets = secrets;
    this.#statusMax = statusMax;
  }

  onHead(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    this.#isMasked = status <= this.#statusMax;
    this.#sink.onHead(status, maskedHeaders(rawHeaders, this.#secrets));
  }

  onData(chunk: Buffer): void {
    if (!this.#isMasked) return this.#sink.onData(chunk);
    const sent = this.#sent;
    let bytes = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk]);
    for (const secret of this.#secrets) bytes = maskSecret(secret, bytes, sent);
    const { length } = bytes;
    const tailAt = length - beginningAtEnd(bytes, this.#secrets);
    const end = Math.max(sent, length - tailAt < heldCharsMin ? length : tailAt);
    this.#tail = tailAt === length ? none : bytes.subarray(tailAt);
    this.#sent = Math.max(0, end - tailAt);
    if (end > sent)
      this.#sink.onData(sent === 0 && end === length ? bytes : bytes.subarray(sent, end));
  }

  onEnd(): void {
    this.#passHeld();
    this.#sink.onEnd();
  }

  onFailure(failure: UpstreamFailure): void {
    this.#passHeld();
    this.#sink.onFailure(failure);
  }

  onBug(error: unknown): void {
    this.#sink.onBug(error);
  }

  #passHeld(): void {
    const unsent = this.#tail.subarray(this.#sent);
    this.#tail = none;
    this.#sent = 0;
    if (unsent.length > 0) this.#sink.onData(unsent);
  }
}

const none = Buffer.alloc(0);

/** `sent`: how many bytes have been passed on already. */
function maskSecret(secret: Buffer, bytes: Buffer, sent = 0): Buffer {
  let position = bytes.indexOf(secret);
  if (position === -1) return bytes;
  // Copy: other code may still use these bytes.
  const clean = Buffer.from(bytes);
  for (; position !== -1; position = clean.indexOf(secret, position + secret.length)) {
    clean.fill("*", position, position + secret.length);
    const wordAt = Math.max(position, sent);
    clean.write("[redacted]", wordAt, position + secret.length - wordAt, "latin1");
  }
  return clean;
}

/** How many bytes at the end may be the beginning of a secret. */
function beginningAtEnd(bytes: Buffer, secrets: readonly Buffer[]): number {
  let longest = 0;
  for (const secret of secrets) {
    const first = secret[0]!;
    let position = bytes.indexOf(first, Math.max(0, bytes.length - secret.length + 1));
    for (; position !== -1; position = bytes.indexOf(first, position + 1)) {
      const length = bytes.length - position;
      if (bytes.compare(secret, 0, length, position) !== 0) continue;
      longest = Math.max(longest, length);
      break;
    }
  }
  return longest;
}

function maskedHeaders(
  rawHeaders: readonly (Buffer | string)[],
  secrets: readonly Buffer[],
): readonly (Buffer | string)[] {
  let clean: (Buffer | string)[] | null = null;
  for (const secret of secrets)
    for (let i = 1; i < rawHeaders.length; i += 2) {
      const value = (clean ?? rawHeaders)[i]!;
      if (value.length < secret.length) continue;
      const bytes = typeof value === "string" ? Buffer.from(value, "latin1") : value;
      const maskedBytes = maskSecret(secret, bytes);
      if (maskedBytes === bytes) continue;
      clean ??= [...rawHeaders];
      clean[i] = typeof value === "string" ? maskedBytes.toString("latin1") : maskedBytes;
    }
  return clean ?? rawHeaders;
}
