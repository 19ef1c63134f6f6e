/**
 * Histories of a cap that the children of a path share, each from a seed: requests wait, run and
 * settle, while connections break, proxies are killed, the daemon crashes, and the shares change.
 * The steps are the daemon's own, on a store in memory.
 *
 * Invariants, after each event:
 *
 * - No request waits although there is room for it that no floor keeps.
 * - A child that wants the cap has the room of its floor: no other child gets it.
 * - The requests of a child are admitted in the order of their arrival. A new request passes a
 *   waiting one only on its child's floor.
 * - If two children of the same priority both wait all the time, their charges divided by their
 *   weights differ by at most twice what could run at the same time. This also holds for caps on
 *   tokens (hard or not) and dollars. The charges are summed here, not read from the daemon.
 * - A request that can wait isn't admitted if running ones will use the rest of such a cap.
 *
 * At rest: every request was answered, and no slot is taken.
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
import { must, runHistory, Trace } from "../trace.js";

const waiting = { maxMs: 86_400_000, defaultMs: 0, paths: [] };
/** What the cap counts. A hard cap counts tokens, and those that requests may use. */
type Unit = "slots" | "requests" | "tokens" | "hard" | "dollars";
const longMs = 3_600_000;

interface Asked {
  readonly id: number;
  readonly child: Child;
  readonly atMs: number;
  /** The same as `atMs` if the request doesn't wait. */
  readonly deadlineMs: number;
  isQueued: boolean;
}

interface Running {
  readonly lease: Lease;
  readonly child: Child;
  readonly cost: number;
  readonly costMax: number;
  readonly isWithdrawn: boolean;
  readonly endMs: number;
}

/** The end of a request that the daemon may not have written. */
interface Ended {
  readonly settle: Settle;
  readonly lease: Lease;
  readonly child: Child;
  readonly costMax: number;
  /** The change of its child's service. */
  readonly service: number;
  /** Whether this daemon has it, or an earlier one wrote it. */
  isCharged: boolean;
}

/** A request of a killed proxy. The daemon charges what it held of a hard cap. */
interface Lost {
  readonly child: Child;
  readonly costMax: number;
  atMs: number;
  /** After a crash: whether the hold was stored isn't known. */
  isUnsure: boolean;
}

/** Two children that both wait. */
interface Pair {
  /** Their services when they began to wait both. */
  readonly since: readonly [number, number];
  /** The most that was in flight at the same time since then. */
  inFlightMax: number;
}

class SharesProxy {
  readonly id: string;
  peer: TestPeer;
  read = 0;
  seq = 0;
  isConnected = true;
  disconnectedMs = 0;
  readonly asked = new Map<number, Asked>();
  running: Running[] = [];
  unsent: Ended[] = [];
  unwritten: Ended[] = [];

  constructor(id: string, peer: TestPeer) {
    this.id = id;
    this.peer = peer;
  }
}

/** A child of a shared cap: the daemon's view of it, and its service. */
class Child {
  /** Whose children share a cap: "" or a template's child. */
  readonly group: string;
  /** "" is the path itself. */
  readonly name: string;
  readonly path: string;
  readonly costMax: number;
  /** The share of its requests that are withdrawn. */
  readonly withdrawn: number;
  /** Whether this daemon knows what its requests cost. */
  isKnown = false;
  /** How many requests it keeps waiting; null: it sends none. */
  backlog: number | null;
  /** Its service: the sum of what it was charged. */
  served = 0;
  /** The daemon noted its last request at this time or later. */
  askedMs = Number.NEGATIVE_INFINITY;
  /** The daemon noted its last request at this time or earlier. */
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

class History {
  readonly random: Random;
  readonly trace = new Trace(60);
  readonly children: readonly Child[];
  readonly #unit: Unit;
  readonly #periodSeconds: number;
  /** How many requests a child keeps waiting: more than a tick can admit. */
  readonly #backlog: number;
  /** Whether each request that doesn't fail costs as much as its child's others. */
  readonly #isExact: boolean;
  /** A factor on the chances of faults. */
  readonly #harm: number;
  readonly #cap: number;
  readonly #hasFloors: boolean;
  readonly #hasPriorities: boolean;
  rule: RuleDefinition;
  daemon: TestDaemon;
  proxies: SharesProxy[] = [];
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
    this.trace.note(kind, `${this.daemon.nowMs % 1e8} ${kind} ${detail}`);
  }

  async step(): Promise<void> {
    const { random, daemon } = this;
    daemon.nowMs += random.int(1, 4) * waitTickMs;
    if (random.chance(0.7)) await this.#tick();
    // After `interruptedKeptMs` the daemon would charge what its requests held of a hard cap.
    for (const proxy of this.proxies)
      if (this.daemon.nowMs - proxy.disconnectedMs > 0.8 * interruptedKeptMs)
        this.#reconnect(proxy);
    this.#endDue();
    if (random.chance(0.008 * this.#harm)) {
      // Only one child sends requests, or none does.
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
    if (this.isEnding) for (const proxy of this.proxies) this.#reconnect(proxy);
    else if (isHarmless) this.#reconnect(random.pick(this.proxies));
    else if (kind < 0.3) this.#askSometimes(random.pick(this.children));
    else if (kind < 0.32) this.#cancel();
    else if (kind < 0.33) this.#disconnect(random.pick(this.proxies));
    else if (kind < 0.5) this.#reconnect(random.pick(this.proxies));
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
    this.#lost = this.#lost.filter(({ child, costMax, atMs, isUnsure }) => {
      const isKept = nowMs - atMs < (isUnsure ? 2 : 1) * interruptedKeptMs;
      if (!isKept && !isUnsure) {
        child.served += costMax;
        this.note("lost and charged", `${child.path} ${costMax}`);
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
    if (!proxy.isConnected) return;
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
        kind: "admit",
        id,
        userPath: child.path,
        credential: "authenticated",
        read: 0,
        targets: [target],
        submission: false,
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
      for (const { lease, child, cost, costMax, isWithdrawn } of due) {
        const settle = settleOf(lease, ++proxy.seq, cost);
        const record = executed({ inputTokens: cost, outputTokens: 0 });
        const service = this.#unit === "requests" ? (isWithdrawn ? -1 : 0) : cost;
        proxy.unsent.push({
          settle: isWithdrawn ? { ...settle, part: "withdrawn" } : { ...settle, record },
          lease,
          child,
          costMax,
          service,
          isCharged: false,
        });
      }
      this.#settle(proxy);
    }
  }

  #settle(proxy: SharesProxy): void {
    while (proxy.isConnected && proxy.unsent.length > 0) {
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
      // A charge to a child before its first request changes only its window, not its service.
      if (settle.tokens > 0 && child.askedMs > Number.NEGATIVE_INFINITY) child.isKnown = true;
    }
    ended.isCharged = true;
    this.#send(peer, settle);
  }

  #cancel(): void {
    const proxy = this.random.pick(this.proxies);
    const [asked] = [...proxy.asked.values()].filter(({ isQueued }) => isQueued);
    if (asked === undefined || !proxy.isConnected) return;
    this.note("cancelled", `${asked.id}`);
    this.#send(proxy.peer, { kind: "cancel", id: asked.id });
  }

  #disconnect(proxy: SharesProxy): void {
    if (!proxy.isConnected) return;
    this.note("connection lost", proxy.id);
    const before = this.#before();
    proxy.isConnected = false;
    proxy.disconnectedMs = this.daemon.nowMs;
    for (const asked of proxy.asked.values()) asked.isQueued = false;
    proxy.peer.close();
    this.#readAnswers(before, null);
  }

  #reconnect(proxy: SharesProxy): void {
    if (proxy.isConnected) return;
    this.note("reconnected", proxy.id);
    const { nowMs } = this.daemon;
    const leases = [
      ...proxy.running.map(({ lease }) => lease),
      ...proxy.unsent.map(({ lease }) => lease),
    ];
    const before = this.#before();
    proxy.peer = this.daemon.proxy(proxy.id, leases);
    proxy.read = 0;
    proxy.isConnected = true;
    this.#readAnswers(before, null);
    for (const ended of proxy.unwritten) this.#sendEnded(proxy, ended);
    this.#settle(proxy);
    for (const asked of [...proxy.asked.values()])
      if (asked.deadlineMs > nowMs) this.#sendAsked(proxy, asked);
      else proxy.asked.delete(asked.id);
  }

  /** Kills a proxy. Nobody learns the use of its requests. */
  #kill(proxy: SharesProxy): void {
    this.#disconnect(proxy);
    if (this.#unit === "hard")
      for (const { child, costMax } of [...proxy.running, ...proxy.unsent])
        this.#lost.push({ child, costMax, atMs: proxy.disconnectedMs, isUnsure: false });
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
      proxy.isConnected = false;
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
    // Only the memory has the services, and the children that want the cap.
    for (const child of this.children) {
      child.askedMs = Number.NEGATIVE_INFINITY;
      child.askedAtMostMs = Number.NEGATIVE_INFINITY;
      child.isKnown = false;
    }
    this.#pairs.clear();
    for (const proxy of this.proxies) this.#reconnect(proxy);
  }

  /** Changes the shares; some children have none any more. */
  #edit(): void {
    this.note("shares changed");
    this.rule = { ...this.rule, childShares: this.#drawShares() };
    const { book, writer, waiters } = this.daemon.state;
    book.put(this.rule, { source: "manual", nowMs: this.daemon.nowMs, lsn: writer.lsn });
    waiters.definitionsChanged();
    this.#pairs.clear();
    for (const child of this.children) child.hasRoomSinceMs = null;
    const proxy = this.proxies.find(({ isConnected }) => isConnected);
    if (proxy !== undefined)
      this.#send(proxy.peer, { kind: "refusal", id: 1, requestId: "r", model: "m" });
  }

  #waiting(child: Child): readonly Asked[] {
    return this.proxies.flatMap(({ asked }) =>
      [...asked.values()].filter((request) => request.child === child && request.isQueued),
    );
  }

  #group(group: string): readonly Child[] {
    return this.children.filter((child) => child.group === group);
  }

  /** Requests of linked proxies that hold a slot. */
  #running(child: Child): number {
    let sum = 0;
    for (const { isConnected, running, unsent } of this.proxies)
      if (isConnected)
        for (const request of [...running, ...unsent]) if (request.child === child) sum++;
    return sum;
  }

  /** How much of the cap a child has. Windows are read from the daemon. */
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

  /**
   * How much the floors of others keep from a child: all floors, those of children that the daemon
   * may regard as wanting the cap, or only those of children that it must regard so.
   */
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
      if (!proxy.isConnected) continue;
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
          const queued = this.#before().size;
          must(
            position >= 1 && position <= queued,
            () => `${id} is number ${position} of ${queued}`,
          );
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
          const costMax = allowance === undefined ? child.costMax : 1 + allowance;
          const cost = isWithdrawn ? 0 : Math.min(costMax, this.#costOf(child));
          const endMs = nowMs + this.random.int(1, 6) * waitTickMs;
          const lease = { ...leaseOf(message, child.path), ...holdingOf(allowance) };
          proxy.running.push({ lease, child, cost, costMax, isWithdrawn, endMs });
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
    must(used <= this.#cap + 1e-9, () => `${used} of ${this.#cap} are used`);
    const kept = this.#kept(child, "must");
    must(
      this.#used(child) <= this.#floor(child) || used + kept <= this.#cap + 1e-9,
      () =>
        `${id} of ${child.path} got what floors keep: ${used} of ${this.#cap} used, ${kept} kept`,
    );
  }

  /** Checks that running requests had left something of the cap before the last admission. */
  #checkReserved(admitted: readonly Asked[]): void {
    const isHard = this.#isHard;
    const isReserved = admitted.every(({ atMs, deadlineMs }) => deadlineMs > atMs);
    if (!isHard && !(isReserved && this.#isExact)) return;
    // No window has settles that the daemon lost, or that a killed proxy never sent again.
    if (isHard && this.daemon.nowMs - this.#crashedMs < 2000 * this.#periodSeconds) return;
    for (const group of new Set(admitted.map(({ child }) => child.group))) {
      const last = admitted.filter(({ child }) => child.group === group);
      const largest = isHard ? 0 : Math.max(...last.map(({ child }) => this.#reservedMin(child)));
      const reserved = this.#group(group).map(
        (child) => this.#running(child) * this.#reservedMin(child),
      );
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

  /** The least that a request in flight reserves. */
  #reservedMin(child: Child): number {
    if (child.isKnown) return child.costMax;
    const known = this.#group(child.group).filter(({ isKnown }) => isKnown);
    const first = this.#unit === "dollars" ? 1 / 3 : 1;
    return known.length === 0 ? first : Math.min(...known.map(({ costMax }) => costMax));
  }

  /** The most that running requests can be charged, divided by their children's weights. */
  #inFlight(group: string): number {
    let sum = 0;
    const all = this.proxies.flatMap(({ running, unsent }) => [...running, ...unsent]);
    for (const { child, costMax } of [...all, ...this.#lost])
      if (child.group === group)
        sum += (this.#unit === "requests" ? 1 : costMax) / this.#weight(child);
    return sum;
  }

  #requestMax(child: Child): number {
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
      largest.set(group, Math.max(...this.#group(group).map((child) => this.#requestMax(child))));
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
        const known = this.#pairs.get(pair) ?? { since: services, inFlightMax: 0 };
        this.#pairs.set(pair, known);
        const { since } = known;
        known.inFlightMax = Math.max(known.inFlightMax, inFlight.get(a.group)!);
        const [gainedA, gainedB] = [services[0] - since[0], services[1] - since[1]];
        // When both began to wait, they may have differed by this much in the other direction.
        const bound = 2 * Math.max(known.inFlightMax, largest.get(a.group)!) * (1 + 1e-9);
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
      const free = this.#cap - this.#usedOfAll(child.group) - this.#reservedMax(child.group);
      const need = this.#needMax();
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
      // No message tells the daemon that a window has slid, or that a child no longer wants the
      // cap.
      const latestMs = judgeAgainMs + 6 * waitTickMs;
      must(
        nowMs - child.hasRoomSinceMs <= latestMs,
        () => `${first!.id} of ${child.path} still waits, ${free} of ${this.#cap} are free`,
      );
    }
  }

  /** The most that running requests can reserve of a cap on tokens or dollars. */
  #reservedMax(group: string): number {
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

  /** How much of a hard cap requests hold. */
  #held(group: string, lost: readonly Lost[]): number {
    const all = this.proxies.flatMap(({ running, unsent }) => [...running, ...unsent]);
    return [...all, ...lost].reduce(
      (sum, { child, costMax }) => sum + (child.group === group ? costMax : 0),
      0,
    );
  }

  /** The most that the next request may need. */
  #needMax(): number {
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
export function simulateShares(seed: number): Promise<SimulationResult> {
  return runHistory(seed, new History(seed), 500);
}
