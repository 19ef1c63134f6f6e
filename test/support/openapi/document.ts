/** `docs/openapi.json` as tests read it: its operations, and what its references name. */
import { readFileSync } from "node:fs";
import { endpointAddress } from "../../../proxy/http/match-route.js";

export type Schema = Readonly<Record<string, unknown>>;

interface HeaderObject {
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface ResponseObject {
  readonly headers?: Readonly<Record<string, HeaderObject>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface MediaType {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** A parameter of a query, a path or a header. */
export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly "x-sluice-role"?: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** An operation with its place. */
export interface Placed {
  /** As in the document: `/v1/files/{id}`. */
  readonly path: string;
  /** In capitals. */
  readonly method: string;
  readonly operation: Operation;
}

interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

export const documentText = readFileSync(
  new URL("../../../../docs/openapi.json", import.meta.url),
  "utf8",
);
export const document = JSON.parse(documentText) as Document;

export const operations: readonly Placed[] = Object.entries(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
);

/** What a reference names, or the value itself. Throws where it leads nowhere. */
export function resolved<T>(value: T): T {
  const ref = (value as { readonly $ref?: string } | null)?.$ref;
  if (ref === undefined) return value;
  let found: unknown = document;
  for (const name of ref.replace(/^#\//, "").split("/"))
    found = (found as Record<string, unknown> | undefined)?.[name];
  if (found === undefined) throw new Error(`${ref} isn't in docs/openapi.json`);
  return resolved(found as T);
}

const templates = Object.keys(document.paths).map((path) => ({
  path,
  // Names of models hold slashes, and what follows a provider's name may be missing.
  pattern: new RegExp(
    `^${path
      .replace("/{path}", "(?:/.*)?")
      .replace("{model}", ".+")
      .replace(/\{\w+\}/g, "[^/]+")}$`,
  ),
}));

/** The operation that a request is for; HEAD is GET where the document has no HEAD. */
export function operationOf(method: string, url: string): Placed | null {
  const { path: served, model } = endpointAddress(url);
  const path = model === null ? served : served.replace(/^\/v1beta\/models:/, "/v1beta/models/x:");
  const template = (Object.hasOwn(document.paths, path) ? { path } : null) ??
    templates.find(({ pattern }) => pattern.test(path)) ?? { path: "" };
  const placed = (wanted: string): Placed | undefined =>
    operations.find((each) => each.path === template.path && each.method === wanted);
  return placed(method) ?? (method === "HEAD" ? placed("GET") : undefined) ?? null;
}
