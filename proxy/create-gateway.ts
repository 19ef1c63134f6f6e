/**
 * Wires what the request handlers share: providers, model catalog, prices, credentials, metrics,
 * dashboard and clocks.
 */
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
// Reading the global costs more, and each request reads this one a dozen times.
import { performance } from "node:perf_hooks";
import type { Config, ProviderConfig } from "../shared/config/config.js";
import { isLoopback } from "../shared/config/open-gateway.js";
import { hashKey, makeManagedKey } from "../shared/domain/make-managed-key.js";
import { targetName } from "../shared/domain/target-name.js";
import type { Log } from "../shared/log.js";
import { createProcessReading } from "../shared/metrics/process-reading.js";
import { proxyMetrics } from "../shared/metrics/proxy-metrics.js";
import { familiesOfAll, reportMetrics } from "../shared/metrics/reported-metrics.js";
import type { Family } from "../shared/metrics/series.js";
import { version } from "../shared/version.js";
import { createWebhook } from "./alerts/webhook.js";
import { createJwtIssuers, digestToken } from "./auth/jose-issuers.js";
import { createJwtVerifier } from "./auth/jwt-verifier.js";
import { createOidcProvider } from "./auth/oidc/oidc-provider.js";
import { SignInAttempts } from "./auth/session/sign-in-attempts.js";
import { trustedPages } from "./auth/web-page.js";
import { chooseRewriters } from "./body/rewriters/rewrite-request.js";
import { unlimitedPerTurn, usageReadBounds } from "./bounds.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import { SharedReads } from "./capacity/shared-reads.js";
import { FairTurns, RunningPerCaller, runningPerCallerMax } from "./capacity/unlimited-requests.js";
import { createDashboardLoader } from "./dashboard/bundle-files.js";
import { LiveFeed } from "./dashboard/live-feed.js";
import {
  configHash,
  digest,
  isHashOf,
  newSessionToken,
  sessionMark,
  webSocketAccept,
} from "./digests.js";
import { createEgress } from "./egress/egress.js";
import { type Gateway, type Provider, providerOf } from "./gateway.js";
import { readWithin } from "./handlers/admin/asked-by.js";
import { ResponseCache } from "./handlers/cache/response-cache.js";
import { LoopBreaker } from "./handlers/loop-breaker.js";
import { createOpenapiLoader } from "./handlers/openapi/openapi-file.js";
import { TokenRatios } from "./hard-caps/token-ratios.js";
import { passedHeaders } from "./http/copy-headers.js";
import { createSpoolFile } from "./http/spool-file.js";
import { passesTrace } from "./http/trace-context.js";
import type { LastStop } from "./last-stop.js";
import type { Limiter } from "./limiter/client/limiter-client.js";
import { OpenTargetReport } from "./limiter/open-target-report.js";
import type { Metrics, ProxyGroup } from "./metrics/metrics.js";
import { ProxyCounts } from "./metrics/proxy-counts.js";
import { Gauges } from "./metrics/read-gauges.js";
import { RequestReports } from "./metrics/request-reports.js";
import { createTracing } from "./metrics/spans/create-tracing.js";
import { loadPriceList } from "./prices/price-list.js";
import { futureProblem } from "./prices/prices-json.js";
import { createTargetPrices, needsPriceList, type TargetPrices } from "./prices/target-prices.js";
import { createUnpricedNotice, unpricedModels } from "./prices/unpriced-models.js";
import { LearnedRefusals } from "./routing/learned-refusals.js";
import { createModelCatalog } from "./routing/model-catalog.js";
import { createModelSizes } from "./routing/model-sizes.js";
import { createTargetOrder } from "./routing/order-targets.js";
import { createRecordedModels } from "./routing/recorded-models.js";
import { type HealthPorts, TargetHealth } from "./routing/target-health.js";
import { createTargetLoad } from "./routing/target-load.js";
import { createHttpUpstream } from "./upstream/client/http-upstream.js";
import { openKeySource } from "./upstream/credentials/key-source.js";
import { LimitReports } from "./upstream/limit-reports.js";
import { createHttpProxyUpstream } from "./upstream/passthrough/http-proxy-upstream.js";
import { OpenSessions } from "./upstream/passthrough/open-sessions.js";
import { createSimulatedUpstream } from "./upstream/simulated-upstream.js";
import { createWebSearch } from "./web-search/fetch-search.js";

interface GatewayParts {
  readonly config: Config;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly open: boolean;
  /** The name of this proxy. */
  readonly name: string;
  /** The other proxies of its supervisor; null without any. */
  readonly group: ProxyGroup | null;
  readonly lastStop: LastStop;
  readonly capacity: ProxyCapacity;
  readonly stopping: () => boolean;
}

/** Bound, not wrapped: every request reads it several times. */
const monoMs = performance.now.bind(performance);

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
  const connect = (those: readonly ProviderConfig[]): Promise<ReadonlyMap<string, Provider>> =>
    connectProviders(those, config, { files: capacity.files, log });
  const providers = await connect(config.providers);
  const mcpServers = await connect(config.mcpServers);
  const models = createModelCatalog(config, {
    upstreams: new Map([...providers].map(([name, { upstream }]) => [name, upstream])),
    nowMs: Date.now,
    schedule: (ms, run) => void setTimeout(run, ms).unref(),
    onLearned: (provider, count) =>
      log.info({ provider, models: count }, "loaded a provider's models"),
    onFailed: (provider, reason) =>
      log.warn({ provider, reason }, "a provider's models can't be loaded"),
  });
  const jwt =
    config.jwtIssuers.length === 0
      ? null
      : createJwtVerifier(await createJwtIssuers(config.jwtIssuers, log), {
          nowMs: Date.now,
          isDenied: (claims) => limiter.notices.deniedJwts.has(claims, Date.now()),
          digest: digestToken,
        });
  const targetLoad = createTargetLoad(config.virtualModels, monoMs);
  const targetHealth = createTargetHealth({ limiter, log, providers });
  const priceList = needsPriceList(config) ? await loadPriceList(config.priceListFile) : null;
  const pricesAt = (nowMs: () => number): TargetPrices =>
    createTargetPrices(config, { list: priceList, nowMs });
  const prices = pricesAt(Date.now);
  logUnpricedModels(config, unpricedModels(config, prices), log);
  const { from = "", file } = priceList?.source ?? {};
  const listProblem = file === undefined ? null : futureProblem(file.date, Date.now());
  if (listProblem !== null) log.warn({ file: from }, `the price list ${listProblem}`);
  const sessions = new OpenSessions();
  const recordedModels = createRecordedModels(config, { models, nowMs: Date.now });
  const parts = { limiter, sessions, capacity, recordedModels, targetHealth };
  const listedMs = priceList === null ? Number.NaN : Date.parse(priceList.source.file.date);
  const metrics = createMetrics(config, parts, { group, lastStop, listedMs });
  return {
    config,
    log,
    credentials: {
      masterKey: config.server.masterKey,
      jwt,
      userPathHeader: config.server.userPathHeader,
      open,
      isAdminOpen: open && isLoopback((config.server.admin ?? config.server).host),
      metricsToken: config.metrics.token,
      isMetricsOpen: open && isLoopback(config.server.host),
      importedKeysMayExist: () => limiter.notices.importedKeysExist ?? !open,
      hashKey,
      isHashOf,
    },
    pages: trustedPages(config.server),
    oidc: config.oidc === null ? null : createOidcProvider(config.oidc, Date.now),
    ...createDashboard(config, limiter),
    served: "all",
    limiter,
    providers,
    mcpServers,
    targetOrder: createTargetOrder(prices.costOf, targetLoad),
    targetLoad,
    targetHealth,
    refusals: new LearnedRefusals(monoMs),
    limitReports: new LimitReports({
      send: (report) => limiter.report(report),
      monoMs,
      nowMs: Date.now,
    }),
    models,
    prices,
    pricesAt,
    sizeOf: createModelSizes(config.providers, priceList),
    noticeUnpriced: createUnpricedNotice(config.providers, log),
    recordedModels,
    outputRatios: new TokenRatios("outputs"),
    promptRatios: new TokenRatios("prompts"),
    batchReads: new Map(),
    metrics,
    tracing: await createTracing(config, { counts: metrics.counts, log, name }),
    caching:
      config.cache === null
        ? null
        : {
            cache: new ResponseCache(config.cache),
            shareAcrossPaths: config.cache.shareAcrossPaths,
            digest,
          },
    webSearch: config.webSearch === null ? null : createWebSearch(config.webSearch),
    webhooks: config.alerts.map((alert) => createWebhook(alert, { nowMs: Date.now })),
    rewriters: config.rewriters.length === 0 ? null : chooseRewriters(config),
    loops: new LoopBreaker(digest, () => limiter.notices.loopTimes),
    sessions,
    capacity,
    runningPerCaller: new RunningPerCaller(runningPerCallerMax),
    fairTurns: new FairTurns(unlimitedPerTurn, (run) => void setImmediate(run)),
    bodySlices: new FairTurns(1, (run) => void setImmediate(run)),
    usageReads: new SharedReads(usageReadBounds),
    stopping,
    monoMs,
    setTimer(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    makeManagedKey,
    nowMs: Date.now,
    isUtf8,
    webSocketAccept,
    newId: randomUUID,
    newSpool: createSpoolFile,
    loadOpenapi: createOpenapiLoader(log),
  };
}

/** How often the gauges read the limiter's state. */
const limiterPollMs = 1000;

function createMetrics(
  config: Config,
  parts: Pick<Gateway, "limiter" | "sessions" | "capacity" | "recordedModels" | "targetHealth">,
  {
    group,
    lastStop,
    listedMs,
  }: {
    readonly group: ProxyGroup | null;
    readonly lastStop: LastStop;
    readonly listedMs: number;
  },
): Metrics {
  const { metrics, providers, mcpServers } = config;
  const counts = new ProxyCounts(
    {
      isVouchedFor: parts.recordedModels.isVouchedFor,
      types: new Map([...providers, ...mcpServers].map(({ name, type }) => [name, type])),
    },
    { seriesMax: metrics.seriesMax, pathDepth: metrics.userPathDepth },
  );
  const build = {
    version,
    nodeVersion: process.version,
    configHash: configHash(config),
    configReadMs: Date.now(),
    listedMs,
  };
  const gauges = new Gauges(counts.table, { ...parts, ...build }, performance.now());
  const limiterPoll = setInterval(
    () => gauges.pollLimiter(performance.now()),
    limiterPollMs,
  ).unref();
  const readProcess = createProcessReading(proxyMetrics.loopLag.quantiles);
  const readOwn = async (): Promise<readonly Family[]> => {
    gauges.update(await readProcess(), await lastStop.read());
    const open = parts.targetHealth.report().filter(({ state }) => state === "open");
    counts.circuitsAreOpen(open.map(({ target }) => target));
    return counts.table.families();
  };
  group?.answerWith(
    async () => reportMetrics(await readOwn()),
    () => gauges.reloadFailed(),
  );
  const reports = new RequestReports(
    {
      limiter: parts.limiter,
      monoMs,
      schedule: (ms, run) => void setTimeout(run, ms).unref(),
    },
    { keepsDetails: config.requestDetailsMax > 0, keepsTexts: config.keepsErrorTexts },
  );
  return {
    counts,
    reports,
    reloadFailed: () => gauges.reloadFailed(),
    async read() {
      if (group === null) return readOwn();
      const all = await group.gather();
      return all === null ? null : familiesOfAll(all, group.sums);
    },
    yieldToEventLoop: () => new Promise<void>((resolve) => void setImmediate(resolve)),
    close: () => clearInterval(limiterPoll),
  };
}

function createDashboard(
  { server: { trustedProxies } }: Pick<Config, "server">,
  limiter: Limiter,
): Pick<Gateway, "sessionKeeping" | "liveFeed" | "loadDashboard"> {
  return {
    sessionKeeping: {
      attempts: new SignInAttempts(),
      trustedProxies,
      newToken: newSessionToken,
      hashOf: hashKey,
      markOf: sessionMark,
    },
    liveFeed: new LiveFeed({
      call: (op, body, within) => limiter.call(op, body, readWithin(within)),
      reachable: () => limiter.reachable,
      setTimer: (ms, run) => void setTimeout(run, ms).unref(),
      monoMs,
      nowMs: Date.now,
    }),
    loadDashboard: createDashboardLoader(),
  };
}

/** Reports failing targets to the log, and to the daemon for `sluice status`. */
function createTargetHealth({
  limiter,
  log,
  providers,
}: Pick<Gateway, "limiter" | "log" | "providers">): TargetHealth {
  const notices = healthNotices(log);
  const report = new OpenTargetReport({
    limiter,
    open: () => openTargets(health),
    schedule: (ms, run) => void setTimeout(run, ms).unref(),
  });
  const health = new TargetHealth({
    monoMs,
    nowMs: Date.now,
    configOf: (target) => providerOf({ providers }, target).config,
    ...notices,
    onOpened(target, why, openMs) {
      notices.onOpened(target, why, openMs);
      report.noteChange();
    },
    onClosed(target) {
      notices.onClosed(target);
      report.noteChange();
    },
  });
  return health;
}

/** The targets whose circuit is open, each with the reason. */
function openTargets(health: Pick<TargetHealth, "report">): readonly string[] {
  return health
    .report()
    .filter(({ state }) => state === "open")
    .map(
      ({ target, failures, why }) =>
        `${targetName(target)}: ${why} (${failures} failures in a row)`,
    );
}

function healthNotices(
  log: Pick<Log, "warn" | "info">,
): Pick<HealthPorts, "onOpened" | "onClosed" | "onRefused"> {
  return {
    onOpened: (target, why, openMs) =>
      log.warn(
        { target: targetName(target), why, open_ms: Math.round(openMs) },
        "a target keeps failing: its circuit is open",
      ),
    onClosed: (target) =>
      log.info(
        { target: targetName(target) },
        "a failing target answers again: its circuit is closed",
      ),
    onRefused: (target, why) =>
      log.warn({ target: targetName(target), why }, "a provider refuses Sluice's key or account"),
  };
}

interface Connecting {
  readonly files: ProxyCapacity["files"];
  readonly log: Log;
}

/** The providers by name. Resolves after each has read its keys, or has failed to. */
async function connectProviders(
  providers: readonly ProviderConfig[],
  config: Pick<Config, "server" | "tracing">,
  parts: Connecting,
): Promise<ReadonlyMap<string, Provider>> {
  const connected = await Promise.all(
    providers.map((provider) => connectProvider(provider, config, parts)),
  );
  return new Map(connected.map((provider) => [provider.config.name, provider]));
}

async function connectProvider(
  config: ProviderConfig,
  { server: { userPathHeader }, tracing }: Pick<Config, "server" | "tracing">,
  { files, log }: Connecting,
): Promise<Provider> {
  const getsTrace = passesTrace(config.baseUrl, tracing.propagate);
  const passed = passedHeaders(config, userPathHeader, getsTrace);
  if (config.type === "simulator")
    return { config, passed, upstream: createSimulatedUpstream(), passthrough: null };
  const egress = createEgress(config);
  const source = openKeySource(config, { log, monoMs });
  await source.ready;
  const upstream = createHttpUpstream(config, egress, source.keys, files.replaceError);
  return {
    config,
    passed,
    upstream: {
      ...upstream,
      close() {
        source.close();
        return upstream.close();
      },
    },
    passthrough: createHttpProxyUpstream(config, egress, source.keys, files.replaceError),
  };
}

const namesLoggedMax = 20;

/** Warns of these models if budgets are configured, since budgets don't count them. */
function logUnpricedModels({ budgets }: Config, names: readonly string[], log: Log): void {
  if (names.length === 0) return;
  const fields = { targets: names.slice(0, namesLoggedMax), count: names.length };
  const text = "models of the configuration have no price: no budget counts them";
  if (budgets.budgets.length > 0) log.warn(fields, text);
  else log.info(fields, text);
}
