/**
 * Histories of a cap that children of a path share, each from a seed: requests that wait, run and
 * settle, while connections break, proxies are killed, the daemon crashes, and the shares change.
 * The steps are the daemon's own, on a store in memory.
 *
 * Invariants, after each event: nothing is free for a request that waits, unless a floor keeps it;
 * others get no room of a floor that its owner wants; within a child, the order is that of arrival,
 * and a new request passes only on its floor. What two children of one priority that always wait
 * were charged, by weight, differs by at most twice what could run at the same time, also under
 * caps on tokens (hard or not) and dollars; the charges are summed here, not read from the daemon.
 * A request that can wait isn't admitted if running ones will use the rest of such a cap. At rest:
 * every request was answered, and no slot is taken.
 */
import { judgeAgainMs, waitTickMs } from "../../../limiterd/bounds.js";
import type { Rule } from "../../../limiterd/counters/counter.js";
import { slotWantMs, wholeUnits } from "../../../limiterd/counters/shared-cap.js";
import { estimateRequests, rollWindow, slidingTokens } from "../../../limiterd/counters/window.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import {
  chargeInterrupted,
  interruptedKeptMs,
} from "../../../limiterd/handlers/interrupted-requests.js";
import { type ChildShares, shareOfChild } from "../../../shared/domain/child-shares.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Lease, Settle } from "../../../shared/wire/message-to-daemon.js";
import {
  executed,
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
/** What the cap counts. A hard cap counts tokens, and those that requests may use. */
type Unit = "slots" | "requests" | "tokens" | "hard" | "dollars";
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
  /** The most that it may cost. */
  readonly most: number;
  readonly isWithdrawn: boolean;
  readonly endMs: number;
}

/** The end of a request that the daemon may not have written. */
interface Ended {
  readonly settle: Settle;
  readonly lease: Lease;
  readonly child: Child;
  readonly most: number;
  /** What its child's service changes by. */
  readonly service: number;
  /** Whether this daemon has it, or an earlier one wrote it. */
  isCharged: boolean;
}

/** What a request of a killed proxy held of a hard cap, which the daemon charges in the end. */
interface Lost {
  readonly child: Child;
  readonly most: number;
  atMs: number;
  /** After a crash: whether the hold was stored isn't known. */
  isUnsure: boolean;
}

/** Two children that both wait since these services, with the most that ran since then. */
interface Pair {
  readonly since: readonly [number, number];
  mostInFlight: number;
}

class SharesProxy {
  readonly id: string;
  peer: TestPeer;
  read = 0;
  seq = 0;
  isLinked = true;
  cutMs = 0;
  readonly asked = new Map<number, Asked>();
  running: Running[] = [];
  unsent: Ended[] = [];
  unwritten: Ended[] = [];

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
  /** How many of its requests are withdrawn. */
  readonly withdrawn: number;
  /** Whether this daemon knows what its requests cost. */
  isKnown = false;
  /** Whether it has asked since the daemon's start. */
  isRemembered = false;
  /** How many requests it keeps waiting; null: it sends none. */
  backlog: number | null;
  served = 0;
  /** The daemon noted its last request at some time between these. */
  askedMs = Number.NEGATIVE_INFINITY;
  askedAtMostMs = Number.NEGATIVE_INFINITY;
  /** Since when it has waited although there was room. */
  hasRoomSinceMs: number | null = null;

  constructor(group: string, name: string, use: Pick<Child, "costMax" | "withdrawn" | "backlog">) {
    this.backlog = use.backlog;
    this.withdrawn = use.withdrawn;
    this.group = group;
    this.name = name;
    this.costMax = use.costMax;
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
  readonly #unit: Unit;
  readonly #periodSeconds: number;
  /** How many requests a child keeps waiting: more than a tick can admit. */
  readonly #backlog: number;
  /** Whether each request that doesn't fail costs as much as its child's others. */
  readonly #isExact: boolean;
  /** How often something goes wrong. */
  readonly #harm: number;
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
  readonly #pairs = new Map<string, Pair>();
  #lost: Lost[] = [];
  #crashedMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number) {
    const random = createRandom(seed);
    this.random = random;
    const unit = random.pick<Unit>(["slots", "slots", "requests", "tokens", "hard", "dollars"]);
    this.#unit = unit;
    this.#cap =
      unit === "slots"
        ? random.int(1, 6)
        : unit === "requests"
          ? random.int(5, 30)
          : random.int(100, 300);
    this.#periodSeconds = unit === "slots" ? 0 : unit === "requests" ? 10 : 1;
    this.#backlog = this.#isUsage ? 12 : 3;
    this.#isExact = random.chance(0.5);
    this.#harm = this.#isUsage ? random.pick([0.1, 1]) : 1;
    this.#hasFloors = random.chance(0.5);
    this.#hasPriorities = random.chance(0.3);
    const groups = random.chance(0.25) ? ["t1", "t2"] : [""];
    const names = ["a", "b", "c", "d", ""].slice(0, random.int(2, 5));
    this.children = groups.flatMap((group) =>
      names.map((name) => {
        const costMax = random.pick([1, 10, 100]);
        const backlog = random.pick([0, this.#backlog]);
        return new Child(group, name, { costMax, backlog, withdrawn: random.pick([0, 0, 0.4]) });
      }),
    );
    this.rule = {
      ...pathRule("/team", this.#periodSeconds, this.#isUsage ? {} : { requests: this.#cap }),
      ...(unit === "tokens" || unit === "hard" ? { maxTokens: this.#cap } : {}),
      ...(unit === "hard" ? { hold: "hard" } : {}),
      ...(unit === "dollars" ? { measureCaps: { cost: this.#cap * 3e-12 } } : {}),
      perChild: groups[0] !== "",
      childShares: this.#drawShares(),
    };
    this.daemon = startDaemon([this.rule], { waiting });
    for (let i = 0; i < 3; i++) this.#newProxy();
  }

  /** Whether the cap counts what requests use. */
  get #isUsage(): boolean {
    return this.#unit !== "slots" && this.#unit !== "requests";
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
    // Later, what its requests held of a hard cap is charged.
    for (const proxy of this.proxies)
      if (this.daemon.nowMs - proxy.cutMs > 0.8 * interruptedKeptMs) this.#link(proxy);
    this.#endDue();
    if (random.chance(0.008 * this.#harm)) {
      // One is alone, or none is there.
      for (const child of this.children) child.backlog = null;
      if (random.chance(0.7)) random.pick(this.children).backlog = this.#backlog;
    }
    for (const child of this.children) {
      if (this.isEnding) break;
      if (random.chance(0.004 * this.#harm))
        child.backlog = random.pick([null, null, 0, this.#backlog, this.#backlog]);
      const missing = (child.backlog ?? 0) - this.#waiting(child).length;
      for (let i = 0; i < missing; i++) this.#ask(child, longMs);
    }
    const isHarmless = random.next() >= this.#harm;
    const kind = isHarmless ? 0.999 : random.next();
    if (this.isEnding) for (const proxy of this.proxies) this.#link(proxy);
    else if (isHarmless) this.#link(random.pick(this.proxies));
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
    this.#chargeLost();
    await this.daemon.commit();
    this.#readAnswers(before, null);
    this.#checkRoom();
  }

  #chargeLost(): void {
    const { state, nowMs } = this.daemon;
    chargeInterrupted(state, nowMs);
    this.#lost = this.#lost.filter(({ child, most, atMs, isUnsure }) => {
      const isKept = nowMs - atMs < (isUnsure ? 2 : 1) * interruptedKeptMs;
      if (!isKept && !isUnsure) {
        child.served += most;
        this.note("lost and charged", `${child.path} ${most}`);
      }
      return isKept;
    });
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
    const outputMax = child.costMax - 1;
    const metered = { promptTokens: 1, outputMax, isStreamed: false, rates: [null] };
    this.#send(
      peer,
      {
        ...{ kind: "admit", id, userPath: child.path, credential: "authenticated", read: 0 },
        ...{ targets: [target], submission: false },
        ...(askedMs > 0 ? { wait } : {}),
        ...(this.#unit === "hard" ? { metered } : {}),
      },
      asked,
    );
  }

  #endDue(): void {
    const { nowMs } = this.daemon;
    for (const proxy of this.proxies) {
      const due = proxy.running.filter(({ endMs }) => endMs <= nowMs);
      proxy.running = proxy.running.filter(({ endMs }) => endMs > nowMs);
      for (const { lease, child, cost, most, isWithdrawn } of due) {
        const settle = settleOf(lease, ++proxy.seq, cost);
        const record = executed({ inputTokens: cost, outputTokens: 0 });
        const service = this.#unit === "requests" ? (isWithdrawn ? -1 : 0) : cost;
        proxy.unsent.push({
          settle: isWithdrawn ? { ...settle, part: "withdrawn" } : { ...settle, record },
          ...{ lease, child, most, service, isCharged: false },
        });
      }
      this.#settle(proxy);
    }
  }

  #settle(proxy: SharesProxy): void {
    while (proxy.isLinked && proxy.unsent.length > 0) {
      const ended = proxy.unsent.shift()!;
      const { settle, child, service } = ended;
      proxy.unwritten.push(ended);
      this.note("settled", `${settle.lease} ${child.path} ${service}`);
      if (settle.part === "withdrawn") this.note("withdrawn");
      else if (settle.tokens === 0) this.note("failed");
      this.#sendEnded(proxy, ended);
    }
  }

  #sendEnded({ peer }: SharesProxy, ended: Ended): void {
    const { settle, child, service } = ended;
    if (!ended.isCharged) {
      child.served += service;
      // What it charges to a child before its first question is remembered by its window alone.
      if (settle.tokens > 0 && child.askedMs > Number.NEGATIVE_INFINITY) child.isKnown = true;
    }
    ended.isCharged = true;
    this.#send(peer, settle);
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
    proxy.cutMs = this.daemon.nowMs;
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
      ...proxy.unsent.map(({ lease }) => lease),
    ];
    const before = this.#before();
    proxy.peer = this.daemon.proxy(proxy.id, leases);
    proxy.read = 0;
    proxy.isLinked = true;
    this.#readAnswers(before, null);
    for (const ended of proxy.unwritten) this.#sendEnded(proxy, ended);
    this.#settle(proxy);
    for (const asked of [...proxy.asked.values()])
      if (asked.deadlineMs > nowMs) this.#sendAsked(proxy, asked);
      else proxy.asked.delete(asked.id);
  }

  /** What its requests used is never known. */
  #kill(proxy: SharesProxy): void {
    this.#cut(proxy);
    if (this.#unit === "hard")
      for (const { child, most } of [...proxy.running, ...proxy.unsent])
        this.#lost.push({ child, most, atMs: proxy.cutMs, isUnsure: false });
    this.proxies = this.proxies.filter((other) => other !== proxy);
    this.#newProxy();
    this.note("proxy killed", proxy.id);
  }

  async #write(): Promise<void> {
    await this.#tick();
    await this.#tick();
    this.#forgetWritten();
  }

  #forgetWritten(): void {
    for (const proxy of this.proxies) {
      const durable = this.daemon.state.proxies.all.get(proxy.id)?.durableSeq ?? 0;
      proxy.unwritten = proxy.unwritten.filter(({ settle }) => settle.seq > durable);
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
    this.#forgetWritten();
    for (const { unwritten } of this.proxies)
      for (const ended of unwritten) ended.isCharged = false;
    for (const lost of this.#lost) {
      lost.atMs = nowMs;
      lost.isUnsure = true;
    }
    this.#crashedMs = nowMs;
    // Who wanted the cap, and the services, are in memory alone.
    for (const child of this.children) {
      child.askedMs = Number.NEGATIVE_INFINITY;
      child.askedAtMostMs = Number.NEGATIVE_INFINITY;
      child.isKnown = false;
      child.isRemembered = false;
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
    if (this.#unit === "slots") return this.#running(child);
    const { tenants } = this.#daemonRule;
    const name = child.name === "" ? "." : child.name;
    return this.#inWindow(
      tenants!.children.copy(child.group === "" ? name : `${child.group}/${name}`),
    );
  }

  get #daemonRule(): Rule {
    const rule = this.daemon.state.book.find(this.rule)!;
    return this.#unit === "dollars" ? rule.parts[0]! : rule;
  }

  #usedOfAll(group: string): number {
    if (this.#unit === "slots")
      return this.#group(group).reduce((sum, each) => sum + this.#running(each), 0);
    const rule = this.#daemonRule;
    return this.#inWindow(rule.own ?? rule.children.copy(group));
  }

  #inWindow(
    counter: { readonly window: Parameters<typeof rollWindow>[0] } | null | undefined,
  ): number {
    if (counter == null) return 0;
    const window = { ...counter.window };
    const periodMs = 1000 * this.#periodSeconds;
    rollWindow(window, periodMs, this.daemon.nowMs);
    if (this.#isUsage)
      return (
        slidingTokens(window, periodMs, this.daemon.nowMs) / (this.#unit === "dollars" ? 3 : 1)
      );
    return estimateRequests(window, periodMs, this.daemon.nowMs);
  }

  #floor({ name }: Child): number {
    const floor = shareOfChild(this.#shares, name).floor * this.#cap;
    return this.#isUsage ? floor : wholeUnits(floor);
  }

  #wantMs(): number {
    return this.#unit === "slots" ? slotWantMs : 1000 * this.#periodSeconds;
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
          const isWithdrawn = this.#unit !== "slots" && this.random.chance(child.withdrawn);
          const { allowance } = message;
          const most = allowance === undefined ? child.costMax : 1 + allowance;
          const cost = isWithdrawn ? 0 : Math.min(most, this.#costOf(child));
          const endMs = nowMs + this.random.int(1, 6) * waitTickMs;
          const lease = { ...leaseOf(message, child.path), ...holdingOf(allowance) };
          proxy.running.push({ lease, child, cost, most, isWithdrawn, endMs });
          if (this.#unit === "requests") child.served++;
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
    if (this.#isUsage) this.#checkReserved(admitted);
    for (const child of this.children)
      child.isRemembered = child.askedMs > Number.NEGATIVE_INFINITY;
    this.#checkServices();
  }

  #costOf({ costMax }: Child): number {
    if (this.#isUsage && this.random.chance(0.05)) return 0;
    return this.#isUsage && this.#isExact ? costMax : this.random.int(1, costMax);
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
    if (this.#isUsage) return;
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

  /** Checks that running requests had left something of the cap before the last admission. */
  #checkReserved(admitted: readonly Asked[]): void {
    const isHard = this.#isHard;
    const isReserved = admitted.every(({ atMs, deadlineMs }) => deadlineMs > atMs);
    if (!isHard && !(isReserved && this.#isExact)) return;
    // Settles that it lost, or that a killed proxy never sent again, are in no window.
    if (isHard && this.daemon.nowMs - this.#crashedMs < 2000 * this.#periodSeconds) return;
    for (const group of new Set(admitted.map(({ child }) => child.group))) {
      const last = admitted.filter(({ child }) => child.group === group);
      const largest = isHard ? 0 : Math.max(...last.map(({ child }) => this.#least(child)));
      const reserved = this.#group(group).map((child) => this.#running(child) * this.#least(child));
      const held = isHard ? this.#held(group, []) : reserved.reduce((a, b) => a + b, 0);
      const used = this.#usedOfAll(group) + held - largest;
      must(
        isHard ? used <= this.#cap + 1e-9 : used < this.#cap,
        () => `${last.map(({ id }) => id)} run beside ${used} of ${this.#cap} used and reserved`,
      );
    }
  }

  get #isHard(): boolean {
    return this.#unit === "hard";
  }

  /** What a request in flight reserves at least. */
  #least(child: Child): number {
    if (child.isKnown) return child.costMax;
    // After a crash, the daemon doesn't know a child that hasn't asked again.
    if (!child.isRemembered) return 0;
    const known = this.#group(child.group).filter(({ isKnown }) => isKnown);
    const first = this.#unit === "dollars" ? 1 / 3 : 1;
    return known.length === 0 ? first : Math.min(...known.map(({ costMax }) => costMax));
  }

  /** The most that what runs now can be charged, by weight. */
  #inFlight(group: string): number {
    let sum = 0;
    const all = this.proxies.flatMap(({ running, unsent }) => [...running, ...unsent]);
    for (const { child, most } of [...all, ...this.#lost])
      if (child.group === group)
        sum += this.#unit === "requests" ? 1 / this.#weight(child) : most / this.#weight(child);
    return sum;
  }

  #mostOf(child: Child): number {
    return (this.#unit === "requests" ? 1 : child.costMax) / this.#weight(child);
  }

  #weight({ name }: Child): number {
    return shareOfChild(this.#shares, name).weight;
  }

  #checkServices(): void {
    const inFlight = new Map<string, number>();
    const largest = new Map<string, number>();
    for (const { group } of this.children) {
      if (inFlight.has(group)) continue;
      inFlight.set(group, this.#inFlight(group));
      largest.set(group, Math.max(...this.#group(group).map((child) => this.#mostOf(child))));
    }
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
        const known = this.#pairs.get(pair) ?? { since: services, mostInFlight: 0 };
        this.#pairs.set(pair, known);
        const { since } = known;
        known.mostInFlight = Math.max(known.mostInFlight, inFlight.get(a.group)!);
        const [gainedA, gainedB] = [services[0] - since[0], services[1] - since[1]];
        // At their beginning, they may differ by the bound in the other direction.
        const bound = 2 * Math.max(known.mostInFlight, largest.get(a.group)!) * (1 + 1e-9);
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
      const counter = this.#unit === "slots" ? this.daemon.state.book.find(this.rule)!.own : null;
      if (counter !== null) {
        const running = this.#usedOfAll("");
        must(counter.inFlight === running, () => `${counter.inFlight} slots taken, not ${running}`);
      }
      const [first] = this.#waiting(child);
      const free = this.#cap - this.#usedOfAll(child.group) - this.#reservedMost(child.group);
      const need = this.#needMost();
      const isOnFloor = !this.#isUsage && free >= 1 && this.#used(child) + 1 <= this.#floor(child);
      const hasRoom = (which: "all" | "may"): boolean =>
        first !== undefined && (isOnFloor || this.#kept(child, which) + need <= free);
      if (!hasRoom("may")) {
        child.hasRoomSinceMs = null;
        continue;
      }
      must(
        this.#unit !== "slots" || !hasRoom("all"),
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

  /** What running requests can reserve of a cap on what they use. */
  #reservedMost(group: string): number {
    if (!this.#isUsage) return 0;
    const children = this.#group(group);
    const largest = Math.max(...children.map(({ costMax }) => costMax));
    if (this.#unit !== "hard")
      return children.reduce(
        (sum, child) => sum + this.#running(child) * (child.isKnown ? child.costMax : largest),
        0,
      );
    return this.#held(group, this.#lost);
  }

  /** What requests hold of a hard cap. */
  #held(group: string, lost: readonly Lost[]): number {
    const all = this.proxies.flatMap(({ running, unsent }) => [...running, ...unsent]);
    return [...all, ...lost].reduce(
      (sum, { child, most }) => sum + (child.group === group ? most : 0),
      0,
    );
  }

  /** What the next request needs at most, whichever it is. */
  #needMost(): number {
    // A hard cap admits a request whose output it limits.
    if (this.#isHard) return 3;
    return this.#isUsage ? 1e-9 : 1;
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

function holdingOf(output: number | undefined): Pick<Lease, "holding"> {
  if (output === undefined) return {};
  return { holding: { promptTokens: 1, output, rates: null, keyId: "" } };
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
