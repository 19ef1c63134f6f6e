/**
 * GET /openapi.json (docs/reference/http-api.md, "The API as a document"): the description of this
 * API, without credentials. It contains nothing about this installation.
 */
import { plainFailure } from "../../../shared/error-code.js";
import type { Exchange } from "../../http/exchange.js";
import { type KeptFile, replyFile } from "../../http/reply-file.js";
import { replyFailure } from "../../http/respond.js";

/** Null if the file can't be read. */
export type LoadOpenapi = () => Promise<KeptFile | null>;

/** Returns the status. */
export async function replyOpenapi(load: LoadOpenapi, exchange: Exchange): Promise<number> {
  const document = await load();
  if (document === null) {
    const message = "this installation has no docs/openapi.json that can be read";
    replyFailure(exchange, "model", plainFailure(404, "not_found_error", message));
    return 404;
  }
  return replyFile(exchange, document, ["cache-control", "no-cache"]);
}
