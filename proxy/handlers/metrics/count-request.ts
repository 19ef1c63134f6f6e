/** Counts a request that has ended, by what its record says (docs/reference/metrics.md). */
import type { Gateway } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import type { Refused } from "../../metrics/proxy-counts.js";
import type { RequestRecord } from "../../request-record.js";

interface EndedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly endedMonoMs: number;
}

export function countRequest(
  { metrics: { counts } }: Pick<Gateway, "metrics">,
  { exchange, record, endedMonoMs }: EndedRequest,
): void {
  const { endpoint, outcome, stream } = record;
  counts.requestEnded({
    method: exchange.method,
    route: record.route,
    endpoint,
    status: record.status,
    target: record.target,
    userPath: record.userPath,
    stream,
    seconds: (endedMonoMs - record.startedMonoMs) / 1000,
  });
  if (outcome === "shutdown") counts.cutByItsStop();
  if (endpoint === null) return;
  const refused = refusalOf(record);
  if (refused !== null) counts.refused(refused);
  if (stream === false || !exchange.begun) return;
  if (outcome === "client_gone") counts.streamCut("client");
  else if (outcome === "shutdown") counts.streamCut("shutdown");
  else if (outcome === "upstream_cut") counts.streamCut(record.timedOut ? "deadline" : "upstream");
}

function refusalOf({ outcome, status, breach }: RequestRecord): Refused | null {
  switch (outcome) {
    case "rate_limited":
    case "over_budget": {
      const { scope = "", dimension = "" } = breach ?? {};
      if (outcome === "over_budget") return { reason: "budget", scope, dimension };
      const reason = dimension === "concurrent" ? "concurrency" : "rate_limit";
      return { reason, scope, dimension };
    }
    case "limiter_unavailable":
      return { reason: "limiter_unavailable", scope: "", dimension: "" };
    case "refused":
      return status === 401 || status === 403
        ? { reason: "denied", scope: "", dimension: "" }
        : null;
    default:
      return null;
  }
}
