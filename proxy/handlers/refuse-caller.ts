/** The answer to a request whose caller is refused, or can't be checked now. */
import type { Failure } from "../../shared/error-code.js";
import { formatSeconds } from "../../shared/time.js";
import { authorizeCaller } from "../auth/authorize-caller.js";
import type { Caller, RefusedCaller } from "../auth/caller.js";
import type { Area } from "../http/match-route.js";
import { replyFailure } from "../http/respond.js";
import type { Limiter } from "../limiter/limiter.js";
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

/**
 * Why a caller whose key hasn't been checked is refused before its body is parsed: whoever sends
 * many values, which take time, must be known. Null: the body is none of these, or its caller is
 * known.
 */
export function denialOfDense(
  limiter: Limiter,
  caller: Caller,
  isDense: () => boolean,
): Promise<Failure | null> | null {
  // To the proxy by itself, or to the daemon, which was asked before the body was read.
  if (caller.credential === "authenticated" || caller.keyId !== "") return null;
  if (!isDense()) return null;
  return authorizeCaller(limiter, caller, "model").then((authorized) =>
    authorized.ok ? null : authorized.failure,
  );
}
