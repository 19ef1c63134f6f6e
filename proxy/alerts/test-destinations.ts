/** Sends a test to each destination, for the dashboard's button and `sluice alerts test`. */
import type { AlertTestResult } from "../../shared/api/alert-item.js";
import { formatMillis } from "../../shared/time.js";
import type { Webhook } from "./webhook.js";

export function testDestinations(
  webhooks: readonly Webhook[],
  { nowMs, newId }: { readonly nowMs: () => number; readonly newId: () => string },
): Promise<readonly AlertTestResult[]> {
  return Promise.all(
    webhooks.map(async (webhook) => {
      const id = `alert_test_${newId()}`;
      const created = formatMillis(nowMs());
      const reason = await webhook.send({ id, type: "test", created_at: created });
      return {
        host: webhook.host,
        format: webhook.config.format,
        delivered: reason === null,
        reason,
      };
    }),
  );
}
