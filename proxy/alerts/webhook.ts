/** Posts alerts to a webhook, signed by the Standard Webhooks scheme (docs/alerts.md). */
import { createHmac } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { AlertConfig } from "../../shared/config/config.js";
import { version } from "../../shared/version.js";
import { createEgress } from "../egress/egress.js";
import { createEgressAgent } from "../egress/egress-agent.js";
import { alertBody, type SendResult } from "./alert-message.js";

/** The time for one attempt; less than the daemon waits for its report. */
const attemptMs = 15_000;

export interface Webhook {
  readonly config: AlertConfig;
  /** The host of the URL: its path may be a secret. */
  readonly host: string;
  /** Why it wasn't delivered; null if it was. Never rejects; resolves within `attemptMs`. */
  send(sent: SendResult): Promise<string | null>;
}

export function createWebhook(
  config: AlertConfig,
  { nowMs, timeoutMs = attemptMs }: { readonly nowMs: () => number; readonly timeoutMs?: number },
): Webhook {
  const { protocol, host } = new URL(config.url);
  const agent = createEgressAgent(protocol, createEgress({ proxy: config.proxy, caFile: null }), {
    connectTimeoutMs: timeoutMs,
    keepAlive: false,
  });
  return {
    config,
    host,
    async send(sent) {
      const body = alertBody(sent, config.format);
      const headers = {
        "content-type": "application/json",
        "content-length": String(Buffer.byteLength(body)),
        "user-agent": `sluice/${version}`,
        ...signature(config.secret, sent.id, Math.floor(nowMs() / 1000), body),
      };
      try {
        const status = await post(config.url, { headers, body, agent, timeoutMs });
        if (status >= 200 && status < 300) return null;
        const redirects = status >= 300 && status < 400 ? ", and redirects aren't followed" : "";
        return `${host} answered ${status}${redirects}`;
      } catch (error) {
        const { name, message } = error as Error;
        return name === "TimeoutError" || name === "AbortError"
          ? `${host} was silent for ${timeoutMs / 1000} s`
          : message;
      }
    },
  };
}

/** The headers of the Standard Webhooks scheme; without a secret, only the id and the time. */
function signature(
  secret: string | null,
  id: string,
  seconds: number,
  body: string,
): Readonly<Record<string, string>> {
  const idAndTime = { "webhook-id": id, "webhook-timestamp": String(seconds) };
  if (secret === null) return idAndTime;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return { ...idAndTime, "webhook-signature": `v1,${mac}` };
}

interface Posting {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly agent: ReturnType<typeof createEgressAgent>;
  readonly timeoutMs: number;
}

/** Resolves with the status; the answer's body is of no interest. */
function post(url: string, { headers, body, agent, timeoutMs }: Posting): Promise<number> {
  return new Promise((resolve, reject) => {
    const start = url.startsWith("https:") ? requestHttps : requestHttp;
    const signal = AbortSignal.timeout(timeoutMs);
    const request = start(url, { method: "POST", headers, agent, signal });
    request.on("response", (response) => {
      resolve(response.statusCode ?? 0);
      response.on("error", () => {});
      response.destroy();
    });
    request.on("error", reject);
    request.end(body);
  });
}
