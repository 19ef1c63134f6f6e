/**
 * The engine's functions over counters once more, in TypeScript: what unit tests and the simulation
 * share counters through, and what the scripts are compared with.
 */
import { leftSlotsMs, settleMs, slotsValidMs } from "../../../limiterd/bounds.js";
import { addCount, type Halves, noHalves, rollHalves } from "../../../limiterd/cluster/halves.js";
import type {
  CounterName,
  CounterTotals,
  ReadCounter,
  SharedLimits,
  SyncQuestion,
  SyncReply,
  SyncStatus,
} from "../../../limiterd/cluster/shared-limits.js";
import { estimateRequests } from "../../../limiterd/counters/window.js";

/** What one host has told of one counter. `units` has the frozen ones in it. */
interface Row {
  readonly start: number;
  readonly seq: number;
  readonly atMs: number;
  readonly units: Halves;
  readonly frozen: Halves;
  readonly tokens: Halves;
  readonly slots: number;
  readonly slotsUntilMs: number;
  readonly frozenSlots: number;
  readonly frozenSlotsUntilMs: number;
}

interface Counter {
  generation: number;
  readonly bornMs: number;
  settlesMs: number;
  expiresMs: number;
  readonly rows: Map<string, Row>;
}

/** Who asks: the host, and the number of its daemon's start. */
export interface Asker {
  readonly hostId: string;
  readonly start: number;
}

export interface CounterTwin {
  sync(asker: Asker, question: SyncQuestion, nowMs: number): SyncReply;
  /** `hostId`: the asking host. Without it, the tokens and slots are those of all hosts. */
  read(counter: ReadCounter, nowMs: number, hostId?: string): CounterTotals;
  /** As FLUSHALL does. */
  wipe(): void;
  /** What it holds, to be put back later: as a server that takes over from an older copy. */
  copy(): () => void;
}

export function createCounterTwin(): CounterTwin {
  const counters = new Map<string, Counter>();
  const live = (name: CounterName, nowMs: number): Counter | undefined => {
    const key = `${name.ruleId}\n${name.child}`;
    const counter = counters.get(key);
    if (counter === undefined || counter.expiresMs > nowMs) return counter;
    counters.delete(key);
    return undefined;
  };
  return {
    sync(asker, question, nowMs) {
      const known = live(question, nowMs);
      const refused = refusal(asker, question, known, nowMs);
      if (refused !== "synced")
        return { ...nothing, status: refused, ...totalsOf(known!, question.periodMs, nowMs) };
      const counter = known ?? {
        generation: question.generation,
        bornMs: nowMs,
        settlesMs: 0,
        expiresMs: 0,
        rows: new Map<string, Row>(),
      };
      counters.set(`${question.ruleId}\n${question.child}`, counter);
      return syncCounter(counter, asker, question, nowMs);
    },
    read(name, nowMs, hostId) {
      const counter = live(name, nowMs);
      const all = totalsOf(counter, name.periodMs, nowMs, hostId);
      if (counter === undefined || name.generation <= counter.generation) return all;
      const { slots } = all.totals;
      const none = { requests: 0, requestsBefore: 0, tokens: 0, tokensBefore: 0 };
      return { ...all, totals: { ...none, slots } };
    },
    wipe: () => counters.clear(),
    copy() {
      const kept = [...counters].map(
        ([key, counter]) => [key, { ...counter, rows: new Map(counter.rows) }] as const,
      );
      return () => {
        counters.clear();
        for (const [key, counter] of kept) counters.set(key, counter);
      };
    },
  };
}

/** Counters that are shared by one host: each question is answered at once. */
export function createTwinLimits(
  twin: CounterTwin,
  asker: Asker,
  nowMs: () => number,
): SharedLimits {
  return {
    sync: async (questions) => questions.map((question) => twin.sync(asker, question, nowMs())),
    read: async (names) => names.map((name) => twin.read(name, nowMs(), asker.hostId)),
  };
}

const nothing = { granted: 0, slotsGranted: 0, frozen: 0, frozenBefore: 0, settlingMs: 0 };

function refusal(
  { hostId, start }: Asker,
  { generation, seq }: SyncQuestion,
  counter: Counter | undefined,
  nowMs: number,
): SyncStatus {
  if (counter === undefined || generation > counter.generation) return "synced";
  if (generation < counter.generation) return "stale_generation";
  const row = counter.rows.get(hostId);
  if (row === undefined || nowMs - row.atMs >= slotsValidMs) return "synced";
  if (start > row.start) return "synced";
  if (start < row.start) return "superseded";
  return seq > row.seq ? "synced" : "stale";
}

function syncCounter(
  counter: Counter,
  { hostId, start }: Asker,
  question: SyncQuestion,
  nowMs: number,
): SyncReply {
  const { periodMs, units, slots } = question;
  const keptMs = 2 * periodMs + slotsValidMs;
  if (question.generation > counter.generation) {
    counter.generation = question.generation;
    counter.rows.clear();
  }
  const before = counter.rows.get(hostId);
  noticeLoss(counter, before, { start, question, nowMs });
  counter.settlesMs = Math.min(counter.settlesMs, nowMs + settleMs);
  for (const [host, row] of counter.rows)
    if (row.atMs + keptMs <= nowMs && host !== hostId) counter.rows.delete(host);

  const window = windowAt(periodMs, nowMs);
  const stated = restate(before, { start, question, nowMs });
  counter.rows.set(hostId, stated);
  const { totals } = totalsOf(counter, periodMs, nowMs);
  const settlingMs = Math.max(0, counter.settlesMs - nowMs);
  const estimate =
    periodMs === 0
      ? totals.requests
      : estimateRequests(
          {
            startMs: window * periodMs,
            previousRequests: totals.requestsBefore,
            currentRequests: totals.requests,
            previousTokens: 0,
            currentTokens: 0,
          },
          periodMs,
          nowMs,
        );
  const granted = settlingMs > 0 ? 0 : grant(units.wanted, question.capRequests, estimate);
  const slotsGranted = settlingMs > 0 ? 0 : grant(slots.wanted, question.capSlots, totals.slots);
  const ownSlots = addCount(slots.inUse, slotsGranted);
  counter.rows.set(hostId, {
    ...stated,
    units: { ...stated.units, current: addCount(stated.units.current, granted) },
    slots: ownSlots,
    slotsUntilMs: ownSlots > 0 ? nowMs + slotsValidMs : 0,
  });
  counter.expiresMs = nowMs + keptMs;
  return {
    status: "synced",
    ...totalsOf(counter, periodMs, nowMs),
    granted,
    slotsGranted,
    frozen: stated.frozen.current,
    frozenBefore: stated.frozen.previous,
    settlingMs,
  };
}

interface Asked {
  readonly start: number;
  readonly question: SyncQuestion;
  readonly nowMs: number;
}

/** The host's row as the question states it, before anything is granted. */
function restate(before: Row | undefined, { start, question, nowMs }: Asked): Row {
  const { units, periodMs } = question;
  const window = windowAt(periodMs, nowMs);
  const again = before !== undefined && start > before.start;
  const kept = rollHalves((again ? before.units : before?.frozen) ?? noHalves, window);
  const reported = rollHalves(
    { window: units.window, current: units.frozen, previous: units.frozenBefore },
    window,
  );
  const frozen = {
    window,
    current: Math.max(kept.current, reported.current),
    previous: Math.max(kept.previous, reported.previous),
  };
  const spent = rollHalves(
    { window: units.window, current: units.spent, previous: units.spentBefore },
    window,
  );
  const held = units.window >= window ? units.held : 0;
  const frozenSlots = before !== undefined && before.frozenSlotsUntilMs > nowMs;
  const leftSlots = again && before.slotsUntilMs > nowMs;
  return {
    start,
    seq: question.seq,
    atMs: nowMs,
    units: {
      window,
      current: addCount(addCount(frozen.current, spent.current), held),
      previous: addCount(frozen.previous, spent.previous),
    },
    frozen,
    tokens: rollHalves(question.tokens, window),
    slots: question.slots.inUse,
    slotsUntilMs: nowMs + slotsValidMs,
    frozenSlots: addCount(frozenSlots ? before.frozenSlots : 0, leftSlots ? before.slots : 0),
    frozenSlotsUntilMs: Math.max(
      frozenSlots ? before.frozenSlotsUntilMs : 0,
      leftSlots ? Math.min(before.slotsUntilMs, nowMs + leftSlotsMs) : 0,
    ),
  };
}

/** Grants nothing for a while when this host was told something that the engine doesn't know of. */
function noticeLoss(
  counter: Counter,
  row: Row | undefined,
  { question: { syncedMs, periodMs }, nowMs }: Asked,
): void {
  if (syncedMs === 0 || syncedMs + 2 * periodMs + slotsValidMs <= nowMs) return;
  if (row === undefined) {
    // Once after it was lost: whoever restates later is counted from then on anyway.
    if (nowMs < counter.bornMs + settleMs)
      counter.settlesMs = Math.max(counter.settlesMs, counter.bornMs + settleMs);
  } else if (row.atMs < syncedMs && counter.settlesMs + slotsValidMs <= nowMs)
    counter.settlesMs = nowMs + settleMs;
}

function grant(wanted: number, cap: number | null, counted: number): number {
  return cap === null ? wanted : Math.max(0, Math.min(wanted, cap - counted));
}

function windowAt(periodMs: number, nowMs: number): number {
  return periodMs === 0 ? 0 : Math.floor(nowMs / periodMs);
}

function totalsOf(
  counter: Counter | undefined,
  periodMs: number,
  nowMs: number,
  without?: string,
): CounterTotals {
  const window = windowAt(periodMs, nowMs);
  const totals = { requests: 0, requestsBefore: 0, tokens: 0, tokensBefore: 0, slots: 0 };
  for (const [host, row] of counter?.rows ?? []) {
    const units = rollHalves(row.units, window);
    const isOwn = host === without;
    const tokens = isOwn ? noHalves : rollHalves(row.tokens, window);
    totals.requests = addCount(totals.requests, units.current);
    totals.requestsBefore = addCount(totals.requestsBefore, units.previous);
    totals.tokens = addCount(totals.tokens, tokens.current);
    totals.tokensBefore = addCount(totals.tokensBefore, tokens.previous);
    if (row.slotsUntilMs > nowMs && !isOwn) totals.slots = addCount(totals.slots, row.slots);
    if (row.frozenSlotsUntilMs > nowMs) totals.slots = addCount(totals.slots, row.frozenSlots);
  }
  return { nowMs, window, totals };
}
