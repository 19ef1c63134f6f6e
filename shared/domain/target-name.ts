/**
 * Targets, and how people read them: in answers, headers, logs and tables; and what a model's name
 * from outside may be.
 */
import { subjectBytesMax } from "../bounds.js";
import { utf8Bytes } from "../text/utf8-bytes.js";

/** Where a request may go: a provider instance and the model's id there. */
export interface Target {
  readonly provider: string;
  /** By its one name; empty when the request names none: no model rule matches it. */
  readonly model: string;
  /** The name that the provider is sent, where it is another: `gpt-4o:nitro`. */
  readonly sent?: string;
  /** It has no price, and callers under a budget may not use it (`budgets.unpriced`). */
  readonly unpriced?: boolean;
}

/** The model's name that a provider is sent. */
export function sentModel({ model, sent }: Target): string {
  return sent ?? model;
}

/** `provider/model`; `provider/-` for a request that names no model. */
export function targetName({ provider, model }: Target): string {
  return `${provider}/${model === "" ? "-" : model}`;
}

/** Control characters, and halves of characters that no text in UTF-8 can hold. */
const unprintable = /[\p{Cc}\p{Cs}]/u;

/** Whether a name or label holds no control character and no half of a character. */
export function isPrintable(name: string): boolean {
  return !unprintable.test(name);
}

/** A name with a mark in place of each character that isn't printable. */
export function printableName(name: string): string {
  return isPrintable(name) ? name : name.replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd");
}

/** Why a request can't name this model, as a sentence about the field; null when it can. */
export function modelNameProblem(name: string): string | null {
  if (utf8Bytes(name) > subjectBytesMax) return `model must be at most ${subjectBytesMax} bytes`;
  // What decoders put in the place of bytes that aren't UTF-8.
  if (name.includes("\ufffd")) return "model must be UTF-8, and must not hold U+FFFD";
  // White space around a name is dropped, line feeds included.
  const found = unprintable.exec(name.trim());
  if (found === null) return null;
  const code = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return `model must not hold control characters or halves of characters, as U+${code}`;
}
