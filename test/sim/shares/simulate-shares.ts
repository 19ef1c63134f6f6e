/**
 * Histories of a cap that children of a path share, each from a seed: requests that wait, run and
 * settle, while connections break, proxies are killed, the daemon crashes, and the shares change.
 * The steps are the daemon's own, on a store in memory.
 *
 * Invariants, after each event: no slot is free for a request that waits, unless a floor keeps it;
 * others get no room of a floor that its owner wants; within a child, the order is that of arrival,
 * and a new request passes only on its floor; the weighted services of two children of one priority
 * that always wait differ by a constant at most. At rest: every request was answered, and no slot
 * is taken.
 */
import { judgeAgainMs, waitTickMs } from "../../../limiterd/bounds.js";
import { slotWantMs, whole } from "../../../limiterd/counters/shared-cap.js";
import { estimateRequests, rollWindow } from "../../../limiterd/counters/window.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { type ChildShares, shareOfChild } from "../../../shared/domain/child-shares.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Lease, Settle } from "../../../shared/wire/message-to-daemon.js";
import {
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../../limiterd/in-memory-daemon.js";
import { createRandom, type Random } from "../random.js";
import type { SimulationResult } from "../simulate.js";

const waiting = { maxMs: 86_400_000, defaultMs: 0, paths: [] };
const windowSeconds = 10;
const longMs = 3_600_000;

interface Asked {
  readonly id: number;
  readonly child: Child;
  readonly atMs: number;
  /** As `atMs` if it doesn't wait. */
  readonly deadlineMs: number;
  isQueued: boolean;
}

interface Running {
  readonly lease: Lease;
  readonly child: Child;
  readonly cost: number;
  readonly endMs: number;
}

/** The end of a request that the daemon may not have written. */
interface Ended {
  readonly settle: Settle;
  readonly child: Child;
  readonly cost: number;
}

class SharesProxy {
  readonly id: string;
  peer: TestPeer;
  read = 0;
  seq = 0;
  isLinked = true;
  readonly asked = new Map<number, Asked>();
  running: Running[] = [];
  unsent: Ended[] = [];
  unwritten: Settle[] = [];

  constructor(id: string, peer: TestPeer) {
    this.id = id;
    this.peer = peer;
  }
}

/** A child of a shared cap: as the daemon may see it, and what it was charged. */
class Child {
  /** Whose children share a cap: "" or a template's child. */
  readonly group: string;
  /** "" is the path itself. */
  readonly name: string;
  readonly path: string;
  readonly costMax: number;
  /** How many requests it keeps waiting; null: it sends none. */
  backlog: number | null;
  served = 0;
  /** The daemon noted its last request at some time between these. */
  askedMs = Number.NEGATIVE_INFINITY;
  askedAtMostMs = Number.NEGATIVE_INFINITY;
  /** Since when it has waited although there was room. */
  hasRoomSinceMs: number | null = null;

  constructor(group: string, name: string, costMax: number, backlog: number) {
    this.backlog = backlog;
    this.group = group;
    this.name = name;
    this.costMax = costMax;
    this.path = ["/team", group, name].filter((part) => part !== "").join("/");
  }
}

class Violation extends Error {}

function must(isTrue: boolean, text: () => string): void {
  if (!isTrue) throw new Violation(text());
}

class History {
  readonly random: Random;
  readonly tally = new Map<string, number>();
  readonly lines: string[] = [];
  readonly children: readonly Child[];
  readonly #isSlots: boolean;
  readonly #cap: number;
  readonly #hasFloors: boolean;
  readonly #hasPriorities: boolean;
  rule: RuleDefinition;
  daemon: TestDaemon;
  proxies: SharesProxy[] = [];
  events = 0;
  hash = 0;
  isEnding = false;
  #lastId = 1;
  #proxyId = 0;
  /** The services of two children since which both have waited. */
  readonly #pairs = new Map<string, readonly [number, number]>();
  /** The most that the requests in flight of a group could cost, by weight. */
  readonly #mostInFlight = new Map<string, number>();

  constructor(seed: number) {
    const random = createRandom(seed);
    this.random = random;
    this.#isSlots = random.chance(0.7);
    this.#cap = this.#isSlots ? random.int(1, 6) : random.int(5, 30);
    this.#hasFloors = random.chance(0.5);
    this.#hasPriorities = random.chance(0.3);
    const groups = random.chance(0.25) ? ["t1", "t2"] : [""];
    const names = ["a", "b", "c", "d", ""].slice(0, random.int(2, 5));
    this.children = groups.flatMap((group) =>
      names.map((name) => new Child(group, name, random.pick([1, 10, 100]), random.pick([0, 3]))),
    );
    const periodSeconds = this.#isSlots ? 0 : windowSeconds;
    this.rule = {
      ...pathRule("/team", periodSeconds, { requests: this.#cap }),
      perChild: groups[0] !== "",
      childShares: this.#drawShares(),
    };
    this.daemon = startDaemon([this.rule], { waiting });
    for (let i = 0; i < 3; i++) this.#newProxy();
  }

  get #shares(): ChildShares {
    return this.rule.childShares!;
  }

  #drawShares(): ChildShares {
    const { random } = this;
    const share = () => ({
      weight: random.pick([0.5, 1, 2, 3]),
      ...(this.#hasFloors && random.chance(0.5) ? { floor: random.pick([0.2, 0.25]) } : {}),
      ...(this.#hasPriorities ? { priority: random.int(0, 1) } : {}),
    });
    const named = ["a", "b", "c", "d"].filter(() => random.chance(0.7));
    return { min_share: 0.2, children: Object.fromEntries(named.map((name) => [name, share()])) };
  }

  #newProxy(): void {
    const id = `p${++this.#proxyId}`;
    this.proxies.push(new SharesProxy(id, this.daemon.proxy(id)));
  }

  note(kind: string, detail = ""): void {
    this.tally.set(kind, (this.tally.get(kind) ?? 0) + 1);
    this.events++;
    const line = `${this.daemon.nowMs % 1e8} ${kind} ${detail}`;
    for (const letter of line) this.hash = (Math.imul(this.hash, 31) + letter.charCodeAt(0)) | 0;
    this.lines.push(line);
    if (this.lines.length > 60) this.lines.shift();
  }

  async step(): Promise<void> {
    const { random, daemon } = this;
    daemon.nowMs += random.int(1, 4) * waitTickMs;
    if (random.chance(0.7)) await this.#tick();
    this.#endDue();
    if (random.chance(0.008)) {
      // One is alone, or none is there.
      for (const child of this.children) child.backlog = null;
      if (random.chance(0.7)) random.pick(this.children).backlog = 3;
    }
    for (const child of this.children) {
      if (this.isEnding) break;
      if (random.chance(0.004)) child.backlog = random.pick([null, null, 0, 3, 3]);
      const missing = (child.backlog ?? 0) - this.#waiting(child).length;
      for (let i = 0; i < missing; i++) this.#ask(child, longMs);
    }
    const kind = random.next();
    if (this.isEnding) for (const proxy of this.proxies) this.#link(proxy);
    else if (kind < 0.3) this.#askSometimes(random.pick(this.children));
    else if (kind < 0.32) this.#cancel();
    else if (kind < 0.33) this.#cut(random.pick(this.proxies));
    else if (kind < 0.5) this.#link(random.pick(this.proxies));
    else if (kind < 0.505) this.#kill(random.pick(this.proxies));
    else if (kind < 0.53) await this.#write();
    else if (kind < 0.533) await this.#crash();
    else if (kind < 0.537) this.#edit();
    await this.#tick();
  }

  #askSometimes(child: Child): void {
    const { random } = this;
    const waitMs = random.pick([0, 0, random.int(1, 10) * 1000, longMs]);
    if (child.backlog !== null) this.#ask(child, waitMs);
  }

  async #tick(): Promise<void> {
    const before = this.#before();
    await this.daemon.commit();
    this.#readAnswers(before, null);
    this.#checkRoom();
  }

  /** Sends one message and reads what it has caused. */
  #send(peer: TestPeer, message: Parameters<TestPeer["send"]>[0], asks: Asked | null = null): void {
    const before = this.#before();
    peer.send(message);
    this.#readAnswers(before, asks);
  }

  #ask(child: Child, waitMs: number): void {
    const proxy = this.random.pick(this.proxies);
    if (!proxy.isLinked) return;
    const atMs = this.daemon.nowMs;
    const id = ++this.#lastId;
    const asked: Asked = { id, child, atMs, deadlineMs: atMs + waitMs, isQueued: false };
    proxy.asked.set(id, asked);
    this.#sendAsked(proxy, asked);
  }

  #sendAsked({ peer }: SharesProxy, asked: Asked): void {
    const { id, child, atMs, deadlineMs } = asked;
    const askedMs = deadlineMs - atMs;
    const waitedMs = this.daemon.nowMs - atMs;
    // Some proxies are told the places.
    const told = id % 3 === 0 ? { placeEveryMs: 700 } : {};
    const wait = { askedMs, timeoutMs: null, waitedMs, ...told };
    this.#send(
      peer,
      {
        ...{ kind: "admit", id, userPath: child.path, credential: "authenticated", read: 0 },
        ...{ targets: [target], submission: false },
        ...(askedMs > 0 ? { wait } : {}),
      },
      asked,
    );
  }

  #endDue(): void {
    const { nowMs } = this.daemon;
    for (const proxy of this.proxies) {
      const due = proxy.running.filter(({ endMs }) => endMs <= nowMs);
      proxy.running = proxy.running.filter(({ endMs }) => endMs > nowMs);
      for (const { lease, child, cost } of due)
        proxy.unsent.push({ settle: settleOf(lease, ++proxy.seq, cost), child, cost });
      this.#settle(proxy);
    }
  }

  #settle(proxy: SharesProxy): void {
    while (proxy.isLinked && proxy.unsent.length > 0) {
      const { settle, child, cost } = proxy.unsent.shift()!;
      proxy.unwritten.push(settle);
      if (this.#isSlots) child.served += cost;
      this.note("settled", `${settle.lease} ${child.path} ${cost}`);
      this.#send(proxy.peer, settle);
    }
  }

  #cancel(): void {
    const proxy = this.random.pick(this.proxies);
    const [asked] = [...proxy.asked.values()].filter(({ isQueued }) => isQueued);
    if (asked === undefined || !proxy.isLinked) return;
    this.note("cancelled", `${asked.id}`);
    this.#send(proxy.peer, { kind: "cancel", id: asked.id });
  }

  #cut(proxy: SharesProxy): void {
    if (!proxy.isLinked) return;
    this.note("connection lost", proxy.id);
    const before = this.#before();
    proxy.isLinked = false;
    for (const asked of proxy.asked.values()) asked.isQueued = false;
    proxy.peer.close();
    this.#readAnswers(before, null);
  }

  #link(proxy: SharesProxy): void {
    if (proxy.isLinked) return;
    this.note("reconnected", proxy.id);
    const { nowMs } = this.daemon;
    const leases = [
      ...proxy.running.map(({ lease }) => lease),
      ...proxy.unsent.map(({ settle }) => leaseOfSettle(settle)),
    ];
    const before = this.#before();
    proxy.peer = this.daemon.proxy(proxy.id, leases);
    proxy.read = 0;
    proxy.isLinked = true;
    this.#readAnswers(before, null);
    for (const settle of proxy.unwritten) this.#send(proxy.peer, settle);
    this.#settle(proxy);
    for (const asked of [...proxy.asked.values()])
      if (asked.deadlineMs > nowMs) this.#sendAsked(proxy, asked);
      else proxy.asked.delete(asked.id);
  }

  /** What its requests used is never known. */
  #kill(proxy: SharesProxy): void {
    this.#cut(proxy);
    this.proxies = this.proxies.filter((other) => other !== proxy);
    this.#newProxy();
    this.note("proxy killed", proxy.id);
  }

  async #write(): Promise<void> {
    await this.#tick();
    await this.#tick();
    for (const proxy of this.proxies) {
      const durable = this.daemon.state.proxies.all.get(proxy.id)?.durableSeq ?? 0;
      proxy.unwritten = proxy.unwritten.filter(({ seq }) => seq > durable);
    }
  }

  async #crash(): Promise<void> {
    if (this.random.chance(0.5)) await this.#write();
    this.note("daemon crashed");
    for (const proxy of this.proxies) {
      proxy.isLinked = false;
      for (const asked of proxy.asked.values()) asked.isQueued = false;
    }
    const { nowMs } = this.daemon;
    const store = this.daemon.store.crash();
    this.daemon = startDaemon([this.rule], { waiting, store, nowMs });
    endReconnectGrace(this.daemon.state);
    // Who wanted the cap, and the services, are in memory alone.
    for (const child of this.children) {
      child.askedMs = Number.NEGATIVE_INFINITY;
      child.askedAtMostMs = Number.NEGATIVE_INFINITY;
    }
    this.#pairs.clear();
    for (const proxy of this.proxies) this.#link(proxy);
  }

  /** Other shares: some children have none any more. */
  #edit(): void {
    this.note("shares changed");
    this.rule = { ...this.rule, childShares: this.#drawShares() };
    const { book, writer, waiters } = this.daemon.state;
    book.put(this.rule, { source: "manual", nowMs: this.daemon.nowMs, lsn: writer.lsn });
    waiters.definitionsChanged();
    this.#pairs.clear();
    for (const child of this.children) child.hasRoomSinceMs = null;
    const proxy = this.proxies.find(({ isLinked }) => isLinked);
    if (proxy !== undefined)
      this.#send(proxy.peer, { kind: "refusal", id: 1, requestId: "r", model: "m" });
  }

  #waiting(child: Child): readonly Asked[] {
    return this.proxies.flatMap(({ asked }) =>
      [...asked.values()].filter((one) => one.child === child && one.isQueued),
    );
  }

  #group(group: string): readonly Child[] {
    return this.children.filter((child) => child.group === group);
  }

  /** Requests of linked proxies that hold a slot. */
  #running(child: Child): number {
    let sum = 0;
    for (const { isLinked, running, unsent } of this.proxies)
      if (isLinked) for (const one of [...running, ...unsent]) if (one.child === child) sum++;
    return sum;
  }

  /** What a child has of the cap; windows are read from the daemon. */
  #used(child: Child): number {
    if (this.#isSlots) return this.#running(child);
    const { tenants } = this.daemon.state.book.find(this.rule)!;
    const name = child.name === "" ? "." : child.name;
    return this.#inWindow(
      tenants!.children.copy(child.group === "" ? name : `${child.group}/${name}`),
    );
  }

  #usedOfAll(group: string): number {
    if (this.#isSlots)
      return this.#group(group).reduce((sum, each) => sum + this.#running(each), 0);
    const rule = this.daemon.state.book.find(this.rule)!;
    return this.#inWindow(rule.own ?? rule.children.copy(group));
  }

  #inWindow(
    counter: { readonly window: Parameters<typeof rollWindow>[0] } | null | undefined,
  ): number {
    if (counter == null) return 0;
    const window = { ...counter.window };
    const periodMs = 1000 * windowSeconds;
    rollWindow(window, periodMs, this.daemon.nowMs);
    return estimateRequests(window, periodMs, this.daemon.nowMs);
  }

  #floor({ name }: Child): number {
    return whole(shareOfChild(this.#shares, name).floor * this.#cap);
  }

  #wantMs(): number {
    return this.#isSlots ? slotWantMs : 1000 * windowSeconds;
  }

  /** What floors keep from a child; of those that may be wanted, or only of those that must be. */
  #kept(child: Child, which: "all" | "may" | "must"): number {
    const { nowMs } = this.daemon;
    let kept = 0;
    for (const other of this.#group(child.group)) {
      if (other === child) continue;
      const askedMs = which === "must" ? other.askedMs : other.askedAtMostMs;
      const wants =
        which === "all" || this.#waiting(other).length > 0 || nowMs - askedMs < this.#wantMs();
      if (wants) kept += Math.max(0, this.#floor(other) - this.#used(other));
    }
    return kept;
  }

  #before(): ReadonlyMap<Asked, number> {
    const queued = this.proxies.flatMap(({ asked }) => [...asked.values()]);
    const all = queued.filter(({ isQueued }) => isQueued);
    return new Map(all.map((asked) => [asked, this.#used(asked.child)]));
  }

  /** Reads the answers of one message, and judges the admissions among them. */
  #readAnswers(before: ReadonlyMap<Asked, number>, asks: Asked | null): void {
    const { nowMs } = this.daemon;
    const admitted: Asked[] = [];
    for (const proxy of this.proxies) {
      if (!proxy.isLinked) continue;
      const { received } = proxy.peer;
      for (; proxy.read < received.length; proxy.read++) {
        const message = received[proxy.read]!;
        if (!("id" in message)) continue;
        const asked = proxy.asked.get(message.id);
        if (asked === undefined) continue;
        const { id, child, deadlineMs } = asked;
        if (message.kind === "queued") {
          asked.isQueued = true;
          const { position } = message;
          if (position === undefined) continue;
          const most = this.#before().size;
          must(position >= 1 && position <= most, () => `${id} is number ${position} of ${most}`);
          this.note("told its place", `${id} ${position}`);
        } else if (message.kind === "refused") {
          proxy.asked.delete(id);
          child.askedAtMostMs = nowMs;
          must(nowMs <= deadlineMs + 5 * waitTickMs, () => `${id} is refused too late`);
          this.note("refused", `${id} ${child.path}`);
        } else if (message.kind === "cancelled") {
          proxy.asked.delete(id);
          child.askedAtMostMs = nowMs;
        } else if (message.kind === "admitted") {
          proxy.asked.delete(id);
          const cost = this.random.int(1, child.costMax);
          const endMs = nowMs + this.random.int(1, 6) * waitTickMs;
          proxy.running.push({ lease: leaseOf(message, child.path), child, cost, endMs });
          if (!this.#isSlots) child.served++;
          child.askedMs = nowMs;
          child.askedAtMostMs = nowMs;
          must(
            nowMs <= deadlineMs || !asked.isQueued,
            () => `${id} is admitted after its deadline`,
          );
          admitted.push(asked);
          this.note(asked.isQueued ? "admitted after a wait" : "admitted", `${id} ${child.path}`);
        } else must(false, () => `${id}: ${JSON.stringify(message)}`);
      }
    }
    if (asks !== null) {
      asks.child.askedMs = nowMs;
      asks.child.askedAtMostMs = nowMs;
    }
    for (const asked of admitted) this.#checkAdmission(asked, before);
    this.#noteInFlight();
    this.#checkServices();
  }

  #checkAdmission(asked: Asked, before: ReadonlyMap<Asked, number>): void {
    const { id, child, atMs } = asked;
    const { group } = child;
    for (const other of before.keys()) {
      if (!other.isQueued || other === asked || other.child.group !== group) continue;
      if (!this.proxies.some((proxy) => proxy.asked.has(other.id))) continue;
      must(
        other.child !== child || other.atMs >= atMs,
        () => `${id} has overtaken ${other.id} of ${child.path}`,
      );
      must(
        asked.isQueued || this.#floor(child) > 0,
        () => `${id} of ${child.path} is new and doesn't wait behind ${other.id}`,
      );
    }
    const used = this.#usedOfAll(group);
    const own = this.#used(child);
    must(used <= this.#cap + 1e-9, () => `${used} of ${this.#cap} are used`);
    const kept = this.#kept(child, "must");
    must(
      own <= this.#floor(child) || used + kept <= this.#cap + 1e-9,
      () =>
        `${id} of ${child.path} got what floors keep: ${used} of ${this.#cap} used, ${kept} kept`,
    );
  }

  #noteInFlight(): void {
    for (const { group } of this.children) {
      let sum = 0;
      for (const { running, unsent } of this.proxies)
        for (const { child } of [...running, ...unsent])
          if (child.group === group) sum += child.costMax / this.#weight(child);
      if (sum > (this.#mostInFlight.get(group) ?? 0)) this.#mostInFlight.set(group, sum);
    }
  }

  #weight({ name }: Child): number {
    return shareOfChild(this.#shares, name).weight;
  }

  /** Two services differ by less than this: what runs, or one request. */
  #bound(group: string): number {
    const one = (child: Child): number => (this.#isSlots ? child.costMax : 1) / this.#weight(child);
    const largest = Math.max(...this.#group(group).map(one));
    return this.#isSlots ? Math.max(largest, this.#mostInFlight.get(group) ?? 0) : largest;
  }

  #checkServices(): void {
    for (const a of this.children)
      for (const b of this.children) {
        if (a.path >= b.path || a.group !== b.group) continue;
        const [shareA, shareB] = [a, b].map(({ name }) => shareOfChild(this.#shares, name));
        if (shareA!.priority !== shareB!.priority || shareA!.floor + shareB!.floor > 0) continue;
        const pair = `${a.path} ${b.path}`;
        if (this.#waiting(a).length === 0 || this.#waiting(b).length === 0) {
          this.#pairs.delete(pair);
          continue;
        }
        const services = [a.served / shareA!.weight, b.served / shareB!.weight] as const;
        const since = this.#pairs.get(pair) ?? services;
        this.#pairs.set(pair, since);
        const [gainedA, gainedB] = [services[0] - since[0], services[1] - since[1]];
        // At their beginning, they may differ by the bound in the other direction.
        const bound = 2 * this.#bound(a.group) * (1 + 1e-9);
        must(
          Math.abs(gainedA - gainedB) <= bound,
          () =>
            `${a.path} got ${gainedA} and ${b.path} ${gainedB} while both waited: bound ${bound}`,
        );
      }
  }

  #checkRoom(): void {
    const { nowMs } = this.daemon;
    for (const child of this.children) {
      const counter = this.#isSlots ? this.daemon.state.book.find(this.rule)!.own : null;
      if (counter !== null) {
        const running = this.#usedOfAll("");
        must(counter.inFlight === running, () => `${counter.inFlight} slots taken, not ${running}`);
      }
      const [first] = this.#waiting(child);
      const free = this.#cap - this.#usedOfAll(child.group);
      const isOnFloor = free >= 1 && this.#used(child) + 1 <= this.#floor(child);
      const hasRoom = (which: "all" | "may"): boolean =>
        first !== undefined && (isOnFloor || this.#kept(child, which) + 1 <= free);
      if (!hasRoom("may")) {
        child.hasRoomSinceMs = null;
        continue;
      }
      must(
        !this.#isSlots || !hasRoom("all"),
        () => `${first!.id} of ${child.path} waits, ${free} of ${this.#cap} are free`,
      );
      child.hasRoomSinceMs ??= nowMs;
      // No message says that a window has moved on, or that a floor is no longer wanted.
      const latestMs = judgeAgainMs + 6 * waitTickMs;
      must(
        nowMs - child.hasRoomSinceMs <= latestMs,
        () => `${first!.id} of ${child.path} still waits, ${free} of ${this.#cap} are free`,
      );
    }
  }

  async rest(): Promise<void> {
    this.isEnding = true;
    const isBusy = (): boolean =>
      this.proxies.some(
        ({ asked, running, unsent }) => asked.size + running.length + unsent.length > 0,
      );
    for (let i = 0; i < 3000 && (i === 0 || isBusy()); i++) await this.step();
    const left = this.proxies.flatMap(({ asked }) => [...asked.keys()]);
    must(left.length === 0, () => `${left} have no answer`);
    must(!isBusy(), () => "requests don't end");
    const { waiters } = this.daemon.state;
    must(waiters.size === 0, () => `${waiters.size} requests wait at rest`);
    this.note("all served");
  }
}

function leaseOfSettle({
  lease,
  userPath,
  admittedAtMs,
  lsn,
  target: to,
  targetAtMs,
  targetLsn,
}: Settle): Lease {
  return {
    lease,
    userPath,
    admittedAtMs,
    lsn,
    target: to,
    targetAtMs,
    targetLsn,
    submission: false,
  };
}

/** Runs the history of a seed. */
export async function simulateShares(seed: number): Promise<SimulationResult> {
  const history = new History(seed);
  let violation: string | null = null;
  try {
    for (let i = 0; i < 500; i++) await history.step();
    await history.rest();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error.message;
  }
  const { events, hash, tally, lines } = history;
  return { seed, violation, lines, events, traceHash: hash >>> 0, tally };
}
