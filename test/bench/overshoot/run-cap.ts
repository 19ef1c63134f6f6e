/** One run against one cap: load until everything is refused, with or without a kill on the way. */
import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { giveJob } from "../measure/job-channel.js";
import { type Clients, startClients, type Tally, type Target } from "./clients.js";
import type { ProviderJob } from "./provider.js";
import { type Cap, type Figures, figuresOf, type Served, servedIn } from "./work.js";

export interface Run {
  readonly cap: Cap;
  readonly streams: number;
  readonly target: () => Target;
  /** Ends the gateway by SIGKILL in mid-load and starts it again; null: it goes on. */
  readonly crash: (() => Promise<void>) | null;
}

export interface RunResult
  extends Figures,
    Pick<Tally, "sent" | "admitted" | "refused" | "broken"> {
  readonly cap: Cap;
  readonly streams: number;
  readonly killed: boolean;
  /** In the cap's unit. */
  readonly served: number;
  /** The run was ended before the cap refused everything. */
  readonly unfinished: boolean;
  readonly statuses: Readonly<Record<string, number>>;
}

/** Nothing was admitted for so long: the cap is reached. */
const quietMs = 4_000;
const longestMs = 120_000;
/** A gateway that lets through more than this many times the cap doesn't hold it. */
const mostTimes = 20;
/** The interval of an answer's events; those that hold slots are slow. */
const quickMs = 10;
const slowMs = 100;
const slotsMs = 8_000;
const rampMs = { most: 20_000, more: 2_000 };

export async function runCap(provider: ChildProcess, run: Run): Promise<RunResult> {
  const everyMs = run.cap.unit === "slots" ? slowMs : quickMs;
  const count = (reset = false): Promise<Served> =>
    giveJob<ProviderJob, Served>(provider, { reset: reset ? { everyMs } : null });
  // A call of the run before may still be open.
  for (let i = 0; i < 100 && (await count()).running > 0; i++) await delay(50);
  await count(true);
  return run.cap.unit === "slots" ? runSlots(run, count) : runAmount(run, count);
}

type Count = (reset?: boolean) => Promise<Served>;

async function runAmount(run: Run, count: Count): Promise<RunResult> {
  const { cap, streams, target, crash } = run;
  let clients = startClients(target, streams);
  const tallies = [clients.tally];
  if (crash !== null) {
    await until(clients, async () => servedIn(cap.unit, await count()) >= cap.amount / 2);
    await crashUnder(clients, crash);
    // One after the other, so that what lies beyond the cap was lost in the crash.
    clients = startClients(target, 1, 1_000_000);
    tallies.push(clients.tally);
  }
  const unfinished = await until(clients, async () => {
    const { tally } = clients;
    if (servedIn(cap.unit, await count()) > mostTimes * cap.amount) return true;
    const quiet = performance.now() - tally.lastAdmittedMs > quietMs;
    return quiet && tally.refused > 0 && (await count()).running === 0;
  });
  await clients.stop();
  const served = await count();
  const isBeyond = servedIn(cap.unit, served) > mostTimes * cap.amount;
  return resultOf(run, tallies, served, { busyShare: null, unfinished: unfinished || isBeyond });
}

async function runSlots(run: Run, count: Count): Promise<RunResult> {
  const { cap, streams, target, crash } = run;
  let clients = startClients(target, streams);
  const tallies = [clients.tally];
  await full(run, count);
  if (crash !== null) {
    await crashUnder(clients, crash);
    await count(true);
    clients = startClients(target, streams, 1_000_000);
    tallies.push(clients.tally);
    await full(run, count);
  }
  const [before, beforeMs] = [await count(), performance.now()];
  await delay(slotsMs);
  const [after, afterMs] = [await count(), performance.now()];
  await clients.stop();
  const busyShare = (after.busyMs - before.busyMs) / (afterMs - beforeMs) / cap.amount;
  return resultOf(run, tallies, await count(), { busyShare, unfinished: false });
}

/** Until all slots were taken once, which takes some gateways long under many requests. */
async function full({ cap }: Run, count: Count): Promise<void> {
  const endMs = performance.now() + rampMs.most;
  while ((await count()).peak < cap.amount && performance.now() < endMs) await delay(100);
  await delay(rampMs.more);
}

/** True when the run took too long. */
async function until(clients: Clients, isOver: () => Promise<boolean>): Promise<boolean> {
  const endMs = performance.now() + longestMs;
  clients.tally.lastAdmittedMs = performance.now();
  while (!(await isOver())) {
    if (performance.now() > endMs) return true;
    await delay(100);
  }
  return false;
}

async function crashUnder(clients: Clients, crash: () => Promise<void>): Promise<void> {
  const stopped = clients.stop();
  await crash();
  await stopped;
}

function resultOf(
  { cap, streams, crash }: Run,
  tallies: readonly Tally[],
  served: Served,
  { busyShare, unfinished }: { readonly busyShare: number | null; readonly unfinished: boolean },
): RunResult {
  const killed = crash !== null;
  const sum = (key: "sent" | "admitted" | "refused" | "broken"): number =>
    tallies.reduce((total, tally) => total + tally[key], 0);
  const statuses: Record<string, number> = {};
  for (const tally of tallies)
    for (const [status, times] of tally.statuses)
      statuses[status] = (statuses[status] ?? 0) + times;
  return {
    cap,
    streams,
    killed,
    served: servedIn(cap.unit, served),
    unfinished,
    sent: sum("sent"),
    admitted: sum("admitted"),
    refused: sum("refused"),
    broken: sum("broken"),
    statuses,
    ...figuresOf({ cap, served, busyShare, killed }),
  };
}
