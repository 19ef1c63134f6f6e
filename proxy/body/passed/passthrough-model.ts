/**
 * Reads the path of a passthrough request: its model, and its operation if Sluice has an endpoint
 * for that, which then determines the charge.
 */
import { subjectBytesMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import { percentDecoded } from "../../../shared/text/percent-decoded.js";
import { cacheByText } from "../../../shared/text/remembered.js";
import { utf8Bytes } from "../../../shared/text/utf8-bytes.js";

/** Operations by the end of the path. */
const operations: readonly (readonly [end: string, operation: Operation])[] = [
  ["/chat/completions", "chat_completions"],
  ["/responses", "responses"],
  ["/messages", "messages"],
  ["/embeddings", "embeddings"],
  ["/interactions", "interactions"],
  // The request determines the charge.
  ["/audio/speech", "speech"],
  ["/images/generations", "images"],
  ["/images/edits", "image_edits"],
  ["/images/variations", "image_variations"],
];

/**
 * More paths whose requests must name a model: operations that aren't estimated, legacy ones, and
 * Ollama's.
 */
const furtherModelPaths = new RegExp(
  `/(?:${[
    "completions",
    "audio/(?:transcriptions|translations)",
    "responses/compact",
    "rerank",
    "api/(?:chat|generate|embed)",
  ].join("|")})$`,
);

/** Null if only usage that the provider reports is charged. */
export function operationAt(method: string, path: string): Operation | null {
  return method === "POST" ? postedAt(path).operation : null;
}

/** What a POST to a path runs. Clients request the same few paths. */
const postedAt = cacheByText((path): { readonly operation: Operation | null } => {
  const plain = plainPath(path).toLowerCase();
  // Adding a message to a thread runs no model.
  if (/\/threads\/[^/]+\/messages$/.test(plain)) return { operation: null };
  return { operation: operations.find(([end]) => plain.endsWith(end))?.[1] ?? null };
});

/** Whether a request must name a model, as at Sluice's own endpoints. */
export function needsModel(method: string, path: string): boolean {
  const operation = operationAt(method, path);
  // An interaction may name an agent instead.
  if (operation === "interactions") return false;
  return (
    operation !== null ||
    (method === "POST" && furtherModelPaths.test(plainPath(path).toLowerCase()))
  );
}

/** A path as a server may read it: decoded, and without an ending that some servers ignore. */
export const plainPath = cacheByText((path) => {
  let plain = path;
  // As many rounds as `restProblem` allows.
  for (let round = 0; round < 5 && plain.includes("%"); round++)
    // Text that isn't UTF-8 can't be a model's name: see `modelNameProblem`.
    plain = plain.replace(/(?:%[0-9A-Fa-f]{2})+/g, (coded) => percentDecoded(coded) ?? "\ufffd");
  return withoutEnd(plain);
});

/** Without trailing slashes and without parameters of the last segment. */
function withoutEnd(path: string): string {
  for (let end = path.length; ; ) {
    while (path[end - 1] === "/") end--;
    const semicolon = path.indexOf(";", path.lastIndexOf("/", end - 1) + 1);
    if (semicolon === -1 || semicolon >= end) return path.slice(0, end);
    end = semicolon;
  }
}

/**
 * The model in Gemini's `/models/{id}:generateContent` or in Bedrock's `/model/{id}/converse`;
 * empty if the path names none. The ids of tuned models begin with `tunedModels/`.
 */
export const modelInPath = cacheByText((path) => {
  const plain = plainPath(path);
  const model = geminiModelIn(plain) || bedrockModelIn(plain);
  return model === "" ? "" : usableModel(model);
});

/**
 * Before the verb of the last segment: `g` of `/v1/models/g:countTokens`, and of
 * `/models/f:x/models/g:countTokens`; empty if the path has none.
 */
function geminiModelIn(plain: string): string {
  const colon = plain.indexOf(":", plain.lastIndexOf("/"));
  if (colon === -1 || colon === plain.length - 1) return "";
  const before = plain.slice(plain.lastIndexOf(":", colon - 1) + 1, colon);
  const begin = /\/(?:models\/|(?=tunedModels\/))/i.exec(before);
  return begin === null ? "" : before.slice(begin.index + begin[0].length);
}

/** An id may hold slashes; empty if the path has none. */
function bedrockModelIn(plain: string): string {
  const begin = plain.indexOf("/model/");
  const verb = /\/(?:converse|invoke)(?:-stream|-with-response-stream)?$/.exec(plain);
  if (begin === -1 || verb === null) return "";
  return plain.slice(begin + "/model/".length, verb.index);
}

/** The deployment in Azure's `/deployments/{id}/…`; empty if the path names none. */
export const deploymentInPath = cacheByText((path) => {
  const match = /\/deployments\/([^/]+)\//i.exec(plainPath(path));
  return match === null ? "" : usableModel(match[1]!);
});

/**
 * The models that a query names: realtime's `model`, or `deployment` at Azure. The case of the
 * parameter doesn't matter, since some servers ignore it.
 */
export function modelsInQuery(query: string): readonly string[] {
  if (query === "") return [];
  return [...new URLSearchParams(query)]
    .filter(([name]) => /^\s*(?:model|deployment)\s*$/i.test(name))
    .map(([, value]) => usableModel(value));
}

/** A model's name from outside; empty if it is too long for a rule to name it. */
export function usableModel(name: string): string {
  const trimmed = name.trim();
  return utf8Bytes(trimmed) <= subjectBytesMax ? trimmed : "";
}
