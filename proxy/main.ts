/**
 * Wires the proxy: listener, limiter client, providers, catalog; and the order in which they start
 * and stop.
 */
import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import type { Config } from "../shared/config/config.js";
import { isLoopback, isUnlocked, openBeyondLoopback } from "../shared/config/open-gateway.js";
import { hashKey, newKey } from "../shared/domain/key-secret.js";
import type { Log } from "../shared/log.js";
import { createJwtVerifier } from "./auth/jwt-verifier.js";
import { createJwtIssuers, digestToken } from "./auth/verify-jwt.js";
import { chooseRewriters } from "./body/rewriters/rewrite-request.js";
import type { Gateway } from "./gateway.js";
import { handleRequest } from "./handle-request.js";
import { ResponseCache } from "./handlers/cache/response-cache.js";
import { listenHttp } from "./http/http-listener.js";
import { createSpoolFile } from "./http/spool-file.js";
import { connectLimiter } from "./limiter/connect-limiter.js";
import { createModelCatalog } from "./routing/model-catalog.js";
import { createTargetOrder } from "./routing/order-targets.js";
import { loadPriceList } from "./routing/price-list.js";
import { createPriceTable, needsPriceList } from "./routing/price-table.js";
import { createHttpUpstream } from "./upstream/http-upstream.js";
import { createHttpProxyUpstream } from "./upstream/passthrough/http-proxy-upstream.js";
import { OpenSessions } from "./upstream/passthrough/open-sessions.js";
import { createSimulatedUpstream } from "./upstream/simulated-upstream.js";
import type { Upstream } from "./upstream/upstream.js";

interface ProxyOptions {
  readonly config: Config;
  readonly log: Log;
}

interface Proxy {
  readonly url: string;
  /**
   * Whether anybody may call: there is no master key, no JWT issuer and, as far as is known, no
   * managed key.
   */
  readonly open: boolean;
  /** Lets requests end, settles them, and leaves. */
  stop(): Promise<void>;
}

/** An open gateway that would listen beyond loopback. */
class OpenGatewayError extends Error {
  override name = "OpenGatewayError";
}

/** How long a stopping proxy waits for its last settles to be acknowledged. */
const settleGraceMs = 2_000;
/**
 * How long a start waits for the daemon before it says that it is ready; it serves by its failure
 * mode after that.
 */
const firstLinkMs = 2_000;

/**
 * Starts a proxy; resolved, it answers. Rejects with `OpenGatewayError`, or when the address is
 * taken.
 */
export async function startProxy({ config, log }: ProxyOptions): Promise<Proxy> {
  const refused = openBeyondLoopback(config);
  const open = isUnlocked(config) && refused === null;
  let linkedOnce: () => void = () => {};
  const firstLink = new Promise<void>((resolve) => {
    linkedOnce = resolve;
  });
  const limiter = connectLimiter(config.limiter, log, () => linkedOnce());
  const linkedInTime = Promise.race([
    firstLink,
    new Promise<void>((resolve) => setTimeout(resolve, firstLinkMs).unref()),
  ]);
  if (refused !== null) {
    // Only the daemon knows whether a managed key keeps strangers out. Should its store be
    // exchanged later, nobody is let in by that.
    await linkedInTime;
    if (limiter.client.keysExist !== true) {
      limiter.close();
      throw new OpenGatewayError(refused);
    }
  }
  const upstreams = new Map<string, Upstream>(
    config.providers.map((provider) => [
      provider.name,
      provider.type === "simulator" ? createSimulatedUpstream() : createHttpUpstream(provider),
    ]),
  );
  const passthroughUpstreams = new Map(
    config.providers
      .filter(({ type }) => type !== "simulator")
      .map((provider) => [provider.name, createHttpProxyUpstream(provider)]),
  );
  const models = createModelCatalog(config, {
    upstreams,
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
          digest: digestToken,
        });
  const prices = createPriceTable(config, {
    list: needsPriceList(config) ? await loadPriceList() : null,
    nowMs: () => Date.now(),
  });
  let stopping = false;
  const gateway: Gateway = {
    config,
    log,
    credentials: {
      masterKey: config.server.masterKey,
      jwt,
      userPathHeader: config.server.userPathHeader,
      open,
      adminOpen: open && isLoopback(config.server.host),
      sameSecret,
      hashKey,
    },
    limiter: limiter.client,
    upstreams,
    passthroughUpstreams,
    targetOrder: createTargetOrder(prices.costOf),
    models,
    prices,
    responseCache:
      config.cache === null
        ? null
        : {
            cache: new ResponseCache(config.cache),
            shareAcrossPaths: config.cache.shareAcrossPaths,
            digest,
          },
    rewriters: chooseRewriters(config.rewriters),
    sessions: new OpenSessions(),
    stopping: () => stopping,
    providers: new Map(config.providers.map((provider) => [provider.name, provider])),
    monoMs: () => performance.now(),
    newKey,
    nowMs: () => Date.now(),
    isUtf8,
    newSpool: createSpoolFile,
  };
  const closeAll = async (): Promise<void> => {
    models.stop();
    limiter.close();
    for (const upstream of passthroughUpstreams.values()) upstream.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
  };
  const listener = await listenHttp({
    listen: { host: config.server.host, port: config.server.port },
    stalledClientMs: config.server.stalledClientMs,
    handle: (exchange) => void handleRequest(gateway, exchange),
  }).catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });
  await linkedInTime;
  const openNow = open && limiter.client.keysExist !== true;
  log.info(
    {
      url: listener.url,
      providers: config.providers.map((provider) => provider.name),
      open: openNow,
    },
    openNow
      ? "proxy listens; it is open: there is neither a master key nor a managed key"
      : "proxy listens",
  );
  return {
    url: listener.url,
    open: openNow,
    async stop() {
      stopping = true;
      gateway.sessions.drain();
      await listener.close(config.server.drainMs);
      await gateway.sessions.ended();
      await limiter.client.drained(settleGraceMs);
      await closeAll();
      const { unsettled } = limiter.client;
      if (unsettled > 0)
        log.warn(
          { unsettled },
          "proxy stopped; the limiter daemon never acknowledged these settles",
        );
      else log.info("proxy stopped");
    },
  };
}

/** Compares in constant time, whatever the lengths. */
function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(
    createHash("sha256").update(given).digest(),
    createHash("sha256").update(expected).digest(),
  );
}

/**
 * What the cache finds a request by. `head` is one line, so it can't be taken for a part of the
 * body.
 */
function digest(head: string, body: Buffer): string {
  return createHash("sha256").update(head).update("\n").update(body).digest("base64url");
}
