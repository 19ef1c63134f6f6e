/**
 * GET /openapi.json (docs/http-api.md, "The API as a document"): the description of this API,
 * without credentials. It is the same for everybody and holds nothing of this installation.
 */
import { plainFailure } from "../../../shared/error-code.js";
import type { Exchange } from "../../http/exchange.js";
import { replyFailure } from "../../http/respond.js";

export interface OpenapiDocument {
  /** All responses share them: one that the client doesn't read holds no copy. */
  readonly bytes: Buffer;
  /** In quotes, as headers have it. */
  readonly etag: string;
}

/** Null: this installation has none that can be read. */
export type LoadOpenapi = () => Promise<OpenapiDocument | null>;

/** Returns the status. */
export async function replyOpenapi(load: LoadOpenapi, exchange: Exchange): Promise<number> {
  const document = await load();
  if (document === null) {
    const message = "this installation has no docs/openapi.json that can be read";
    replyFailure(exchange, "model", plainFailure(404, "not_found_error", message));
    return 404;
  }
  const { etag, bytes } = document;
  const headers = ["x-request-id", exchange.id, "etag", etag, "cache-control", "no-cache"];
  if (isKnown(exchange.header("if-none-match"), etag)) {
    exchange.reply(304, headers, "", "latin1");
    return 304;
  }
  const length = String(bytes.length);
  exchange.begin(200, ["content-type", "application/json", "content-length", length, ...headers]);
  if (exchange.method !== "HEAD") exchange.write(bytes);
  exchange.end();
  return 200;
}

/** Whether the client has this version: it is one of those that it names, or it names any. */
function isKnown(tags: string | undefined, etag: string): boolean {
  return (tags ?? "")
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .some((tag) => tag === etag || tag === "*");
}
