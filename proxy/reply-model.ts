/** GET /v1/models/{id}: a model that can be named, as the list would tell it. */
import type { Exchange } from "./exchange.js";
import type { Gateway, RequestRecord } from "./gateway.js";
import { resolveOnceLearned, unknownModel } from "./model-catalog.js";
import { listedModel } from "./resolve-model.js";
import { replyFailure, replyJson } from "./respond.js";

/** Never rejects. */
export async function replyModel(gateway: Gateway, exchange: Exchange, record: RequestRecord): Promise<void> {
  const written = exchange.path.slice("/v1/models/".length);
  const name = decoded(written);
  const route = name === null ? null : await resolveOnceLearned(gateway, name);
  if (name === null || route === null) {
    const what = unknownModel(name ?? written);
    record.end(what.status, "refused");
    return replyFailure(exchange, "model", what);
  }
  record.end(200, "answered");
  replyJson(exchange, 200, listedModel(name, route.kind === "virtual" ? "sluice" : route.targets[0].provider));
}

/** Ids hold slashes, which clients write as they are or in percent form. Null: the percent form is broken. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
