/**
 * The daemon's connection to the engine. It is reopened whenever it breaks, and examined before
 * use; each second it checks whether the engine still has its data. It never delays the daemon's
 * start: commands are rejected until it is ready.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { isCount } from "../../../shared/checked.js";
import type { Log } from "../../../shared/log.js";
import { engineRetryMsMax } from "../../bounds.js";
import { createEcho, type Echo } from "./channel-echo.js";
import {
  EngineAwayError,
  type EngineConnection,
  EngineRefusedError,
  type EngineState,
} from "./engine.js";
import type { ClientOptions, EngineClient, OpenClient } from "./engine-client.js";
import { commandScript, createCommands, createScriptRunner } from "./engine-commands.js";
import {
  type EngineCommand,
  EngineFault,
  faultOf,
  isAboutCommand,
  refusalOf,
  refusesWrites,
} from "./engine-faults.js";
import { type EngineFindings, examineEngine } from "./examine-engine.js";
import { identifyEngine, takesWrites } from "./identify-engine.js";

interface ConnectOptions {
  readonly clusterName: string;
  readonly open: OpenClient;
  readonly log: Pick<Log, "info" | "warn">;
  readonly nowMs: () => number;
  /** Resolves when the next check of the engine's identity is due. */
  readonly nextProbe: () => Promise<void>;
}

/** How long an attempt to connect may take, in ms. */
const openMsMax = 10_000;
const retryMsMin = 100;

interface Link extends ConnectOptions {
  state: EngineState;
  client: EngineClient | null;
  /** Ends the connection, or the attempt to open one. */
  onBroken: (why: Error) => void;
  /** Why the engine refuses writes although it answers; usually null. */
  refusing: string | null;
  /** The replication id of each server, as last reported. */
  replicationIds: ReadonlyMap<string, string>;
  readonly ended: AbortController;
  /** Rejects each waiting question: a client that has ended may never answer. */
  readonly waiting: Set<(why: Error) => void>;
  readonly watchers: Set<(state: EngineState) => void>;
  readonly channels: Map<string, Set<(message: string) => void>>;
  /** Whether published messages arrive. */
  readonly echo: Echo;
  /** The subscribers of each channel, as the engine reports. */
  subscribers: ReadonlyMap<string, number>;
  /** Warnings that still apply and aren't logged again. */
  warned: ReadonlySet<string>;
}

export function connectEngine(options: ConnectOptions): EngineConnection {
  const link: Link = {
    ...options,
    state: { kind: "connecting" },
    client: null,
    onBroken: () => {},
    refusing: null,
    replicationIds: new Map(),
    ended: new AbortController(),
    waiting: new Set(),
    watchers: new Set(),
    channels: new Map(),
    echo: createEcho(`sluice:{${options.clusterName}}:echo:${randomUUID()}`),
    subscribers: new Map(),
    warned: new Set(),
  };
  const run = createScriptRunner();
  const running = keepConnected(link);
  return {
    get state() {
      return link.state;
    },
    commands: createCommands((name, key, words) => {
      const keys = key === null ? [] : [key];
      return ask(link, { command: name, keys }, (client) =>
        run(client, commandScript, [keys, [name, ...words]]),
      );
    }),
    call: (script, keys, args) =>
      ask(link, { command: `the script ${script.name}`, keys }, (client) =>
        run(client, script, [keys, args]),
      ),
    subscribe: (channel, listener) => subscribe(link, channel, listener),
    reception: (channel) => ({
      isConfirmed: link.state.kind === "connected" && link.echo.isHeard,
      subscribers: link.subscribers.get(channel) ?? null,
    }),
    watch(changed) {
      link.watchers.add(changed);
      return () => void link.watchers.delete(changed);
    },
    async close() {
      link.ended.abort();
      link.onBroken(new EngineFault("the daemon stops"));
      await running;
    },
  };
}

/** Runs until the connection is closed. */
async function keepConnected(link: Link): Promise<void> {
  const { signal } = link.ended;
  for (let attempt = 0, failures = 0; !signal.aborted; attempt++) {
    const { reason, wasReady } = await runConnection(link, attempt);
    if (signal.aborted) break;
    goAway(link, reason);
    failures = wasReady ? 0 : failures + 1;
    // Random, so that hosts that lost the engine together don't reconnect together.
    const waitMs =
      Math.min(retryMsMin * 2 ** failures, engineRetryMsMax) * (0.5 + Math.random() / 2);
    await pause(waitMs, undefined, { signal, ref: false }).catch(() => {
      // The connection was closed meanwhile.
    });
  }
  link.state = { kind: "away", reason: "the daemon stops", sinceMs: link.nowMs() };
}

/** Opens a connection and waits for its end. `wasReady`: it was ready for use. */
async function runConnection(
  link: Link,
  attempts: number,
): Promise<{ readonly reason: string; readonly wasReady: boolean }> {
  const attempt: Attempt = { client: null, isReady: false, isOver: false };
  const breaks = new Promise<never>((_, reject) => {
    link.onBroken = reject;
  });
  const options = { attempt: attempts, onBroken: link.onBroken, onMessage: receiverFor(link) };
  try {
    const client = await Promise.race([
      breaks,
      makeReady(link, attempt, options),
      deadline(attempt),
    ]);
    await Promise.race([breaks, keepProbing(link, client)]);
    return { reason: "the daemon stops", wasReady: true };
  } catch (error) {
    return { reason: faultOf(error), wasReady: attempt.isReady };
  } finally {
    link.client = null;
    link.subscribers = new Map();
    giveUp(attempt);
    for (const reject of link.waiting)
      reject(new EngineFault("the engine has closed the connection"));
    link.waiting.clear();
  }
}

/** Opens a connection and makes it ready for use. */
async function makeReady(
  link: Link,
  attempt: Attempt,
  options: Parameters<typeof openEngine>[2],
): Promise<EngineClient> {
  const { client, findings } = await openEngine(attempt, link, options);
  logWarnings(link, findings.warnings);
  if (attempt.isOver) throw new EngineFault("the engine hasn't answered in time");
  link.refusing = null;
  link.replicationIds = new Map();
  // From here on, new subscriptions use this connection.
  link.client = client;
  await listen(link, client, false);
  await probe(link, client);
  attempt.isReady = true;
  link.log.info({ engine: findings.version }, "the cluster's engine is reached");
  return client;
}

async function deadline(attempt: Attempt): Promise<never> {
  await pause(openMsMax, undefined, { ref: false });
  if (!attempt.isReady) giveUp(attempt);
  throw new EngineFault("the engine hasn't answered in time");
}

async function keepProbing(link: Link, client: EngineClient): Promise<void> {
  while (!link.ended.signal.aborted) {
    await link.nextProbe();
    await probe(link, client);
  }
}

/** Checks the engine's identity and updates the state. Rejects if the engine can't be used. */
async function probe(link: Link, client: EngineClient): Promise<void> {
  const { epoch, replicationIds, serversAway } = await identifyEngine(client, {
    clusterName: link.clusterName,
    newId: randomUUID,
    knownIds: link.replicationIds,
  });
  if (link.refusing !== null) {
    // The engine answers, but has refused writes.
    if (!(await takesWrites(client, link.clusterName))) return;
    link.refusing = null;
    link.log.info("the cluster's engine takes writes again");
  }
  await checkReception(link, client);
  // The connection may have broken meanwhile.
  if (link.client !== client) return;
  link.replicationIds = replicationIds;
  setState(link, { kind: "connected", epoch, serversAway });
}

function setState(link: Link, next: EngineState): void {
  if (isSameState(link.state, next)) return;
  link.state = next;
  for (const changed of link.watchers) changed(next);
}

function goAway(link: Link, reason: string): void {
  const { state } = link;
  if (state.kind !== "away" || state.reason !== reason)
    link.log.warn({ reason }, "the cluster's engine is away");
  const sinceMs = state.kind === "away" ? state.sinceMs : link.nowMs();
  setState(link, { kind: "away", reason, sinceMs });
}

function logWarnings(link: Link, warnings: readonly string[]): void {
  for (const warning of warnings) if (!link.warned.has(warning)) link.log.warn(warning);
  link.warned = new Set(warnings);
}

type Work<T> = (client: EngineClient) => Promise<T>;

/** Converts failures into the port's errors, which never contain a command's arguments. */
async function ask<T>(link: Link, command: EngineCommand, work: Work<T>): Promise<T> {
  const { client, state } = link;
  if (client === null || state.kind !== "connected")
    throw new EngineAwayError(
      state.kind === "away" ? state.reason : "the engine hasn't been reached yet",
    );
  try {
    return await unlessConnectionEnds(link, work(client));
  } catch (error) {
    // Later answers may be damaged, too.
    if (error instanceof EngineFault && link.client === client) link.onBroken(error);
    if (isAboutCommand(error)) throw new EngineRefusedError(refusalOf(error, command));
    const fault = faultOf(error);
    if (refusesWrites(error) && link.client === client) {
      link.refusing = fault;
      goAway(link, fault);
    }
    throw new EngineAwayError(fault);
  }
}

/** The answer, unless the connection ends first. */
function unlessConnectionEnds<T>({ waiting }: Link, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.add(reject);
    answer.then(resolve, reject).finally(() => waiting.delete(reject));
  });
}

function receiverFor(link: Link): (channel: string, message: string) => void {
  return (channel, message) => {
    link.echo.receive(channel, message);
    for (const listener of link.channels.get(channel) ?? []) listener(message);
  };
}

function listen(link: Link, client: EngineClient, reconnect: boolean): Promise<void> {
  link.echo.clear();
  return client.subscribe([...link.channels.keys(), link.echo.channel], reconnect);
}

/**
 * Publishes a message that only this connection receives, and counts the subscribers of each
 * channel. If earlier messages haven't arrived, the connection subscribes again.
 */
async function checkReception(link: Link, client: EngineClient): Promise<void> {
  if (link.echo.isLost) await listen(link, client, true);
  const channels = [...link.channels.keys()];
  const [, ...counts] = await Promise.all([
    client.send("PUBLISH", [link.echo.channel, link.echo.next()]),
    ...channels.map((channel) => countSubscribers(client, channel)),
  ]);
  if (link.client === client)
    link.subscribers = new Map(channels.map((channel, i) => [channel, counts[i]!]));
}

/** The subscribers on all servers: each server knows only its own. */
async function countSubscribers(client: EngineClient, channel: string): Promise<number> {
  const answered = await Promise.allSettled(
    [...client.primaries().values()].map((send) => send("PUBSUB", ["NUMSUB", channel])),
  );
  let sum = 0;
  for (const result of answered) {
    // A server of a Cluster that is away has no subscribers.
    if (result.status === "rejected" && answered.length > 1) continue;
    if (result.status === "rejected") throw result.reason;
    const count = Array.isArray(result.value) ? Number(result.value[1]) : Number.NaN;
    if (!isCount(count)) throw new EngineFault("an answer to PUBSUB that isn't understood");
    sum += count;
  }
  return sum;
}

function subscribe(link: Link, channel: string, listener: (message: string) => void): () => void {
  const all = link.channels.get(channel) ?? new Set();
  const isFirst = all.size === 0;
  link.channels.set(channel, all.add(listener));
  if (isFirst) subscribeNow(link, channel);
  return () => {
    all.delete(listener);
    // The subscription stays: later messages have no listener.
    if (all.size === 0) link.channels.delete(channel);
  };
}

/**
 * If subscribing fails, the connection is closed; the next connection subscribes before it is used.
 */
function subscribeNow(link: Link, channel: string): void {
  const { client } = link;
  client?.subscribe([channel], false).catch((error: unknown) => {
    if (link.client === client) link.onBroken(new EngineFault(faultOf(error)));
  });
}

function isSameState(one: EngineState, other: EngineState): boolean {
  return comparableText(one) === comparableText(other);
}

function comparableText(state: EngineState): string {
  if (state.kind === "connecting") return state.kind;
  const details = state.kind === "away" ? [state.reason] : [state.epoch, ...state.serversAway];
  return JSON.stringify([state.kind, ...details]);
}

/** One attempt to reach the engine. */
interface Attempt {
  client: EngineClient | null;
  /** Whether the connection is ready for use. */
  isReady: boolean;
  isOver: boolean;
}

interface OpenOptions {
  readonly open: OpenClient;
  readonly clusterName: string;
  readonly nowMs: () => number;
}

async function openEngine(
  attempt: Attempt,
  { open, clusterName, nowMs }: OpenOptions,
  options: Omit<ClientOptions, "asCluster">,
): Promise<{ readonly client: EngineClient; readonly findings: EngineFindings }> {
  const keep = (client: EngineClient): EngineClient => {
    attempt.client?.drop();
    attempt.client = client;
    if (attempt.isOver) client.drop();
    return client;
  };
  let client = keep(await open({ ...options, asCluster: false }));
  let findings = await examineEngine(client, clusterName, nowMs);
  if (findings.isCluster) {
    client = keep(await open({ ...options, asCluster: true }));
    findings = await examineEngine(client, clusterName, nowMs);
  }
  return { client, findings };
}

function giveUp(attempt: Attempt): void {
  attempt.isOver = true;
  attempt.client?.drop();
}
