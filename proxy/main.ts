/** Starts and stops the proxy: listeners, limiter client, providers and model catalog, in order. */
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../shared/config/config.js";
import { isUnlocked, OpenGatewayError, openBeyondLoopback } from "../shared/config/open-gateway.js";
import type { Log } from "../shared/log.js";
import { secretMark } from "../shared/secret-mark.js";
import { type InheritedSockets, noSockets } from "../shared/supervision/inherited-sockets.js";
import { toMarkedSettings } from "../shared/wire/settings-report.js";
import { startDelivering } from "./alerts/deliver-alerts.js";
import { createCapacity } from "./capacity/create-capacity.js";
import { createGateway } from "./create-gateway.js";
import { heldIdleMs, ProxyEnd } from "./end-proxy.js";
import type { Gateway } from "./gateway.js";
import { handleRequest } from "./handle-request.js";
import { listenHttp } from "./http/http-listener.js";
import { openTlsFiles } from "./http/tls-files.js";
import { LastStop } from "./last-stop.js";
import { BrokenLimiterState } from "./limiter/broken-limiter-state.js";
import { connectLimiter } from "./limiter/client/connect-limiter.js";
import { reportSettings } from "./limiter/report-settings.js";
import { shownProxySettings } from "./limiter/shown-settings.js";
import { SettleSpool, settleGraceMs } from "./limiter/spool/settle-spool.js";
import type { ProxyGroup } from "./metrics/metrics.js";
import { startPolling } from "./objects/background-responses.js";
import { type Listeners, openListeners } from "./open-listeners.js";

interface ProxyOptions {
  readonly config: Config;
  readonly log: Log;
  /** Inherited sockets, which replace the configured addresses. */
  readonly sockets?: InheritedSockets;
  /** The name that the daemon shows; a unique part is appended. */
  readonly name?: string;
  /** The other proxies of its supervisor, or of its port. */
  readonly group?: ProxyGroup | null;
}

interface RunningProxy {
  readonly url: string;
  /** The address of /admin and the dashboard; equals `url` without a separate port. */
  readonly adminUrl: string;
  /**
   * Whether requests need no credentials: there is no master key, no JWT issuer and no known
   * managed key.
   */
  readonly open: boolean;
  /**
   * Whether the proxy can continue after this uncaught error: yes, unless the limiter client's
   * state is broken. Requests handle their own errors; the rest comes from a socket or a library,
   * and the affected request runs into its deadline.
   */
  survives(error: unknown): boolean;
  /** The status in one line, for `systemctl status`. */
  status(): string;
  /** Counts a failed reload in the metrics. */
  reloadFailed(): void;
  /**
   * Serves requests for a grace period (skipped with `atOnce`), drains and settles them, and closes
   * everything.
   */
  stop(options?: { readonly atOnce: boolean }): Promise<void>;
  /** Stops as `stop` does once a successor listens on the same sockets; `stop` speeds it up. */
  replaced(): Promise<void>;
}

/**
 * Makes a proxy, which asks the daemon nothing yet and accepts no connection. Resolves with a
 * function that starts it. Its promise resolves when the proxy serves requests, and rejects with
 * `OpenGatewayError`, `InheritedSocketsError`, or when the address is in use.
 */
export async function prepareProxy({
  config,
  log,
  sockets = noSockets,
  name = "proxy",
  group = null,
}: ProxyOptions): Promise<() => Promise<RunningProxy>> {
  const startedUpMs = Number(process.hrtime.bigint() / 1_000_000n);
  const refusal = openBeyondLoopback(config);
  const open = isUnlocked(config) && refusal === null;
  const spool = new SettleSpool(config.limiter, log);
  const limiter = connectLimiter(
    config.limiter,
    log,
    (isLinked) => spool.linkChanged(isLinked),
    name,
  );
  const disconnect = (): Promise<void> => {
    limiter.close();
    return spool.close();
  };
  const tlsFiles =
    config.server.tls === null
      ? null
      : await openTlsFiles(config.server.tls, log).catch(async (error: unknown) => {
          await disconnect();
          throw error;
        });
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
  return async () => {
    const polling = startPolling(gateway, config.usageEnabled ? config.background.lookMs : 0);
    const delivering = startDelivering(gateway, gateway.webhooks);
    let reporting: ReturnType<typeof reportSettings> | null = null;
    const closeAll = async (): Promise<void> => {
      reporting?.stop();
      tlsFiles?.stop();
      polling.stop();
      delivering.stop();
      capacity.files.close();
      gateway.models.stop();
      gateway.metrics.close();
      await disconnect();
      const providers = [...gateway.providers.values(), ...gateway.mcpServers.values()];
      await Promise.all(
        providers.flatMap(({ upstream, passthrough }) => [upstream.close(), passthrough?.close()]),
      );
    };
    limiter.dial();
    if (refusal !== null) {
      // Only the daemon knows whether a managed key exists; without one, anyone could call.
      // Replacing its store later doesn't open the gateway.
      await limiter.linkedInTime;
      if (limiter.client.notices.keysExist !== true) {
        await closeAll();
        throw new OpenGatewayError(refusal);
      }
    }
    // Other processes may accept on an inherited socket: don't take connections that can't be
    // served yet.
    if (sockets.from !== "none") await limiter.linkedInTime;
    const listeners: Listeners = await openListeners(gateway, capacity, {
      listen: listenHttp,
      sockets,
      tlsFiles,
      handlerOf: (listenerGateway) => (exchange) => {
        answering.began();
        void handleRequest(listenerGateway, exchange).then(answering.ended);
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
          // Handlers of cut requests settle them before they end.
          await Promise.race([answering.none(), delay(settleGraceMs, null, { ref: false })]);
          await Promise.all([
            limiter.client.untilDrained(settleGraceMs),
            gateway.metrics.reports.flush(),
            gateway.tracing?.close(),
          ]);
          await closeAll();
          if (limiter.client.unsettled > 0)
            await spool.leave(limiter.proxyId, limiter.unacknowledged());
          await group?.leave();
          const isDrained = gateway.metrics.counts.cutByStop === 0;
          await lastStop.end({ atMs: Date.now(), drained: isDrained }).catch(noteStopFailed);
          log.info({ drained: isDrained }, "proxy stopped");
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
    // Only now: a proxy of a failed reload has changed nothing.
    const settings = toMarkedSettings(shownProxySettings(config, secretMark));
    reporting = reportSettings(gateway, { startedUpMs, file: config.file, settings });
    const isOpenNow = open && limiter.client.notices.keysExist !== true;
    const { url, adminUrl, metricsUrl } = listeners;
    log.info(
      {
        url,
        admin_url: adminUrl,
        ...(metricsUrl === null ? {} : { metrics_url: metricsUrl }),
        providers: [...gateway.providers.keys()],
        open: isOpenNow,
      },
      isOpenNow
        ? "proxy listens; it is open: there is neither a master key nor a managed key"
        : "proxy listens",
    );
    return {
      url,
      adminUrl,
      open: isOpenNow,
      survives: (error) => !(error instanceof BrokenLimiterState),
      status: () => statusLine(gateway, url),
      reloadFailed: () => gateway.metrics.reloadFailed(),
      stop: (options = { atOnce: false }) => ending.stop(options),
      replaced: () => ending.replaced(),
    };
  };
}

function statusLine(
  { limiter, providers }: Pick<Gateway, "limiter" | "providers">,
  url: string,
): string {
  return `ready: ${url}; providers: ${providers.size}, limiter daemon: ${limiter.state}`;
}

/**
 * The number of running request handlers: a stop waits until it is 0. It is a count, not a set of
 * promises, because every request changes it.
 */
export class RunningHandlers {
  #count = 0;
  #waiting: (() => void)[] = [];

  began(): void {
    this.#count++;
  }

  /** Bound, so that it can be passed to `then`. */
  readonly ended = (): void => {
    if (--this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  };

  /** Resolves when no handler runs. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#waiting.push(resolve);
    });
  }
}
