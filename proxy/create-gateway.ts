/**
 * Wires what the request handlers of the proxy share: providers, catalog, prices, credentials, and
 * the clocks and makers of keys that they are handed.
 */
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
// The global of this name is looked up anew at each reading; a request reads it a dozen times.
import { performance } from "node:perf_hooks";
import type { Config } from "../shared/config/config.js";
import { isLoopback } from "../shared/config/open-gateway.js";
import { hashKey, newKey } from "../shared/domain/key-secret.js";
import type { Log } from "../shared/log.js";
import { createJwtIssuers, digestToken } from "./auth/jose-issuers.js";
import { createJwtVerifier } from "./auth/jwt-verifier.js";
import { trustedPages } from "./auth/web-page.js";
import { chooseRewriters } from "./body/rewriters/rewrite-request.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import { FairTurns } from "./capacity/fair-turns.js";
import { FreePlaces } from "./capacity/free-places.js";
import { SharedReads } from "./capacity/shared-reads.js";
import { connectProviders } from "./connect-providers.js";
import { createDashboard } from "./create-dashboard.js";
import { createMetrics } from "./create-metrics.js";
import { createTargetHealth } from "./create-target-health.js";
import { digest, sameSecret } from "./digests.js";
import { freePlacesMax, freeRequestsPerTurn, usageReadBounds } from "./free-endpoints.js";
import type { Gateway } from "./gateway.js";
import { ResponseCache } from "./handlers/cache/response-cache.js";
import { createOpenapiLoader } from "./handlers/openapi/openapi-file.js";
import { createSpoolFile } from "./http/spool-file.js";
import type { LastStop } from "./last-stop.js";
import type { Limiter } from "./limiter/limiter.js";
import type { ProxyGroup } from "./metrics/metrics.js";
import { createTracing } from "./metrics/spans/create-tracing.js";
import { createModelCatalog } from "./routing/model-catalog.js";
import { createTargetOrder } from "./routing/order-targets.js";
import { loadPriceList } from "./routing/price-list.js";
import { createPriceTable, needsPriceList } from "./routing/price-table.js";
import { createRecordedModels } from "./routing/recorded-models.js";
import { TargetLoad } from "./routing/target-load.js";
import { OpenSessions } from "./upstream/passthrough/open-sessions.js";

interface GatewayParts {
  readonly config: Config;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly open: boolean;
  /** What this proxy is called. */
  readonly name: string;
  /** The other proxies of its supervisor; null: it is alone. */
  readonly group: ProxyGroup | null;
  readonly lastStop: LastStop;
  readonly capacity: ProxyCapacity;
  readonly stopping: () => boolean;
}

export async function createGateway({
  config,
  log,
  limiter,
  open,
  name,
  group,
  lastStop,
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
  const targetHealth = createTargetHealth({
    limiter,
    log,
    providers,
    monoMs: () => performance.now(),
    nowMs: () => Date.now(),
    schedule: (ms, run) => void setTimeout(run, ms).unref(),
  });
  const prices = createPriceTable(config, {
    list: needsPriceList(config) ? await loadPriceList() : null,
    nowMs: () => Date.now(),
  });
  const sessions = new OpenSessions();
  const recordedModels = createRecordedModels(config, { models, nowMs: () => Date.now() });
  const parts = { limiter, sessions, capacity, recordedModels, targetHealth };
  const metrics = createMetrics(config, parts, { group, lastStop });
  return {
    config,
    log,
    credentials: {
      masterKey: config.server.masterKey,
      jwt,
      userPathHeader: config.server.userPathHeader,
      open,
      adminOpen: open && isLoopback((config.server.admin ?? config.server).host),
      metricsToken: config.metrics.token,
      metricsOpen: open && isLoopback(config.server.host),
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
    targetHealth,
    models,
    prices,
    recordedModels,
    metrics,
    tracing: await createTracing(config, { counts: metrics.counts, log, name }),
    responseCache:
      config.cache === null
        ? null
        : {
            cache: new ResponseCache(config.cache),
            shareAcrossPaths: config.cache.shareAcrossPaths,
            digest,
          },
    rewriters: chooseRewriters(config),
    sessions,
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
    newId: randomUUID,
    newSpool: createSpoolFile,
    loadOpenapi: createOpenapiLoader(log),
  };
}
