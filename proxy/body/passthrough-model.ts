/**
 * What a passthrough request asks for, as far as it can be told: the model that its path names, and
 * whether it is one of the calls that Sluice knows from its own endpoints, which are charged as
 * there.
 */
import { subjectBytesMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import { utf8Bytes } from "../../shared/utf8-bytes.js";

/** By how a path ends. */
const known: readonly (readonly [end: string, operation: Operation])[] = [
  ["/chat/completions", "chat_completions"],
  ["/responses", "responses"],
  ["/messages", "messages"],
  ["/embeddings", "embeddings"],
];

/** Null: only what the provider reports is charged. */
export function operationAt(method: string, path: string): Operation | null {
  // A message that is put into a thread makes no model work.
  if (method !== "POST" || /\/threads\/[^/]+\/messages$/.test(path)) return null;
  return known.find(([end]) => path.endsWith(end))?.[1] ?? null;
}

/**
 * Gemini's `/models/{id}:generateContent`, and Azure's `/deployments/{id}/…`. Empty when the path
 * names none.
 */
export function modelInPath(path: string): string {
  const match = /\/models\/([^/:]+):[^/]+$/.exec(path) ?? /\/deployments\/([^/]+)\//.exec(path);
  return match === null ? "" : asModel(match[1]!);
}

/** A model's name from outside, or empty when no rule could name it. */
export function usableModel(name: string): string {
  const trimmed = name.trim();
  return utf8Bytes(trimmed) <= subjectBytesMax ? trimmed : "";
}

function asModel(encoded: string): string {
  try {
    return usableModel(decodeURIComponent(encoded));
  } catch {
    // Not UTF-8: the provider has no such model either.
    return "";
  }
}
