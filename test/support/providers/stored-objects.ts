/** The files, batches and responses that the provider of `model-api.ts` stores for its callers. */
import type { ServerResponse } from "node:http";
import { type ApiCall, formOf, type Json, jsonOf, reply } from "./model-api-call.js";

export interface StoredObjects {
  readonly files: Map<string, { readonly file: object; readonly bytes: Buffer }>;
  readonly batches: Map<string, Json>;
  readonly responses: Map<string, Json>;
}

export const createStoredObjects = (): StoredObjects => ({
  files: new Map(),
  batches: new Map(),
  responses: new Map(),
});

export type Answer = (
  stored: StoredObjects,
  call: ApiCall,
  response: ServerResponse,
) => void | Promise<void>;

export type Route = readonly [method: string, path: RegExp, answer: Answer];

export const storedObjectRoutes: readonly Route[] = [
  ["POST", /^\/files$/, storeFile],
  [
    "GET",
    /^\/files$/,
    ({ files }, _, response) =>
      reply(response, 200, {
        object: "list",
        data: [...files.values()].map(({ file }) => file),
        has_more: false,
      }),
  ],
  [
    "GET",
    /^\/files\/([^/]+)$/,
    ({ files }, call, response) => replyObject(response, files.get(lastPart(call))?.file),
  ],
  [
    "DELETE",
    /^\/files\/([^/]+)$/,
    ({ files }, call, response) =>
      reply(response, 200, {
        id: lastPart(call),
        object: "file",
        deleted: files.delete(lastPart(call)),
      }),
  ],
  ["GET", /^\/files\/([^/]+)\/content$/, sendFile],
  ["POST", /^\/batches$/, storeBatch],
  [
    "GET",
    /^\/batches$/,
    ({ batches }, _, response) =>
      reply(response, 200, { object: "list", data: [...batches.values()], has_more: false }),
  ],
  [
    "GET",
    /^\/batches\/([^/]+)$/,
    ({ batches }, call, response) => replyObject(response, batches.get(lastPart(call))),
  ],
  [
    "POST",
    /^\/batches\/([^/]+)\/cancel$/,
    ({ batches }, call, response) =>
      replyObject(response, withStatus(batches.get(part(call, 2)), "cancelling")),
  ],
  [
    "GET",
    /^\/responses\/([^/]+)$/,
    ({ responses }, call, response) => replyObject(response, responses.get(lastPart(call))),
  ],
  [
    "DELETE",
    /^\/responses\/([^/]+)$/,
    ({ responses }, call, response) =>
      replyObject(
        response,
        responses.delete(lastPart(call))
          ? { id: lastPart(call), object: "response", deleted: true }
          : undefined,
      ),
  ],
  [
    "POST",
    /^\/responses\/([^/]+)\/cancel$/,
    ({ responses }, call, response) =>
      replyObject(response, withStatus(responses.get(part(call, 2)), "cancelled")),
  ],
  [
    "GET",
    /^\/responses\/([^/]+)\/input_items$/,
    (_, __, response) =>
      reply(response, 200, {
        object: "list",
        data: [
          {
            id: "msg_1",
            type: "message",
            role: "user",
            content: [{ type: "input_text", text: "hi" }],
          },
        ],
        first_id: "msg_1",
        last_id: "msg_1",
        has_more: false,
      }),
  ],
];

async function storeFile(
  { files }: StoredObjects,
  call: ApiCall,
  response: ServerResponse,
): Promise<void> {
  const form = await formOf(call);
  const given = form.get("file") as File;
  const bytes = Buffer.from(await given.arrayBuffer());
  const file = {
    id: `file-${files.size + 1}`,
    object: "file",
    bytes: bytes.length,
    created_at: 1761000000,
    filename: given.name,
    purpose: form.get("purpose"),
    status: "processed",
  };
  files.set(file.id, { file, bytes });
  reply(response, 200, file);
}

function sendFile({ files }: StoredObjects, call: ApiCall, response: ServerResponse): void {
  const found = files.get(part(call, 2));
  if (found === undefined) return replyObject(response, undefined);
  response.writeHead(200, { "content-type": "application/octet-stream" }).end(found.bytes);
}

function storeBatch({ batches }: StoredObjects, call: ApiCall, response: ServerResponse): void {
  const batch = {
    id: `batch_${batches.size + 1}`,
    object: "batch",
    ...jsonOf(call),
    status: "validating",
    created_at: 1761000000,
    request_counts: { total: 0, completed: 0, failed: 0 },
  };
  batches.set(batch.id, batch);
  reply(response, 200, batch);
}

function withStatus(thing: Json | undefined, status: string): Json | undefined {
  if (thing !== undefined) thing["status"] = status;
  return thing;
}

const part = (call: ApiCall, at: number): string => call.path.split("/")[at] ?? "";
const lastPart = (call: ApiCall): string => part(call, 2);

function replyObject(response: ServerResponse, thing: unknown): void {
  if (thing === undefined)
    reply(response, 404, {
      error: { type: "invalid_request_error", message: "No such object", code: null, param: "id" },
    });
  else reply(response, 200, thing);
}
