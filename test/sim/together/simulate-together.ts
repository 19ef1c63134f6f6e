/**
 * Histories of one path under several limits at the same time, each from a seed: slots, hard caps
 * on tokens and dollars, soft caps, caps of each child and of a model, some of them with shares,
 * floors and priorities. Small and large requests wait for all of them, draw, and leave, while
 * connections break, proxies are killed, and the daemon crashes. The steps are the daemon's own,
 * on a store in memory.
 *
 * Invariants, after each event: no limit is exceeded; of a child, no request is admitted before an
 * older one that waits, whatever their sizes and whichever limits they wait for; the oldest of a
 * child doesn't wait while all limits have room for it, unless it is behind one that needs more of
 * a hard cap than is left; none is passed by others again and again. At rest: every request was
 * answered, nothing is held, in memory or in the store, and no slot is taken.
 */
import { judgeAgainMs, waitTickMs } from "../../../limiterd/bounds.js";
import type { Rule } from "../../../limiterd/counters/counter.js";
import { rollWindow, slidingTokens } from "../../../limiterd/counters/window.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { demandsAt } from "../../../limiterd/handlers/hold-output.js";
import {
  chargeInterrupted,
  interruptedKeptMs,
  storeHolds,
} from "../../../limiterd/handlers/interrupted-requests.js";
import { type Judgement, judge } from "../../../limiterd/rules/judge.js";
import { drawTickMs } from "../../../limiterd/waiting/waiting-draws.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { ChildShares } from "../../../shared/domain/child-shares.js";
import { sumUsd } from "../../../shared/domain/money.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Lease, Metered, Settle } from "../../../shared/wire/message-to-daemon.js";
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
/** Pico-dollars per token. */
const rate = 3_000_000;
const rates = { input: rate, output: rate };
const longMs = 3_600_000;
const names = ["a", "b", "c"];
/** How often a request may be passed by those of other children. */
const passesMax = 400;

interface Asked {
  readonly id: number;
  readonly path: string;
  readonly metered: Metered;
  readonly atMs: number;
  readonly deadlineMs: number;
  isQueued: boolean;
  /** How many requests of other children were admitted while it was the oldest of its own. */
  passes: number;
  /** Since when all limits have had room for it. */
  roomSinceMs: number | null;
}

interface Running {
  readonly asked: Asked;
  readonly lease: Lease;
  readonly metered: Metered;
  readonly input: number;
  output: number;
  allowance: number;
  isDrawing: boolean;
  endMs: number;
  /** What windows were charged of it while its proxy was away for too long. */
  charged: number;
}

interface Unwritten {
  readonly settle: Settle;
  readonly endedMs: number;
}

class TogetherProxy {
  readonly id: string;
  peer: TestPeer;
  read = 0;
  seq = 0;
  isLinked = true;
  cutMs = 0;
  backMs = 0;
  readonly asked = new Map<number, Asked>();
  running: Running[] = [];
  unwritten: Unwritten[] = [];

  constructor(id: string, peer: TestPeer) {
    this.id = id;
    this.peer = peer;
  }
}

class History {
  readonly random: Random;
  readonly trace: Trace;
  readonly rules: readonly RuleDefinition[];
  readonly budgets: readonly BudgetDefinition[];
  /** The most that a request may need of any cap. */
  readonly #largest: number;
  readonly #backlogs = new Map<string, number>();
  daemon: TestDaemon;
  proxies: TogetherProxy[] = [];
  isEnding = false;
  /** Whether some were charged as interrupted, and a budget may count them in a later period. */
  #isMoved = false;
  /** The most that the prompt of a request had beyond what it probably has. */
  #promptError = 0;
  #lastId = 1;
  #proxyId = 0;

  constructor(seed: number) {
    const random = createRandom(seed);
    this.random = random;
    const tokens = random.int(300, 1500);
    const hard = {
      ...pathRule("/team", random.pick([1, 2, 5]), { tokens }),
      hold: "hard" as const,
    };
    const slots = pathRule("/team", 0, { requests: random.int(1, 5) });
    const soft = pathRule("/team", 3, { tokens: random.int(300, 1500) });
    const requests = pathRule("/team", 4, { requests: random.int(5, 40) });
    const ofChild = { ...pathRule("/team", 6, { requests: random.int(4, 20) }), perChild: true };
    const ofModel: RuleDefinition = {
      ...pathRule("gpt-4o", 0, { requests: random.int(1, 4) }),
      scope: "model",
    };
    const drawn = [
      random.chance(0.8) ? [this.#shared(hard)] : [],
      random.chance(0.8) ? [this.#shared(slots)] : [],
      random.chance(0.3) ? [this.#shared(soft)] : [],
      random.chance(0.3) ? [this.#shared(requests)] : [],
      random.chance(0.3) ? [ofChild] : [],
      random.chance(0.3) ? [ofModel] : [],
    ].flat();
    this.rules = drawn.length < 2 ? [this.#shared(hard), this.#shared(slots)] : drawn;
    const dollars = random.int(300, 1500);
    const budget: BudgetDefinition = {
      ...{ scope: "user_path", subject: "/team", periodSeconds: random.pick([3, 7]) },
      ...{ amountUsd: (dollars * rate) / 1e12, perChild: false },
      ...(random.chance(0.7) ? { hold: "hard" } : {}),
    };
    this.budgets = random.chance(0.6) ? [budget] : [];
    this.#largest = Math.min(tokens, dollars) / 2;
    for (const name of names) this.#backlogs.set(name, random.pick([0, 2, 4, 8]));
    this.daemon = this.#start();
    const limits = [...this.rules, ...this.budgets];
    this.trace = new Trace(
      80,
      limits.map((limit) => JSON.stringify(limit)),
    );
    for (let i = 0; i < 3; i++) this.#newProxy();
  }

  #shared(rule: RuleDefinition): RuleDefinition {
    const { random } = this;
    if (random.chance(0.5)) return rule;
    const share = () => ({
      weight: random.pick([1, 2, 3]),
      ...(random.chance(0.4) ? { floor: random.pick([0.1, 0.25]) } : {}),
      ...(random.chance(0.4) ? { priority: random.int(-1, 1) } : {}),
    });
    const named = names.filter(() => random.chance(0.7));
    const childShares: ChildShares = {
      min_share: 0.2,
      children: Object.fromEntries(named.map((name) => [name, share()])),
    };
    return { ...rule, childShares };
  }

  #start(store?: TestDaemon["store"]): TestDaemon {
    const nowMs = this.daemon?.nowMs ?? Date.parse("2026-01-05T00:00:00Z");
    const { rules, budgets } = this;
    const of = store === undefined ? {} : { store };
    return startDaemon(rules, { waiting, budgets, nowMs, drawsWait: true, ...of });
  }

  #newProxy(): void {
    const id = `p${++this.#proxyId}`;
    this.proxies.push(new TogetherProxy(id, this.daemon.proxy(id)));
  }

  note(kind: string, detail = ""): void {
    this.trace.note(kind, `${this.daemon.nowMs % 1e8} ${kind} ${detail}`);
  }

  async step(): Promise<void> {
    const { random } = this;
    for (let i = random.int(1, 2) * (waitTickMs / drawTickMs); i > 0; i--) {
      this.daemon.tickDraws();
      this.#read();
    }
    for (const proxy of this.proxies) if (proxy.backMs <= this.daemon.nowMs) this.#link(proxy);
    for (const proxy of this.proxies) this.#flow(proxy);
    await this.#tick();
    if (!this.isEnding) this.#askAll();
    const kind = this.isEnding ? 1 : random.next();
    if (kind < 0.03) this.#cancel();
    else if (kind < 0.045) await this.#cut(random.pick(this.proxies));
    else if (kind < 0.05) this.#kill(random.pick(this.proxies));
    else if (kind < 0.08) await this.#write();
    else if (kind < 0.083) await this.#crash();
    else if (kind < 0.1) this.#backlogs.set(random.pick(names), random.pick([0, 0, 2, 8]));
  }

  async #tick(): Promise<void> {
    chargeInterrupted(this.daemon.state, this.daemon.nowMs);
    await this.daemon.commit();
    this.#read();
    this.#check();
  }

  #askAll(): void {
    const { random } = this;
    for (const name of names) {
      const missing = this.#backlogs.get(name)! - this.#waiting(`/team/${name}`).length;
      for (let i = 0; i < Math.min(missing, 2); i++) this.#ask(`/team/${name}`, longMs);
    }
    if (random.chance(0.3))
      this.#ask(`/team/${random.pick(names)}`, random.pick([0, random.int(1, 5) * 1000]));
  }

  #ask(path: string, waitMs: number): void {
    const { random } = this;
    const proxy = random.pick(this.proxies);
    if (!proxy.isLinked) return;
    const isLarge = random.chance(0.15);
    const promptTokens = isLarge ? random.int(1, this.#largest) : random.int(0, 30);
    const outputMax = random.chance(0.5) ? random.int(1, 100) : null;
    const isStreamed = random.chance(0.8);
    const atMs = this.daemon.nowMs;
    const asked: Asked = {
      ...{ id: ++this.#lastId, path, atMs, deadlineMs: atMs + waitMs },
      metered: { promptTokens, outputMax, isStreamed, rates: [rates] },
      ...{ isQueued: false, passes: 0, roomSinceMs: null },
    };
    proxy.asked.set(asked.id, asked);
    this.#sendAsked(proxy, asked);
  }

  #sendAsked({ peer }: TogetherProxy, { id, path, metered, atMs, deadlineMs }: Asked): void {
    const askedMs = deadlineMs - atMs;
    const wait = { askedMs, timeoutMs: null, waitedMs: this.daemon.nowMs - atMs };
    peer.send({
      ...{ kind: "admit", id, userPath: path, credential: "authenticated", read: 0, metered },
      ...{ targets: [target], submission: false },
      ...(askedMs > 0 ? { wait } : {}),
    });
    this.#read();
  }

  /** Output flows, some streams draw, and those that are over settle. */
  #flow(proxy: TogetherProxy): void {
    const { random, daemon } = this;
    for (const request of [...proxy.running]) {
      const { metered, lease } = request;
      const most = Math.min(request.allowance, metered.outputMax ?? request.allowance);
      request.output = random.int(request.output, Math.max(request.output, most));
      if (request.endMs <= daemon.nowMs && !request.isDrawing) {
        this.#end(proxy, request);
        continue;
      }
      if (!metered.isStreamed || !proxy.isLinked || request.isDrawing || random.chance(0.5))
        continue;
      request.isDrawing = true;
      const total = request.allowance + random.int(1, 100);
      proxy.peer.send({ kind: "draw", id: lease.lease, total, waitMs: random.pick([0, 20, 200]) });
      this.#read();
    }
  }

  #end(proxy: TogetherProxy, request: Running): void {
    const { lease, input, output } = request;
    proxy.running = proxy.running.filter((other) => other !== request);
    const cost = (input + output) * rate;
    const record = executed({
      ...{ inputTokens: input, outputTokens: output, inputCost: 0 },
      ...{ outputCost: cost, totalCost: cost },
    });
    const settle = { ...settleOf(lease, ++proxy.seq, input + output), record };
    proxy.unwritten.push({ settle, endedMs: this.daemon.nowMs });
    this.note("settled", `${lease.lease} ${input} ${output}`);
    if (proxy.isLinked) proxy.peer.send(settle);
    this.#read();
  }

  #cancel(): void {
    const proxy = this.random.pick(this.proxies);
    const queued = [...proxy.asked.values()].filter(({ isQueued }) => isQueued);
    if (queued.length === 0 || !proxy.isLinked) return;
    const { id } = this.random.pick(queued);
    this.note("cancelled", `${id}`);
    proxy.peer.send({ kind: "cancel", id });
    this.#read();
  }

  async #cut(proxy: TogetherProxy): Promise<void> {
    if (!proxy.isLinked) return;
    this.note("connection lost", proxy.id);
    if (this.random.chance(0.5)) await storeHolds(this.daemon.state);
    for (const request of proxy.running) {
      const { asked, output, isDrawing } = request;
      if (output > 0 || isDrawing) continue;
      this.note("unread", `${asked.id}`);
      proxy.running = proxy.running.filter((other) => other !== request);
      proxy.asked.set(asked.id, asked);
    }
    proxy.isLinked = false;
    // Some are away for so long that their requests are charged meanwhile.
    const awayMs = this.random.chance(0.1) ? 1.2 * interruptedKeptMs : this.random.int(0, 2000);
    proxy.cutMs = this.daemon.nowMs;
    proxy.backMs = proxy.cutMs + awayMs;
    this.#forgetAnswers(proxy);
    proxy.peer.close();
    this.#read();
  }

  #forgetAnswers(proxy: TogetherProxy): void {
    for (const asked of proxy.asked.values()) {
      asked.isQueued = false;
      asked.roomSinceMs = null;
    }
    for (const request of proxy.running) request.isDrawing = false;
  }

  #link(proxy: TogetherProxy): void {
    if (proxy.isLinked) return;
    this.#hello(proxy);
    this.#askAgain(proxy);
  }

  #hello(proxy: TogetherProxy): void {
    this.note("reconnected", proxy.id);
    const { nowMs } = this.daemon;
    if (nowMs - proxy.cutMs >= interruptedKeptMs)
      for (const request of proxy.running) {
        request.charged = request.input + request.output;
        this.#isMoved = true;
      }
    const leases = proxy.running.map(({ lease, metered: { promptTokens }, allowance }) => ({
      ...lease,
      holding: { promptTokens, output: allowance, rates, keyId: "" },
    }));
    proxy.peer = this.daemon.proxy(proxy.id, leases);
    proxy.read = 0;
    proxy.isLinked = true;
  }

  #askAgain(proxy: TogetherProxy): void {
    const { nowMs } = this.daemon;
    this.#read();
    for (const { settle, endedMs } of proxy.unwritten)
      proxy.peer.send({ ...settle, endedAgoMs: nowMs - endedMs });
    for (const asked of [...proxy.asked.values()])
      if (asked.deadlineMs > nowMs) this.#sendAsked(proxy, asked);
      else proxy.asked.delete(asked.id);
  }

  #kill(proxy: TogetherProxy): void {
    this.note("proxy killed", proxy.id);
    if (proxy.isLinked) proxy.peer.close();
    this.proxies = this.proxies.filter((other) => other !== proxy);
    this.#newProxy();
    this.#read();
  }

  async #write(): Promise<void> {
    await storeHolds(this.daemon.state);
    await this.#tick();
    await this.#tick();
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
      this.#forgetAnswers(proxy);
    }
    this.daemon = this.#start(this.daemon.store.crash());
    for (const proxy of this.proxies) this.#hello(proxy);
    endReconnectGrace(this.daemon.state);
    for (const proxy of this.proxies) this.#askAgain(proxy);
  }

  #waiting(path: string): readonly Asked[] {
    return this.#queued().filter((asked) => asked.path === path);
  }

  #queued(): readonly Asked[] {
    return this.proxies.flatMap(({ asked }) =>
      [...asked.values()].filter(({ isQueued }) => isQueued),
    );
  }

  /** Reads the answers that have come, in the order in which the daemon has given them. */
  #read(): void {
    const admitted: Asked[] = [];
    for (const proxy of this.proxies) {
      if (!proxy.isLinked) continue;
      const { received } = proxy.peer;
      for (; proxy.read < received.length; proxy.read++)
        this.#readOne(proxy, received[proxy.read]!, admitted);
    }
    for (const asked of admitted) this.#checkOrder(asked);
  }

  #readOne(proxy: TogetherProxy, message: FromDaemon, admitted: Asked[]): void {
    const { nowMs } = this.daemon;
    if (message.kind === "drawn") return this.#drawn(proxy, message);
    const asked = "id" in message ? proxy.asked.get(message.id) : undefined;
    if (asked === undefined) return;
    const { id, deadlineMs } = asked;
    switch (message.kind) {
      case "queued":
        if (!asked.isQueued) this.note("queued", `${id} ${asked.path}`);
        asked.isQueued = true;
        return;
      case "refused":
      case "exceeded":
        proxy.asked.delete(id);
        must(nowMs <= deadlineMs + 5 * waitTickMs, () => `${id} is refused too late`);
        this.note("refused", `${id} ${asked.path} ${message.dimension}`);
        return;
      case "cancelled":
        proxy.asked.delete(id);
        return;
      case "admitted": {
        proxy.asked.delete(id);
        must(nowMs <= deadlineMs || !asked.isQueued, () => `${id} is admitted after its deadline`);
        const { metered } = asked;
        const { allowance = metered.outputMax ?? 100 } = message;
        // A request alone on a cap needs room for what its prompt probably has.
        const input = this.random.int(0, Math.ceil(metered.promptTokens / 2));
        const likely = this.daemon.state.learnedPrompts.likely(target, metered.promptTokens);
        this.#promptError = Math.max(this.#promptError, input - likely);
        proxy.running.push({
          asked,
          lease: leaseOf(message, asked.path),
          metered,
          input,
          ...{ output: 0, allowance, isDrawing: false, charged: 0 },
          endMs: nowMs + this.random.int(1, 10) * waitTickMs,
        });
        this.note(
          asked.isQueued ? "admitted after a wait" : "admitted",
          `${id} ${asked.path} ${metered.promptTokens}`,
        );
        admitted.push(asked);
        return;
      }
      default:
        must(false, () => `${id}: ${JSON.stringify(message)}`);
    }
  }

  #drawn(proxy: TogetherProxy, { id, total, cap }: Extract<FromDaemon, { kind: "drawn" }>): void {
    const request = proxy.running.find(({ lease }) => lease.lease === id);
    if (request === undefined) return;
    must(total >= request.allowance, () => "an allowance fell");
    request.isDrawing = false;
    request.allowance = total;
    if (cap !== undefined) request.endMs = this.daemon.nowMs;
    this.note(cap === undefined ? "drawn" : "cut", `${id} ${total}`);
  }

  #checkOrder({ id, path, atMs }: Asked): void {
    for (const other of this.#queued()) {
      if (other.path !== path) {
        if (this.#waiting(other.path).some((older) => older.atMs < other.atMs)) continue;
        other.passes++;
        must(other.passes <= passesMax, () => `${other.id} of ${other.path} starves`);
        continue;
      }
      must(other.atMs >= atMs, () => {
        const { peer } = this.proxies.find(({ asked }) => asked.has(other.id))!;
        const breach = this.daemon.state.waiters.find(peer.state, other.id)?.breach;
        return `${id} has overtaken ${other.id} of ${path}: ${JSON.stringify(breach)}`;
      });
    }
  }

  #check(): void {
    for (const definition of this.rules) this.#checkRule(definition);
    this.#checkBudget();
    this.#checkStored();
    this.#checkRoom();
  }

  #checkRule(definition: RuleDefinition): void {
    const rule = this.daemon.state.book.find(definition)!;
    if (definition.perChild) return;
    const { periodSeconds, hold, maxTokens, subject } = definition;
    if (periodSeconds === 0) {
      const running = this.#running().length;
      const { inFlight } = rule.own!;
      must(inFlight === running, () => `${inFlight} slots of ${subject} are taken, not ${running}`);
    }
    if (hold === undefined) return;
    const counted = this.#tokensIn(rule);
    const used = counted + this.#usedByRunning();
    must(
      used <= maxTokens! + this.#promptError + 1,
      () => `${used} of ${maxTokens} tokens are used`,
    );
    // A request that is alone needs no room for the whole bound of its prompt.
    if (this.#isMoved && this.budgets.length > 0) return;
    const taken = counted + (rule.held?.of("") ?? 0) - this.#largest - 1;
    must(taken <= maxTokens!, () => `${taken} of ${maxTokens} tokens are used and held`);
  }

  #running(): readonly Running[] {
    return this.proxies.flatMap(({ isLinked, running }) => (isLinked ? running : []));
  }

  #usedByRunning(): number {
    return this.#running().reduce(
      (sum, { input, output, charged }) => sum + input + output - charged,
      0,
    );
  }

  #tokensIn({ own, periodMs }: Rule): number {
    const window = { ...own!.window };
    rollWindow(window, periodMs, this.daemon.nowMs);
    return slidingTokens(window, periodMs, this.daemon.nowMs);
  }

  /** Nothing is stored of a request that waits, unless it was charged as interrupted. */
  #checkStored(): void {
    for (const { id, isLinked, asked } of this.proxies) {
      const known = this.daemon.state.proxies.all.get(id);
      for (const lease of known?.storedHolds.keys() ?? [])
        must(
          !(isLinked && asked.has(lease)) || known!.interrupted.has(lease),
          () => `the store has a hold of ${lease}, which waits`,
        );
    }
  }

  #checkBudget(): void {
    const { budgets } = this.daemon.state;
    for (const { definition, own } of budgets.budgets.values()) {
      if (definition.hold === undefined || this.#isMoved) continue;
      const { spent } = budgets.runningPeriod(own!, this.daemon.nowMs);
      const used = sumUsd(spent) * 1e12 + this.#usedByRunning() * rate;
      const most = definition.amountUsd * 1e12;
      must(
        used <= most * (1 + 1e-9) + (this.#promptError + 1) * rate,
        () => `${used} of ${most} pico-dollars are spent`,
      );
    }
  }

  /** What the limits say now, as if none waited. */
  #judge({ path, metered }: Asked): Judgement {
    const { state, nowMs } = this.daemon;
    const targets = [target];
    const demands = demandsAt(state, { metered, targets }, targets);
    const judgement = judge(
      state.book,
      { userPath: path, targets, submission: false, demands },
      {
        ...{ nowMs, tokensEnforced: true, waits: true, waiters: null },
        budgets: { book: state.budgets, labels: [] },
      },
    );
    state.book.reclaim();
    return judgement;
  }

  #checkRoom(): void {
    const { nowMs } = this.daemon;
    const queued = this.#queued();
    const isLarge = queued.some((asked) => {
      const judgement = this.#judge(asked);
      return judgement.kind !== "admitted" && this.#isOfSize(judgement);
    });
    for (const name of names) {
      const [oldest] = this.#waiting(`/team/${name}`).toSorted(
        (a, b) => a.atMs - b.atMs || a.id - b.id,
      );
      if (oldest === undefined) continue;
      if (isLarge || this.#judge(oldest).kind !== "admitted") {
        oldest.roomSinceMs = null;
        continue;
      }
      oldest.roomSinceMs ??= nowMs;
      must(
        nowMs - oldest.roomSinceMs <= judgeAgainMs + 8 * waitTickMs,
        () => `${oldest.id} of ${oldest.path} waits, although all limits have room${this.#views()}`,
      );
    }
  }

  /** The queues, with the request that each judges next, for a violation. */
  #views(): string {
    const { waiters } = this.daemon.state;
    return [...waiters.queues.views(waiters.monoMs)]
      .map(({ key, classes, first, oldest }) => {
        const asked = this.#queued().find(({ id }) => id === first.id)!;
        const { kind, ...why } = this.#judge(asked);
        const breach = "breach" in why ? JSON.stringify(why.breach) : "";
        const names = classes.map(({ name, waiting: count }) => `${name}: ${count}`);
        return `\n${key.replaceAll("\n", " ")} (${names}): next ${first.id} of ${first.userPath} is ${kind} ${breach}, the oldest is ${oldest.id}`;
      })
      .join("");
  }

  /** Whether a smaller request might have room where this one has none. */
  #isOfSize(judgement: Judgement): boolean {
    if (judgement.kind === "admitted") return false;
    if (judgement.kind === "exceeded") return true;
    const { breach, counter } = judgement;
    return counter?.rule.definition.hold !== undefined && breach.share === undefined;
  }

  async rest(): Promise<void> {
    this.isEnding = true;
    for (const proxy of this.proxies) this.#link(proxy);
    const isBusy = (): boolean =>
      this.proxies.some(({ asked, running }) => asked.size + running.length > 0);
    for (let i = 0; i < 3000 && isBusy(); i++) await this.step();
    const left = this.proxies.flatMap(({ asked }) => [...asked.keys()]);
    must(left.length === 0, () => `${left} have no answer`);
    // What requests of killed proxies held is charged.
    this.daemon.nowMs += 2 * interruptedKeptMs;
    await this.#write();
    await this.#write();
    const { waiters, draws, book, budgets, proxies } = this.daemon.state;
    must(waiters.size === 0, () => `${waiters.size} requests wait at rest`);
    must(draws.size === 0, () => `${draws.size} draws wait at rest`);
    for (const definition of this.rules) {
      const held = book.find(definition)!.held?.of("") ?? 0;
      must(held === 0, () => `${held} of ${definition.periodSeconds} s are held at rest`);
    }
    for (const { held } of budgets.budgets.values())
      must((held?.of("") ?? 0) === 0, () => `${held?.of("")} pico-dollars are held at rest`);
    for (const { id } of this.proxies) {
      const stored = proxies.all.get(id)?.storedHolds.size ?? 0;
      must(stored === 0, () => `the store has ${stored} holds of ${id} at rest`);
    }
    this.note("all served");
  }
}

/** Runs the history of a seed. */
export function simulateTogether(seed: number): Promise<SimulationResult> {
  return runHistory(seed, new History(seed), 400);
}
