/**
 * Wires the proxy: listener, limiter client, providers, catalog; and the order in which they start
 * and stop.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../shared/config/config.js";
import { isUnlocked, OpenGatewayError, openBeyondLoopback } from "../shared/config/open-gateway.js";
import type { Log } from "../shared/log.js";
import { type InheritedSockets, noSockets } from "../shared/supervision/inherited-sockets.js";
import { createCapacity } from "./capacity/create-capacity.js";
import { createGateway } from "./create-gateway.js";
import { heldIdleMs, ProxyEnd } from "./end-proxy.js";
import type { Gateway } from "./gateway.js";
import { handleRequest } from "./handle-request.js";
import { RunningHandlers } from "./http/drain/running-handlers.js";
import { listenHttp } from "./http/http-listener.js";
import { LastStop } from "./last-stop.js";
import { BrokenLimiterState } from "./limiter/broken-limiter-state.js";
import { connectLimiter } from "./limiter/client/connect-limiter.js";
import { SettleSpool, settleGraceMs } from "./limiter/spool/settle-spool.js";
import type { ProxyGroup } from "./metrics/metrics.js";
import { startLooking } from "./objects/background-responses.js";
import { type Listeners, openListeners } from "./open-listeners.js";

interface ProxyOptions {
  readonly config: Config;
  readonly log: Log;
  /** Those to listen on, in place of the configured addresses. */
  readonly sockets?: InheritedSockets;
  /** What the daemon calls it, before a part that no other process has. */
  readonly name?: string;
  /** The other proxies of its supervisor, or of its port. */
  readonly group?: ProxyGroup | null;
}

interface RunningProxy {
  readonly url: string;
  /** Where /admin and the dashboard are: the same, unless they have a port of their own. */
  readonly adminUrl: string;
  /**
   * Whether requests need no credentials: there is no master key, no JWT issuer and, as far as is
   * known, no managed key.
   */
  readonly open: boolean;
  /**
   * Whether the proxy can go on after this error, which nothing has caught: after anything but a
   * broken state of the limiter client. Requests end their own errors; what is left comes from an
   * event of a socket or a library, and whatever request it was about meets its deadline.
   */
  survives(error: unknown): boolean;
  /** How it is, in one line for people. */
  status(): string;
  /** The configuration couldn't be read again, which the metrics show. */
  reloadFailed(): void;
  /**
   * Takes requests for a little longer (not so `atOnce`), lets them end, settles them, and closes
   * everything.
   */
  stop(atOnce?: boolean): Promise<void>;
  /**
   * The same for one whose successor listens on the same sockets. A `stop` after it makes it
   * quicker.
   */
  replaced(): Promise<void>;
}

/**
 * Starts a proxy; when this resolves, it answers. Rejects with `OpenGatewayError`, with
 * `InheritedSocketsError`, or when the address is taken.
 */
export async function startProxy({
  config,
  log,
  sockets = noSockets,
  name = "proxy",
  group = null,
}: ProxyOptions): Promise<RunningProxy> {
  const refusal = openBeyondLoopback(config);
  const open = isUnlocked(config) && refusal === null;
  const spool = new SettleSpool(config.limiter, log);
  const limiter = connectLimiter(config.limiter, log, (linked) => spool.linkChanged(linked), name);
  const disconnect = (): Promise<void> => {
    limiter.close();
    return spool.close();
  };
  if (refusal !== null) {
    // Only the daemon knows whether there is a managed key, without which anyone could call. Should
    // its store be replaced later, that opens nothing.
    await limiter.linkedInTime;
    if (limiter.client.keysExist !== true) {
      await disconnect();
      throw new OpenGatewayError(refusal);
    }
  }
  const lastStop = new LastStop(config.limiter.spoolDir);
  let end: ProxyEnd | null = null;
  const noteStopFailed = ({ message }: Error): void =>
    log.warn(
      { reason: message },
      "this stop can't be recorded: sluice_last_stop_drained is missing after it",
    );
  const answering = new RunningHandlers();
  const capacity = createCapacity(config.server, log);
  const gateway = await createGateway({
    config,
    log,
    limiter: limiter.client,
    open,
    name,
    group,
    lastStop,
    capacity,
    stopping: () => end?.stopping === true,
  }).catch(async (error: unknown) => {
    await disconnect();
    throw error;
  });
  const looking = startLooking(gateway, config.usageEnabled ? config.background.lookMs : 0);
  const closeAll = async (): Promise<void> => {
    looking.stop();
    capacity.files.close();
    gateway.models.stop();
    gateway.metrics.close();
    await disconnect();
    const providers = [...gateway.providers.values()];
    for (const { passthrough } of providers) passthrough?.close();
    await Promise.all(providers.map(({ upstream }) => upstream.close()));
  };
  // Others may accept on a given socket: nothing is taken from them before it can be served.
  if (sockets.from !== "none") await limiter.linkedInTime;
  const listeners: Listeners = await openListeners(gateway, capacity, {
    listen: listenHttp,
    sockets,
    handle(ofListener, exchange) {
      answering.began();
      void handleRequest(ofListener, exchange).then(answering.ended);
    },
  }).catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });
  await limiter.linkedInTime;
  const ending = new ProxyEnd(
    {
      listeners,
      liveFeed: gateway.liveFeed,
      sessions: gateway.sessions,
      schedule: (ms, run) => void setTimeout(run, ms).unref(),
      async finish() {
        // What was cut is settled before its handler ends.
        await Promise.race([answering.none(), delay(settleGraceMs, null, { ref: false })]);
        await Promise.all([limiter.client.drained(settleGraceMs), gateway.tracing?.close()]);
        await closeAll();
        if (limiter.client.unsettled > 0) await spool.leave(limiter.proxyId, limiter.left());
        await group?.leave();
        const drained = gateway.metrics.counts.cutByStop === 0;
        await lastStop.end({ atMs: Date.now(), drained }).catch(noteStopFailed);
        log.info({ drained }, "proxy stopped");
      },
    },
    { ...config.server, stopIdleMs: sockets.from === "none" ? 0 : heldIdleMs },
  );
  end = ending;
  await lastStop.begin(Date.now()).catch(noteStopFailed);
  const warnOfOdd = (socket: string, reason: string): void =>
    log.warn({ socket, reason }, "metrics of another proxy of this port are left out");
  await group?.serves(warnOfOdd).catch(({ message }: Error) => {
    log.warn({ reason: message }, "the other proxies of this port can't ask for its metrics");
  });
  const openNow = open && limiter.client.keysExist !== true;
  const { url, adminUrl } = listeners;
  log.info(
    { url, admin_url: adminUrl, providers: [...gateway.providers.keys()], open: openNow },
    openNow
      ? "proxy listens; it is open: there is neither a master key nor a managed key"
      : "proxy listens",
  );
  return {
    url,
    adminUrl,
    open: openNow,
    survives: (error) => !(error instanceof BrokenLimiterState),
    status: () => statusLine(gateway, url),
    reloadFailed: () => gateway.metrics.reloadFailed(),
    stop: (atOnce = false) => ending.stop(atOnce),
    replaced: () => ending.replaced(),
  };
}

function statusLine(
  { limiter, providers }: Pick<Gateway, "limiter" | "providers">,
  url: string,
): string {
  return `ready: ${url}; providers: ${providers.size}, limiter daemon: ${limiter.state}`;
}
