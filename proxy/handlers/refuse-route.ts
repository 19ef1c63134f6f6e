/** What a request gets that no endpoint is for, and one that is too many. */
import { failure, plainFailure } from "../../shared/error-code.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { areaOf, type RouteMatch } from "../http/match-route.js";
import { leftOut } from "../http/paths/left-out.js";
import { replyFailure } from "../http/respond.js";
import type { RequestRecord } from "../request-record.js";

export function refuseRoute(
  exchange: Exchange,
  record: RequestRecord,
  match: Exclude<RouteMatch, { readonly kind: "endpoint" }>,
): void {
  const { method, path } = exchange;
  if (match.kind === "unknown" || isMethodOfGoogle(exchange)) {
    record.end(404, "refused");
    const message = leftOut(path) ?? `unknown API endpoint: ${method} ${path}`;
    return replyFailure(exchange, match.area, plainFailure(404, "not_found_error", message));
  }
  if (path === "/v1/responses" && asksForWebSocket(exchange)) {
    record.end(426, "refused");
    const message = "responses over a WebSocket are not offered: send a POST";
    const failure = plainFailure(426, "invalid_request_error", message);
    return replyFailure(exchange, match.area, failure, ["allow", match.allow]);
  }
  record.end(405, "refused");
  replyFailure(
    exchange,
    match.area,
    plainFailure(
      405,
      "invalid_request_error",
      `${method} is not allowed on ${path}: use ${match.allow}`,
    ),
    ["allow", match.allow],
  );
}

/** One that Sluice doesn't have, after the name of a model, of which there is a GET. */
function isMethodOfGoogle({ method, path }: Exchange): boolean {
  return method === "POST" && /^\/v1beta\/models\/.+:\w+$/.test(path);
}

/** Codex does first, and takes to HTTP at a 426 alone. */
function asksForWebSocket(exchange: Exchange): boolean {
  return exchange.header("upgrade")?.toLowerCase() === "websocket";
}

/** Whether no further request can be served now. */
export function isOverloaded({
  capacity: { connections, files },
}: Pick<Gateway, "capacity">): boolean {
  return connections.isFull || files.exhausted;
}

/** Its connection ends, so that another client may have one. */
export function refuseOneTooMany(
  { capacity }: Pick<Gateway, "capacity">,
  exchange: Exchange,
  record: RequestRecord,
): void {
  record.end(503, "overloaded");
  replyFailure(
    exchange,
    areaOf(exchange.path),
    failure(
      "overloaded",
      capacity.files.exhausted
        ? "Sluice has no file descriptors left"
        : `${capacity.connections.max} requests are running already`,
    ),
    ["connection", "close"],
  );
}
