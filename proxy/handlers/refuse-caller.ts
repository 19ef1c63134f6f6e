/** The answer to a request whose caller is refused, or can't be checked now. */
import { formatSeconds } from "../../shared/time.js";
import type { RefusedCaller } from "../auth/caller.js";
import type { Area } from "../http/match-route.js";
import { replyFailure } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";

export function refuseCaller(
  { exchange, record }: Pick<RequestContext, "exchange" | "record">,
  area: Area,
  { failure, note, expiredAtMs }: RefusedCaller,
  headers: readonly string[] = [],
): void {
  record.end(
    failure.status,
    failure.code === "limiter_unavailable" ? "limiter_unavailable" : "refused",
  );
  record.note = note ?? null;
  replyFailure(
    exchange,
    area,
    failure,
    failure.status === 401
      ? ["www-authenticate", challenge(expiredAtMs), ...headers]
      : failure.status === 503
        ? ["retry-after", "1", ...headers]
        : headers,
  );
}

/** As RFC 6750 words it. The body is the same for every wrong token. */
function challenge(expiredAtMs: number | undefined): string {
  if (expiredAtMs === undefined) return "Bearer";
  return `Bearer error="invalid_token", error_description="expired at ${formatSeconds(expiredAtMs)}"`;
}
