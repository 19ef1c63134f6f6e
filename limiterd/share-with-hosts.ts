/**
 * Wires a daemon to the hosts that it shares its limits with: the engine's client, clocks, ids, and
 * what the log says. Without `cluster.url` nothing of it runs.
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
  /** Resolved once what budgets have spent is read. */
  readonly accountsLoaded: Promise<void>;
  /** The daemon must end, and start again. */
  readonly end: (reason: Error) => void;
}

/**
 * How long a start waits for the engine: what was refused meanwhile is known before the first
 * request, unless the engine doesn't answer.
 */
const startWaitMs = 500;
/** How often the engine is asked whether it is still the one that was told all. */
const probeMs = 1000;

/** Returns what ends it. */
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
  await withinStart(reached(engine));
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

/** Resolved once it is known whether the engine can be reached. */
function reached(engine: EngineConnection): Promise<void> {
  if (engine.state.kind !== "connecting") return Promise.resolve();
  return new Promise((resolve) => {
    const end = engine.watch(() => {
      end();
      resolve();
    });
  });
}

/** What fails, or takes longer, is seen to later. */
async function withinStart(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, startWaitMs);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}

/** What the configuration declares: hosts compare a digest of it. */
function declaredText({ rateLimits, budgets }: Config): string {
  return JSON.stringify([rateLimits.enabled, rateLimits.rules, budgets.enabled, budgets.budgets]);
}

function logOf(log: Log): Parameters<typeof joinCluster>[1]["log"] {
  const named = 100;
  return {
    joined: ({ taken, told }) =>
      log.info({ taken, told }, "definitions are shared with other hosts from now on"),
    replaced: (definitions) =>
      log.warn(
        { definitions: definitions.slice(0, named).map(({ kind, key }) => `${kind} ${key}`) },
        "in place of what this host had defined, what other hosts have is in force",
      ),
    renumbered: (keys) =>
      log.warn(
        { keys: keys.slice(0, named).map(({ from, to }) => `key_${from} is key_${to} now`) },
        "managed keys of this host got other ids: other hosts have keys of theirs",
      ),
    unreadable: (fields) =>
      log.error(
        { fields: fields.slice(0, named) },
        "the engine holds definitions that this release doesn't understand",
      ),
    passedOver: (flaws) =>
      log.error({ flaws: flaws.slice(0, named) }, "definitions of other hosts are passed over"),
    refused: (reason) => log.error({ reason }, "the engine refuses what hosts share"),
    differing: (hosts) =>
      log.warn(
        { hosts: hosts.slice(0, named) },
        "hosts that share limits are set up in different ways",
      ),
    copiedDisk: (id) =>
      log.error(
        { host: id },
        "another host has the id of this one, as after its disk was copied: this one takes another",
      ),
  };
}
