/**
 * GET /metrics and /metrics/limiter (docs/reference/metrics.md). The text is built in slices, so
 * that requests run in between.
 */
import { plainFailure } from "../../shared/error-code.js";
import { chooseFormat } from "../../shared/metrics/choose-format.js";
import { familiesOf } from "../../shared/metrics/metrics-answer.js";
import type { Family } from "../../shared/metrics/series.js";
import { contentTypes, writeMetrics } from "../../shared/metrics/write-metrics.js";
import { requestIdHeaders } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { failAdmin } from "./admin/admin-json.js";

/** Bytes per slice: some 500 lines, built in 0.5 ms. */
const sliceChars = 48 * 1024;

/** The metrics of this proxy and of the others of its supervisor. */
export async function serveMetrics(context: RequestContext<"metrics">): Promise<void> {
  const families = await context.gateway.metrics.read();
  if (families !== null) return replyFamilies(context, families);
  const message = "the process that supervises the proxies doesn't answer";
  failAdmin(context, plainFailure(503, "internal_error", message));
}

/** The metrics of the daemon, which has no network access. */
export async function serveLimiterMetrics(
  context: RequestContext<"config" | "limiter" | "metrics">,
): Promise<void> {
  const { config, limiter } = context.gateway;
  const answer = await limiter.call("metrics", { rules_max: config.metrics.rulesMax });
  if (!answer.ok) return failAdmin(context, answer.failure);
  await replyFamilies(context, familiesOf(answer.body));
}

async function replyFamilies(
  { gateway, exchange, record }: RequestContext<"metrics">,
  families: readonly Family[],
): Promise<void> {
  const format = chooseFormat(exchange.header("accept"));
  let text = "";
  let sliceEnd = sliceChars;
  for (const piece of writeMetrics(families, format)) {
    text += piece;
    if (text.length < sliceEnd) continue;
    sliceEnd = text.length + sliceChars;
    await gateway.metrics.yieldToEventLoop();
    if (exchange.gone) return record.markGone(exchange);
  }
  record.end(200, "answered");
  const headers = [
    "content-type",
    contentTypes[format],
    "cache-control",
    "no-store",
    ...requestIdHeaders(exchange),
  ];
  exchange.reply(200, headers, text, "utf8");
}
