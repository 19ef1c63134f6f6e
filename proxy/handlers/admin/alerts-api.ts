/** GET /admin/alerts and POST /admin/alerts/test (docs/alerts.md). */
import type {
  AlertDestinationItem,
  AlertDestinationList,
  AlertTestResults,
} from "../../../shared/api/alert-item.js";
import { isObject } from "../../../shared/checked.js";
import { formatMillis } from "../../../shared/time.js";
import { testDestinations } from "../../alerts/test-destinations.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "./admin-json.js";
import { askDaemon } from "./asked-by.js";

/** The configured destinations with their state in the daemon. */
export async function replyAlerts(
  context: RequestContext<"limiter" | "webhooks" | "nowMs">,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const answer = await askDaemon(context, "alerts.list", null);
  if (!answer.ok) return failAdmin(context, answer.failure);
  const rows = isObject(answer.body) ? answer.body["alerts"] : null;
  const rowsByDestination = new Map(
    (Array.isArray(rows) ? rows.filter(isObject) : []).map((row) => [row["destination"], row]),
  );
  const alerts = gateway.webhooks.map(({ config, host }): AlertDestinationItem => {
    const { waiting, oldest_at, failing, last_delivered_at } =
      rowsByDestination.get(config.id) ?? {};
    return {
      host,
      format: config.format,
      at: config.at,
      forecast: config.forecast,
      limits: config.rateLimits ? "all" : "budgets",
      waiting: typeof waiting === "number" ? waiting : 0,
      oldest_at: textOrNull(oldest_at),
      failing: textOrNull(failing),
      last_delivered_at: textOrNull(last_delivered_at),
    };
  });
  record.end(200, "answered");
  const body: AlertDestinationList = { alerts, server_time: formatMillis(gateway.nowMs()) };
  replyJson(exchange, 200, body);
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Sends a test to each destination and answers with the results. */
export async function testAlerts({
  gateway,
  exchange,
  record,
}: RequestContext<"webhooks" | "nowMs" | "newId">): Promise<void> {
  const { webhooks, nowMs, newId } = gateway;
  const results = await testDestinations(webhooks, { nowMs, newId });
  record.end(200, "answered");
  const body: AlertTestResults = { results, server_time: formatMillis(nowMs()) };
  replyJson(exchange, 200, body);
}
