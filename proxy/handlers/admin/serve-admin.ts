/** Dispatches the endpoints of the admin API (docs/reference/admin-api.md). */
import { assert, unreachable } from "../../../shared/assert.js";
import { accessProblem } from "../../http/paths/admin-access.js";
import type { AdminEndpoint } from "../../http/paths/admin-routes.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, refusesParameters } from "./admin-json.js";
import { replyAlerts, testAlerts } from "./alerts-api.js";
import { handleAuthKeys } from "./auth-keys-api.js";
import { handleDeniedJwts } from "./denied-jwts-api.js";
import { explainRequest } from "./explain-request.js";
import { handleLimits } from "./limits-api.js";
import { handleLimitsFile } from "./limits-file-api.js";
import { observe } from "./observe-api.js";
import { replyConfig, replyProviders } from "./providers-api.js";
import { handleReconciliations } from "./reconciliations-api.js";
import { replyAudit, replyRecords } from "./records-api.js";
import { replyReprice } from "./reprice-api.js";
import { replyTargets } from "./targets-api.js";

const withoutParameters: ReadonlySet<AdminEndpoint> = new Set<AdminEndpoint>([
  "alerts",
  "queues",
  "request",
  "status",
  "targets",
  "upstream-limits",
]);

/** Refuses the request if the caller's role doesn't include it. Returns whether it did. */
export function refusesRole(
  context: Pick<RequestContext, "exchange" | "record" | "caller">,
  endpoint: AdminEndpoint,
): boolean {
  const { administers } = context.caller;
  assert(administers !== undefined, "only callers with a role reach /admin");
  const problem = accessProblem(administers, endpoint, context.exchange);
  if (problem !== null) failAdmin(context, problem);
  return problem !== null;
}

export async function serveAdmin(
  context: RequestContext,
  endpoint: Exclude<AdminEndpoint, "live">,
): Promise<void> {
  if (refusesRole(context, endpoint)) return;
  if (withoutParameters.has(endpoint) && refusesParameters(context)) return;
  switch (endpoint) {
    case "rate-limits-children":
    case "budgets-children":
      return observe(context, endpoint);
    case "rate-limits":
    case "rate-limits-test":
    case "rate-limits-raise":
    case "rate-limits-reset-one":
    case "rate-limits-reset":
    case "budgets":
    case "budgets-raise":
    case "budgets-reset-one":
    case "budgets-reset":
    case "budgets-settings":
      return handleLimits(context, endpoint);
    case "limits":
      return handleLimitsFile(context);
    case "auth-keys":
    case "auth-keys-rotate":
    case "auth-keys-deactivate":
    case "auth-keys-delete":
      return handleAuthKeys(context, endpoint);
    case "denied-jwts":
      return handleDeniedJwts(context);
    case "explain":
      return explainRequest(context);
    case "targets":
      return replyTargets(context);
    case "in-flight":
    case "queues":
    case "refusals":
    case "upstream-limits":
    case "status":
    case "usage-summary":
    case "usage-export":
    case "usage-follow":
    case "requests":
    case "request":
    case "sessions":
    case "tenants":
    case "traffic":
      return observe(context, endpoint);
    case "providers":
      return replyProviders(context);
    case "config":
      return replyConfig(context);
    case "usage-records":
      return replyRecords(context);
    case "audit":
      return replyAudit(context);
    case "usage-reprice":
      return replyReprice(context);
    case "reconciliations":
      return handleReconciliations(context);
    case "alerts":
      return replyAlerts(context);
    case "alerts-test":
      return testAlerts(context);
    default:
      return unreachable(endpoint);
  }
}
