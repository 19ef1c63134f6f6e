/** GET /health, /ready and /api/hello: no limits, no credentials. */
import type { Health, Readiness } from "../../shared/api/gateway-status.js";
import type { Failure } from "../../shared/error-code.js";
import { formatSeconds } from "../../shared/time.js";
import { version } from "../../shared/version.js";
import { authenticateScrape, showsKey } from "../auth/authenticate.js";
import { authenticateSession, cookieOf } from "../auth/session/authenticate-session.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { replyJson } from "../http/respond.js";
import { priceListStatus } from "../prices/prices-json.js";

/**
 * Liveness: 200 as long as the process answers. Returns the status. Only operators get details
 * (`mayReadDetails`).
 */
export function replyHealth(
  {
    limiter,
    config,
    capacity,
    targetHealth,
    prices,
    nowMs,
  }: Pick<Gateway, "limiter" | "config" | "capacity" | "targetHealth" | "prices" | "nowMs">,
  exchange: Exchange,
  isDetailed: boolean,
): number {
  const { connections, files, memory } = capacity;
  const isDaemonWell =
    limiter.notices.storeFailing === null && limiter.notices.clusterFailing === null;
  const isWell = limiter.reachable && isDaemonWell && !files.isExhausted;
  const status = isWell ? "ok" : "degraded";
  const details: Omit<Health, "status"> = {
    version,
    limiter: {
      reachable: limiter.reachable,
      state: limiter.state,
      failure_mode: config.limiter.failureMode,
      unsettled: limiter.unsettled,
      store_failing: limiter.notices.storeFailing,
      cluster_failing: limiter.notices.clusterFailing,
      inert_rules: limiter.notices.inertRules,
      inert_budgets: limiter.notices.inertBudgets,
      last_backup_at:
        limiter.notices.lastBackupMs === null ? null : formatSeconds(limiter.notices.lastBackupMs),
    },
    targets: targetHealth.counts(),
    capacity: {
      connections: connections.open,
      requests: connections.requests,
      requests_max: connections.max,
      held_bytes: memory.held,
      held_bytes_max: memory.max,
      file_descriptors_exhausted: files.isExhausted,
    },
    price_list: priceListStatus(prices.listed, nowMs()),
  };
  const health: Health = { status, ...(isDetailed ? details : {}) };
  replyJson(exchange, 200, health);
  return 200;
}

/**
 * Readiness: not stopping, the daemon reachable or the failure mode open, and file descriptors
 * left. Returns the status.
 */
export function replyReady(
  {
    limiter,
    config,
    stopping,
    capacity,
  }: Pick<Gateway, "limiter" | "config" | "stopping" | "capacity">,
  exchange: Exchange,
  isDetailed: boolean,
): number {
  const waitsFor: Readiness["reason"] | null = stopping()
    ? "stopping"
    : !limiter.reachable && config.limiter.failureMode === "closed"
      ? "limiter"
      : capacity.files.isExhausted
        ? "file_descriptors"
        : null;
  const status = waitsFor === null ? 200 : 503;
  const readiness: Readiness =
    waitsFor === null
      ? { status: "ready" }
      : { status: "not ready", ...(isDetailed ? { reason: waitsFor } : {}) };
  replyJson(exchange, status, readiness);
  return status;
}

/**
 * Anthropic's agents call it before their first request to open a connection; they ignore the
 * answer.
 */
export function replyHello(exchange: Exchange): void {
  replyJson(exchange, 200, { message: "hello" });
}

/** All concurrent session lookups for /health count as one caller's. */
const browsers = "/health";

/**
 * Whether the caller may read the details of /health: everyone who may read /metrics, and dashboard
 * sessions of the master key or with a role for `/`. Never waits for a daemon that is away.
 * `pageProblem`: why an open gateway refuses this request of a web page, or null.
 */
export async function mayReadDetails(
  gateway: Gateway,
  exchange: Exchange,
  pageProblem: Failure | null,
): Promise<boolean> {
  const { credentials, served, limiter, runningPerCaller } = gateway;
  const scrape = authenticateScrape(credentials, served, exchange);
  if (scrape.ok)
    return (
      scrape.caller.credential === "authenticated" ||
      (limiter.notices.keysExist !== true && pageProblem === null)
    );
  if (served === "models" || served === "metrics") return false;
  if (exchange.header("cookie") === undefined) return false;
  if (!limiter.reachable || showsKey(exchange)) return false;
  const cookie = cookieOf(gateway, exchange);
  if (cookie === null || !runningPerCaller.begin("status", browsers)) return false;
  try {
    const session = await authenticateSession(gateway, "admin", exchange, cookie);
    return session.ok && session.caller.administers?.path === "/";
  } finally {
    runningPerCaller.end("status", browsers);
  }
}
