/** Sends a test to each destination of alerts, on the same route as the gateway's alerts. */
import { randomUUID } from "node:crypto";
import { testDestinations } from "../../proxy/alerts/test-destinations.js";
import { createWebhook } from "../../proxy/alerts/webhook.js";
import { withAlertSecret } from "../../proxy/auth/secret-files.js";
import type { AlertTestResult } from "../../shared/api/alert-item.js";
import type { AlertConfig } from "../../shared/config/config.js";

type Outcome =
  | { readonly ok: true; readonly results: readonly AlertTestResult[] }
  /** A secret can't be read. */
  | { readonly ok: false; readonly reason: string };

export async function sendTests(
  alerts: readonly AlertConfig[],
  nowMs: () => number,
): Promise<Outcome> {
  try {
    const withSecrets = await Promise.all(alerts.map(withAlertSecret));
    const webhooks = withSecrets.map((alert) => createWebhook(alert, { nowMs }));
    return { ok: true, results: await testDestinations(webhooks, { nowMs, newId: randomUUID }) };
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
}
