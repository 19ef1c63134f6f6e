/**
 * Connects a daemon to the other hosts of its cluster: the engine's client, clocks, ids and log
 * lines. Without `cluster.url` none of it runs.
 */
import { hash, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../shared/config/config.js";
import type { Log } from "../shared/log.js";
import { version } from "../shared/version.js";
import { connectEngine } from "./cluster/engine/connect-engine.js";
import type { EngineConnection } from "./cluster/engine/engine.js";
import { openClients } from "./cluster/engine/open-client.js";
import { joinCluster, leaveCluster } from "./lifecycle/cluster/join-cluster.js";
import { createTicks, tickMs } from "./lifecycle/cluster/ticks.js";
import type { DaemonState } from "./state.js";

interface Wiring {
  readonly config: Config;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Resolves once the spend of budgets is loaded. */
  readonly accountsLoaded: Promise<void>;
  /** The daemon must exit and be restarted. */
  readonly end: (reason: Error) => void;
}

/**
 * How long a start waits for the engine, in ms, so that definitions of other hosts apply to the
 * first request.
 */
const startWaitMs = 500;
/** Interval at which the engine's identity is checked, in ms. */
const probeMs = 1000;

/** Returns a function that leaves the cluster. */
export async function shareWithHosts(
  state: DaemonState,
  { config, log, nowMs, accountsLoaded, end }: Wiring,
): Promise<() => Promise<void>> {
  const { cluster } = config;
  if (cluster === null) {
    await leaveCluster(state);
    return async () => {};
  }
  const ticks = createTicks((tick) => {
    const timer = setInterval(tick, tickMs).unref();
    return () => clearInterval(timer);
  });
  const engine = connectEngine({
    clusterName: cluster.name,
    open: openClients(cluster),
    log,
    nowMs,
    nextProbe: () => ticks.next(probeMs),
  });
  await withinStart(untilStateIsKnown(engine));
  const leave = await joinCluster(state, {
    engine,
    clusterName: cluster.name,
    failureMode: cluster.failureMode,
    facts: {
      name: hostname(),
      version,
      configuration: hash("sha256", declaredText(config), "base64url"),
      startedAtMs: state.startedAtMs,
      failureMode: cluster.failureMode,
    },
    usageRetentionDays: config.usageRetentionDays,
    nowMs,
    monoMs: () => performance.now(),
    after: (ms, run) => void (ms === 0 ? setImmediate(run) : setTimeout(run, ms)),
    every: ticks.every,
    newId: randomUUID,
    accountsLoaded,
    log: logOf(log),
    onBroken: end,
  });
  await withinStart(state.sharedDefinitions!.refresh());
  return leave;
}

/** Resolves once it is known whether the engine can be reached. */
function untilStateIsKnown(engine: EngineConnection): Promise<void> {
  if (engine.state.kind !== "connecting") return Promise.resolve();
  return new Promise((resolve) => {
    const end = engine.watch(() => {
      end();
      resolve();
    });
  });
}

/**
 * Waits for the work for at most `startWaitMs`; work that fails or takes longer is retried or
 * continues later.
 */
async function withinStart(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, startWaitMs);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}

/** The declared rules and budgets; hosts compare a digest of this text. */
function declaredText({ rateLimits, budgets }: Config): string {
  return JSON.stringify([rateLimits.enabled, rateLimits.rules, budgets.enabled, budgets.budgets]);
}

function logOf(log: Log): Parameters<typeof joinCluster>[1]["log"] {
  const namesMax = 100;
  return {
    onJoin: ({ adopted, reported }) =>
      log.info(
        { taken: adopted, reported },
        "joined the cluster: definitions are shared with other hosts",
      ),
    onReplaced: (definitions) =>
      log.warn(
        { definitions: definitions.slice(0, namesMax).map(({ kind, key }) => `${kind} ${key}`) },
        "definitions of other hosts replace those of this host",
      ),
    onRenumbered: (keys) =>
      log.warn(
        { keys: keys.slice(0, namesMax).map(({ from, to }) => `key_${from} is key_${to} now`) },
        "managed keys of this host have new ids: other hosts use the old ones",
      ),
    onUnreadable: (fields) =>
      log.error(
        { fields: fields.slice(0, namesMax) },
        "the engine holds definitions that this release doesn't understand",
      ),
    skipped: (flaws) =>
      log.error(
        { flaws: flaws.slice(0, namesMax) },
        "invalid definitions of other hosts are ignored",
      ),
    refused: (reason) => log.error({ reason }, "the engine refuses shared data"),
    differing: (hosts) =>
      log.warn(
        { hosts: hosts.slice(0, namesMax) },
        "hosts that share limits are configured differently",
      ),
    copiedDisk: (id) =>
      log.error(
        { host: id },
        "another host has this host's id, as after a disk was copied: this host takes a new one",
      ),
  };
}
