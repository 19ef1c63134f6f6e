/**
 * Delivers the alerts that the daemon hands out: one at a time per destination. The daemon keeps an
 * alert until a proxy reports that it was delivered, and decides when a failed one is tried again.
 */
import type { Log } from "../../shared/log.js";
import { readDueAlert } from "../../shared/wire/alert.js";
import type { Gateway } from "../gateway.js";
import type { Webhook } from "./webhook.js";

/** How often a destination without an alert is asked for. */
const idleMs = 2_000;
/** The pause after an alert: Slack takes one message a second. */
const paceMs: Readonly<Record<Webhook["config"]["format"], number>> = { json: 100, slack: 1_100 };
/** Delivered alerts whose report may be lost; they aren't sent again. */
const rememberedMax = 1_000;

type Delivering = Pick<Gateway, "limiter" | "setTimer"> & { readonly log: Pick<Log, "warn"> };

export function startDelivering(
  gateway: Delivering,
  webhooks: readonly Webhook[],
): { stop(): void } {
  const stops = webhooks.map((webhook) => deliverTo(webhook, gateway));
  return {
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function deliverTo(webhook: Webhook, { limiter, setTimer, log }: Delivering): () => void {
  const { id: destination, format } = webhook.config;
  const delivered = new Set<string>();
  let isStopped = false;
  let cancel = (): void => {};
  const scheduleNext = (ms: number): void => {
    if (!isStopped) cancel = setTimer(ms, () => void poll());
  };
  const poll = async (): Promise<void> => {
    if (!limiter.reachable) return scheduleNext(idleMs);
    const answer = await limiter.call("alerts.due", { destination });
    const alert = answer.ok ? readDueAlert(answer.body) : null;
    if (alert === null || isStopped) return scheduleNext(idleMs);
    const reason = delivered.has(alert.id) ? null : await webhook.send(alert);
    if (reason === null) remember(delivered, alert.id);
    else log.warn({ host: webhook.host, id: alert.id, reason }, "an alert wasn't delivered");
    await limiter.call("alerts.report", { destination, id: alert.id, reason });
    scheduleNext(paceMs[format]);
  };
  scheduleNext(idleMs);
  return () => {
    isStopped = true;
    cancel();
  };
}

function remember(delivered: Set<string>, id: string): void {
  delivered.add(id);
  const [oldest] = delivered;
  if (delivered.size > rememberedMax && oldest !== undefined) delivered.delete(oldest);
}
