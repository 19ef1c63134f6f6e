/**
 * What a passthrough request is for, as far as its path says: the model, and the operation, if it
 * is one that Sluice has an endpoint for; it is charged as there.
 */
import { subjectBytesMax } from "../../shared/bounds.js";
import type { Operation } from "../../shared/operation.js";
import { utf8Bytes } from "../../shared/utf8-bytes.js";

/** By the end of the path. */
const operations: readonly (readonly [end: string, operation: Operation])[] = [
  ["/chat/completions", "chat_completions"],
  ["/responses", "responses"],
  ["/messages", "messages"],
  ["/embeddings", "embeddings"],
];

/** Null: only what the provider reports is charged. */
export function operationAt(method: string, path: string): Operation | null {
  // A message that is added to a thread makes no model work.
  if (method !== "POST" || /\/threads\/[^/]+\/messages$/.test(path)) return null;
  return operations.find(([end]) => path.endsWith(end))?.[1] ?? null;
}

/**
 * Gemini's `/models/{id}:generateContent`, and Azure's `/deployments/{id}/…`. Empty when the path
 * names none.
 */
export function modelInPath(path: string): string {
  const match = /\/models\/([^/:]+):[^/]+$/.exec(path) ?? /\/deployments\/([^/]+)\//.exec(path);
  return match === null ? "" : decodeModel(match[1]!);
}

/** A model's name from outside; empty when it is too long for a rule to name it. */
export function usableModel(name: string): string {
  const trimmed = name.trim();
  return utf8Bytes(trimmed) <= subjectBytesMax ? trimmed : "";
}

function decodeModel(encoded: string): string {
  try {
    return usableModel(decodeURIComponent(encoded));
  } catch {
    // Not UTF-8: the provider has no such model either.
    return "";
  }
}
