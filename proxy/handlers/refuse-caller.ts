/** The answer to a request whose caller is refused, or can't be checked now. */
import type { Authentication } from "../auth/caller.js";
import type { Area } from "../http/match-route.js";
import { replyFailure } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";

export function refuseCaller(
  { exchange, record }: Pick<RequestContext, "exchange" | "record">,
  area: Area,
  { failure, note }: Extract<Authentication, { readonly ok: false }>,
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
      ? ["www-authenticate", "Bearer"]
      : failure.status === 503
        ? ["retry-after", "1"]
        : [],
  );
}
