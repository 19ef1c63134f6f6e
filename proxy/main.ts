/**
 * Wires the proxy: listener, limiter client, providers, catalog; and the order in which they start
 * and stop.
 */
import { isUtf8 } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../shared/config/config.js";
import {
  isLoopback,
  isUnlocked,
  OpenGatewayError,
  openBeyondLoopback,
} from "../shared/config/open-gateway.js";
import { hashKey, newKey } from "../shared/domain/key-secret.js";
import type { Log } from "../shared/log.js";
import { createJwtIssuers, digestToken } from "./auth/jose-issuers.js";
import { createJwtVerifier } from "./auth/jwt-verifier.js";
import { trustedPages } from "./auth/web-page.js";
import { chooseRewriters } from "./body/rewriters/rewrite-request.js";
import { createCapacity, type ProxyCapacity } from "./capacity/create-capacity.js";
import { FairTurns } from "./capacity/fair-turns.js";
import { FreePlaces } from "./capacity/free-places.js";
import { SharedReads } from "./capacity/shared-reads.js";
import { connectProviders } from "./connect-providers.js";
import { createDashboard } from "./create-dashboard.js";
import { digest, sameSecret } from "./digests.js";
import { freePlacesMax, freeRequestsPerTurn, usageReadBounds } from "./free-endpoints.js";
import { type Gateway, providerOf } from "./gateway.js";
import { handleRequest } from "./handle-request.js";
import { ResponseCache } from "./handlers/cache/response-cache.js";
import { createOpenapiLoader } from "./handlers/openapi/openapi-file.js";
import { listenHttp } from "./http/http-listener.js";
import { createSpoolFile } from "./http/spool-file.js";
import { BrokenLimiterState } from "./limiter/broken-limiter-state.js";
import { connectLimiter } from "./limiter/client/connect-limiter.js";
import type { Limiter } from "./limiter/limiter.js";
import { SettleSpool, settleGraceMs } from "./limiter/spool/settle-spool.js";
import { openListeners } from "./open-listeners.js";
import { healthNotices } from "./routing/health-notices.js";
import { createModelCatalog } from "./routing/model-catalog.js";
import { createTargetOrder } from "./routing/order-targets.js";
import { loadPriceList } from "./routing/price-list.js";
import { createPriceTable, needsPriceList } from "./routing/price-table.js";
import { createRecordedModels } from "./routing/recorded-models.js";
import { TargetHealth } from "./routing/target-health.js";
import { TargetLoad } from "./routing/target-load.js";
import { statusLine } from "./status-line.js";
import { OpenSessions } from "./upstream/passthrough/open-sessions.js";

interface ProxyOptions {
  readonly config: Config;
  readonly log: Log;
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
  /** Lets requests end, settles them, and closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy; when this resolves, it answers. Rejects with `OpenGatewayError`, or when the
 * address is taken.
 */
export async function startProxy({ config, log }: ProxyOptions): Promise<RunningProxy> {
  const refusal = openBeyondLoopback(config);
  const open = isUnlocked(config) && refusal === null;
  const spool = new SettleSpool(config.limiter, log);
  const limiter = connectLimiter(config.limiter, log, (linked) => spool.linkChanged(linked));
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
  let stopping = false;
  const answering = new Set<Promise<void>>();
  const capacity = createCapacity(config.server, log);
  const gateway = await createGateway({
    config,
    log,
    limiter: limiter.client,
    open,
    capacity,
    stopping: () => stopping,
  }).catch(async (error: unknown) => {
    await disconnect();
    throw error;
  });
  const closeAll = async (): Promise<void> => {
    capacity.files.close();
    gateway.models.stop();
    await disconnect();
    const providers = [...gateway.providers.values()];
    for (const { passthrough } of providers) passthrough?.close();
    await Promise.all(providers.map(({ upstream }) => upstream.close()));
  };
  const listeners = await openListeners(gateway, capacity, {
    listen: listenHttp,
    handle(ofListener, exchange) {
      const answered = handleRequest(ofListener, exchange).finally(() =>
        answering.delete(answered),
      );
      answering.add(answered);
    },
  }).catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });
  await limiter.linkedInTime;
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
    async stop() {
      stopping = true;
      gateway.liveFeed.close();
      gateway.sessions.drain();
      await listeners.close(config.server.drainMs);
      await gateway.sessions.ended();
      // What was cut is settled before its handler ends.
      const answered = Promise.allSettled(answering);
      await Promise.race([answered, delay(settleGraceMs, null, { ref: false })]);
      await limiter.client.drained(settleGraceMs);
      await closeAll();
      if (limiter.client.unsettled > 0) await spool.leave(limiter.proxyId, limiter.left());
      log.info("proxy stopped");
    },
  };
}

interface GatewayParts {
  readonly config: Config;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly open: boolean;
  readonly capacity: ProxyCapacity;
  readonly stopping: () => boolean;
}

async function createGateway({
  config,
  log,
  limiter,
  open,
  capacity,
  stopping,
}: GatewayParts): Promise<Gateway> {
  const providers = await connectProviders(config, { files: capacity.files, log });
  const models = createModelCatalog(config, {
    upstreams: new Map([...providers].map(([name, { upstream }]) => [name, upstream])),
    nowMs: () => Date.now(),
    schedule: (ms, run) => void setTimeout(run, ms).unref(),
    onLearned: (provider, count) =>
      log.info({ provider, models: count }, "learned a provider's models"),
    onFailed: (provider, reason) =>
      log.warn({ provider, reason }, "a provider's models can't be learned"),
  });
  const jwt =
    config.jwtIssuers.length === 0
      ? null
      : createJwtVerifier(await createJwtIssuers(config.jwtIssuers, log), {
          nowMs: () => Date.now(),
          isDenied: (claims) => limiter.isDeniedJwt(claims, Date.now()),
          digest: digestToken,
        });
  const targetLoad = new TargetLoad(config.virtualModels, () => performance.now());
  const prices = createPriceTable(config, {
    list: needsPriceList(config) ? await loadPriceList() : null,
    nowMs: () => Date.now(),
  });
  return {
    config,
    log,
    credentials: {
      masterKey: config.server.masterKey,
      jwt,
      userPathHeader: config.server.userPathHeader,
      open,
      adminOpen: open && isLoopback((config.server.admin ?? config.server).host),
      sameSecret,
      hashKey,
    },
    pages: trustedPages(config.server),
    ...createDashboard(config, limiter),
    served: "all",
    limiter,
    providers,
    targetOrder: createTargetOrder(prices.costOf, targetLoad),
    targetLoad,
    targetHealth: new TargetHealth({
      monoMs: () => performance.now(),
      nowMs: () => Date.now(),
      configOf: (target) => providerOf({ providers }, target).config,
      ...healthNotices(log),
    }),
    models,
    prices,
    recordedModels: createRecordedModels(config, { models, nowMs: () => Date.now() }),
    responseCache:
      config.cache === null
        ? null
        : {
            cache: new ResponseCache(config.cache),
            shareAcrossPaths: config.cache.shareAcrossPaths,
            digest,
          },
    rewriters: chooseRewriters(config),
    sessions: new OpenSessions(),
    capacity,
    freePlaces: new FreePlaces(freePlacesMax),
    freeTurns: new FairTurns(freeRequestsPerTurn, (run) => void setImmediate(run)),
    usageReads: new SharedReads(usageReadBounds),
    stopping,
    monoMs: () => performance.now(),
    setTimer(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    newKey,
    nowMs: () => Date.now(),
    isUtf8,
    newSpool: createSpoolFile,
    loadOpenapi: createOpenapiLoader(log),
  };
}
