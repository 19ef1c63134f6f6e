/**
 * The connection to the engine as the daemon has it: opened again whenever it breaks, examined
 * before it is used, and asked each second whether the engine is still the one that was told all.
 * It never holds up the daemon's start: until it stands, every command is rejected.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { isCount } from "../../../shared/checked.js";
import type { Log } from "../../../shared/log.js";
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
  type Asked,
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
  /** Resolved when the engine is to be asked again whether it is still the same. */
  readonly nextProbe: () => Promise<void>;
}

/** How long an attempt may take. */
const openMsMax = 10_000;
const retryMsMin = 100;
const retryMsMax = 3000;

interface Link extends ConnectOptions {
  state: EngineState;
  client: EngineClient | null;
  /** Ends the connection, or the attempt to have one. */
  broken: (why: Error) => void;
  /** What the engine refuses at present, though it answers; null: nothing. */
  refusing: string | null;
  /** Of each server, as last told by it. */
  replicationIds: ReadonlyMap<string, string>;
  readonly ended: AbortController;
  /** Rejects each question that waits: its client may never answer once it has ended. */
  readonly waiting: Set<(why: Error) => void>;
  readonly watchers: Set<(state: EngineState) => void>;
  readonly channels: Map<string, Set<(message: string) => void>>;
  /** Whether what is published arrives. */
  readonly echo: Echo;
  /** Of each channel, as the engine says. */
  subscribers: ReadonlyMap<string, number>;
  /** Whatever was warned of and still holds isn't said again. */
  warned: ReadonlySet<string>;
}

export function connectEngine(options: ConnectOptions): EngineConnection {
  const link: Link = {
    ...options,
    state: { kind: "connecting" },
    client: null,
    broken: () => {},
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
      return ask(link, { what: name, keys }, (client) =>
        run(client, commandScript, [keys, [name, ...words]]),
      );
    }),
    call: (script, keys, args) =>
      ask(link, { what: `the script ${script.name}`, keys }, (client) =>
        run(client, script, [keys, args]),
      ),
    subscribe: (channel, heard) => subscribe(link, channel, heard),
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
      link.broken(new EngineFault("the daemon stops"));
      await running;
    },
  };
}

/** Until it is closed. */
async function keepConnected(link: Link): Promise<void> {
  const { signal } = link.ended;
  for (let attempt = 0, failures = 0; !signal.aborted; attempt++) {
    const { reason, stood } = await oneConnection(link, attempt);
    if (signal.aborted) break;
    goAway(link, reason);
    failures = stood ? 0 : failures + 1;
    // Hosts that lost the engine together don't come back in one moment.
    const waitMs = Math.min(retryMsMin * 2 ** failures, retryMsMax) * (0.5 + Math.random() / 2);
    await pause(waitMs, undefined, { signal, ref: false }).catch(() => {
      // It was closed meanwhile.
    });
  }
  link.state = { kind: "away", reason: "the daemon stops", sinceMs: link.nowMs() };
}

/** From opening a connection to its end; `stood`: it was of use. */
async function oneConnection(
  link: Link,
  attempts: number,
): Promise<{ readonly reason: string; readonly stood: boolean }> {
  const attempt: Attempt = { client: null, stands: false, isOver: false };
  const breaks = new Promise<never>((_, reject) => {
    link.broken = reject;
  });
  const options = { attempt: attempts, broken: link.broken, heard: heardBy(link) };
  try {
    const client = await Promise.race([breaks, stand(link, attempt, options), deadline(attempt)]);
    await Promise.race([breaks, probing(link, client)]);
    return { reason: "the daemon stops", stood: true };
  } catch (error) {
    return { reason: faultOf(error), stood: attempt.stands };
  } finally {
    link.client = null;
    link.subscribers = new Map();
    giveUp(attempt);
    for (const reject of link.waiting)
      reject(new EngineFault("the engine has closed the connection"));
    link.waiting.clear();
  }
}

/** A connection that is of use. */
async function stand(
  link: Link,
  attempt: Attempt,
  options: Parameters<typeof openEngine>[2],
): Promise<EngineClient> {
  const { client, findings } = await openEngine(attempt, link, options);
  warnOf(link, findings.warnings);
  if (attempt.isOver) throw new EngineFault("the engine hasn't answered in time");
  link.refusing = null;
  link.replicationIds = new Map();
  // From here on, subscriptions are made on this connection.
  link.client = client;
  await listen(link, client, false);
  await probe(link, client);
  attempt.stands = true;
  link.log.info({ engine: findings.version }, "the cluster's engine is reached");
  return client;
}

async function deadline(attempt: Attempt): Promise<never> {
  await pause(openMsMax, undefined, { ref: false });
  if (!attempt.stands) giveUp(attempt);
  throw new EngineFault("the engine hasn't answered in time");
}

async function probing(link: Link, client: EngineClient): Promise<void> {
  while (!link.ended.signal.aborted) {
    await link.nextProbe();
    await probe(link, client);
  }
}

/** Asks who the engine is, and says so. Rejects if it can't be used. */
async function probe(link: Link, client: EngineClient): Promise<void> {
  const { epoch, replicationIds, serversAway } = await identifyEngine(client, {
    clusterName: link.clusterName,
    newId: randomUUID,
    known: link.replicationIds,
  });
  if (link.refusing !== null) {
    // It answers, but takes no writes.
    if (!(await takesWrites(client, link.clusterName))) return;
    link.refusing = null;
    link.log.info("the cluster's engine takes writes again");
  }
  await checkReception(link, client);
  // Meanwhile it may have broken.
  if (link.client !== client) return;
  link.replicationIds = replicationIds;
  become(link, { kind: "connected", epoch, serversAway });
}

function become(link: Link, next: EngineState): void {
  if (isSameState(link.state, next)) return;
  link.state = next;
  for (const changed of link.watchers) changed(next);
}

function goAway(link: Link, reason: string): void {
  const { state } = link;
  if (state.kind !== "away" || state.reason !== reason)
    link.log.warn({ reason }, "the cluster's engine is away");
  const sinceMs = state.kind === "away" ? state.sinceMs : link.nowMs();
  become(link, { kind: "away", reason, sinceMs });
}

function warnOf(link: Link, warnings: readonly string[]): void {
  for (const warning of warnings) if (!link.warned.has(warning)) link.log.warn(warning);
  link.warned = new Set(warnings);
}

type Work<T> = (client: EngineClient) => Promise<T>;

/** What goes wrong becomes one of the port's errors; none holds the words of a command. */
async function ask<T>(link: Link, asked: Asked, work: Work<T>): Promise<T> {
  const { client, state } = link;
  if (client === null || state.kind !== "connected")
    throw new EngineAwayError(
      state.kind === "away" ? state.reason : "the engine hasn't been reached yet",
    );
  try {
    return await untilEnded(link, work(client));
  } catch (error) {
    // The answers that come next may be damaged, too.
    if (error instanceof EngineFault && link.client === client) link.broken(error);
    if (isAboutCommand(error)) throw new EngineRefusedError(refusalOf(error, asked));
    const fault = faultOf(error);
    if (refusesWrites(error) && link.client === client) {
      link.refusing = fault;
      goAway(link, fault);
    }
    throw new EngineAwayError(fault);
  }
}

/** The answer, unless the connection ends first. */
function untilEnded<T>({ waiting }: Link, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.add(reject);
    answer.then(resolve, reject).finally(() => waiting.delete(reject));
  });
}

function heardBy(link: Link): (channel: string, message: string) => void {
  return (channel, message) => {
    link.echo.heard(channel, message);
    for (const heard of link.channels.get(channel) ?? []) heard(message);
  };
}

function listen(link: Link, client: EngineClient, reconnect: boolean): Promise<void> {
  link.echo.clear();
  return client.subscribe([...link.channels.keys(), link.echo.channel], reconnect);
}

/**
 * Publishes a message for this connection alone, and asks how many subscribe to each channel. If
 * the earlier messages haven't arrived, the connection subscribes again.
 */
async function checkReception(link: Link, client: EngineClient): Promise<void> {
  if (link.echo.isLost) await listen(link, client, true);
  const channels = [...link.channels.keys()];
  const [, ...counts] = await Promise.all([
    client.send("PUBLISH", [link.echo.channel, link.echo.next()]),
    ...channels.map((channel) => countSubscribers(client, channel)),
  ]);
  if (link.client === client)
    link.subscribers = new Map(channels.map((each, i) => [each, counts[i]!]));
}

/** On all servers: each knows its own. */
async function countSubscribers(client: EngineClient, channel: string): Promise<number> {
  const told = await Promise.allSettled(
    [...client.primaries().values()].map((send) => send("PUBSUB", ["NUMSUB", channel])),
  );
  let sum = 0;
  for (const each of told) {
    // A server of a Cluster that is away has none.
    if (each.status === "rejected" && told.length > 1) continue;
    if (each.status === "rejected") throw each.reason;
    const count = Array.isArray(each.value) ? Number(each.value[1]) : Number.NaN;
    if (!isCount(count)) throw new EngineFault("an answer to PUBSUB that isn't understood");
    sum += count;
  }
  return sum;
}

function subscribe(link: Link, channel: string, heard: (message: string) => void): () => void {
  const all = link.channels.get(channel) ?? new Set();
  const isFirst = all.size === 0;
  link.channels.set(channel, all.add(heard));
  if (isFirst) subscribeNow(link, channel);
  return () => {
    all.delete(heard);
    // What still arrives there has no listener.
    if (all.size === 0) link.channels.delete(channel);
  };
}

/** A connection that can't is given up: the next one subscribes before it is used. */
function subscribeNow(link: Link, channel: string): void {
  const { client } = link;
  client?.subscribe([channel], false).catch((error: unknown) => {
    if (link.client === client) link.broken(new EngineFault(faultOf(error)));
  });
}

function isSameState(one: EngineState, other: EngineState): boolean {
  return textOf(one) === textOf(other);
}

function textOf(state: EngineState): string {
  if (state.kind === "connecting") return state.kind;
  const said = state.kind === "away" ? [state.reason] : [state.epoch, ...state.serversAway];
  return JSON.stringify([state.kind, ...said]);
}

/** What there is of it, for whoever gives it up. */
interface Attempt {
  client: EngineClient | null;
  /** It is of use: nothing is to be waited for. */
  stands: boolean;
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
