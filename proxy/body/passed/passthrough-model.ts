/**
 * What a passthrough request is for, as far as its path says: the model, and the operation, if it
 * is one that Sluice has an endpoint for; it is charged as there.
 */
import { subjectBytesMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import { percentDecoded } from "../../../shared/text/percent-decoded.js";
import { utf8Bytes } from "../../../shared/text/utf8-bytes.js";

/** By the end of the path. */
const operations: readonly (readonly [end: string, operation: Operation])[] = [
  ["/chat/completions", "chat_completions"],
  ["/responses", "responses"],
  ["/messages", "messages"],
  ["/embeddings", "embeddings"],
];

/** Where else a request needs a model: what isn't estimated, or is of old or Ollama's. */
const furtherModelPaths = new RegExp(
  `/(?:${[
    "completions",
    "audio/(?:speech|transcriptions|translations)",
    "images/(?:generations|edits|variations)",
    "responses/compact",
    "rerank",
    "api/(?:chat|generate|embed)",
  ].join("|")})$`,
);

/** Null: only what the provider reports is charged. */
export function operationAt(method: string, path: string): Operation | null {
  const plain = plainPath(path).toLowerCase();
  // A message that is added to a thread makes no model work.
  if (method !== "POST" || /\/threads\/[^/]+\/messages$/.test(plain)) return null;
  return operations.find(([end]) => plain.endsWith(end))?.[1] ?? null;
}

/** Whether a request is for a model that it must name, as the endpoint of Sluice's own wants it. */
export function needsModel(method: string, path: string): boolean {
  return (
    operationAt(method, path) !== null ||
    (method === "POST" && furtherModelPaths.test(plainPath(path).toLowerCase()))
  );
}

/** A path as a server may read it: decoded, without what some ignore at its end. */
export function plainPath(path: string): string {
  let plain = path;
  // As often as `restProblem` lets through.
  for (let round = 0; round < 5 && plain.includes("%"); round++)
    // What isn't UTF-8 is no model's name: see `modelNameProblem`.
    plain = plain.replace(/(?:%[0-9A-Fa-f]{2})+/g, (coded) => percentDecoded(coded) ?? "\ufffd");
  return withoutEnd(plain);
}

/** Without slashes at the end, and without parameters of the last segment. */
function withoutEnd(path: string): string {
  for (let end = path.length; ; ) {
    while (path[end - 1] === "/") end--;
    const semicolon = path.indexOf(";", path.lastIndexOf("/", end - 1) + 1);
    if (semicolon === -1 || semicolon >= end) return path.slice(0, end);
    end = semicolon;
  }
}

/**
 * Gemini's `/models/{id}:generateContent`; empty when the path names none. The ids of tuned models
 * begin with `tunedModels/`.
 */
export function modelInPath(path: string): string {
  const match = /\/(?:models\/|(?=tunedModels\/))([^:]+):[^/]+$/i.exec(plainPath(path));
  return match === null ? "" : usableModel(match[1]!);
}

/** Azure's `/deployments/{id}/…`; empty when the path names none. */
export function deploymentInPath(path: string): string {
  const match = /\/deployments\/([^/]+)\//i.exec(plainPath(path));
  return match === null ? "" : usableModel(match[1]!);
}

/**
 * The models that a query names: realtime's `model` or, at Azure, `deployment`; in any case, since
 * some servers take capitals for small letters.
 */
export function modelsInQuery(query: string): readonly string[] {
  return [...new URLSearchParams(query)]
    .filter(([name]) => /^\s*(?:model|deployment)\s*$/i.test(name))
    .map(([, value]) => usableModel(value));
}

/** A model's name from outside; empty when it is too long for a rule to name it. */
export function usableModel(name: string): string {
  const trimmed = name.trim();
  return utf8Bytes(trimmed) <= subjectBytesMax ? trimmed : "";
}
