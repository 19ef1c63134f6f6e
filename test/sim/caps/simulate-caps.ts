/**
 * Histories of hard caps, each from a seed: streams hold, draw and settle, while connections break,
 * proxies are killed, the daemon crashes, and answers are lost. The daemon's steps are its own, on
 * a store in memory. The proxies are models that know what their requests really use.
 *
 * Invariants, after each event: the use of all requests is within each cap, even if no settle has
 * charged it yet or ever will; a cap holds exactly what its requests hold; an allowance never
 * falls. If children share a cap: no child gets room that is left of the floor of another child
 * that wants the cap, and none is refused or cut off below its floor while there is room. At rest:
 * nothing is held, and each request was charged its use, or what it held if its proxy was killed.
 * Then small requests fill a cap, and in a later period larger ones: at the end they leave less
 * than one needs, the likely tokens of its prompt and a useful output (`unusedMax`).
 *
 * In most histories each prompt has about the same part of its bound. In the others it has any
 * part, and what one prompt has beyond its likely tokens may exceed the caps.
 */
import { Held } from "../../../limiterd/counters/held.js";
import { pathItself } from "../../../limiterd/counters/shared-cap.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import {
  chargeInterrupted,
  interruptedKeptMs,
  storeHolds,
} from "../../../limiterd/handlers/interrupted-requests.js";
import { drawWaitMsMax } from "../../../shared/bounds.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { shareOfChild } from "../../../shared/domain/child-shares.js";
import { sumUsd } from "../../../shared/domain/money.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Lease, Metered, Settle } from "../../../shared/wire/message-to-daemon.js";
import {
  counts,
  executed,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../../limiterd/in-memory-daemon.js";
import { createRandom, type Random } from "../random.js";
import type { SimulationResult } from "../simulate.js";
import { must, runHistory, Trace } from "../trace.js";

const day = 86_400;
const rates = { input: 3_000_000, output: 15_000_000 };
const hardPathRule = {
  scope: "user_path",
  periodSeconds: day,
  maxRequests: null,
  hold: "hard",
} as const;
const costOf = (input: number, output: number): number =>
  input * rates.input + output * rates.output;

interface Cap {
  readonly name: string;
  readonly covers: (userPath: string) => boolean;
  /** In the cap's unit. */
  readonly cap: number;
  /** How much of the cap these tokens use. */
  readonly used: (input: number, output: number) => number;
  /** How much of the cap the daemon holds. */
  readonly held: (daemon: TestDaemon) => number;
}

interface Request {
  readonly lease: Lease;
  readonly metered: Metered;
  /** The real size of the prompt. */
  readonly input: number;
  /** What it probably has, as the daemon knew when it admitted it. */
  readonly likely: number;
  /** What it holds of it: the bound until the provider has counted it. */
  promptHeld: number;
  output: number;
  allowance: number;
  /** Held in addition, for what its provider sends until the call is cancelled. */
  inTransit: number;
  isEnded: boolean;
}

interface Amount {
  readonly input: number;
  readonly output: number;
}

/** A request that has ended, with its use. */
interface EndedRequest extends Amount {
  readonly userPath: string;
  /** What windows were charged: its use, unless its proxy was killed. */
  counted: Amount;
  /** What budgets were charged: its use, unless its proxy was killed. */
  spent: Amount;
}

/** A settle that the daemon may not have written yet. */
interface Unwritten {
  readonly settle: Settle;
  readonly request: Request;
  readonly ended: EndedRequest;
  /** Whether the daemon has got it. */
  isSent: boolean;
}

class CapsProxy {
  readonly id: string;
  peer: TestPeer;
  seq = 0;
  readonly running: Request[] = [];
  unwritten: Unwritten[] = [];
  isConnected = true;
  /** How many of the daemon's messages it has read for late answers. */
  #read = 0;

  constructor(id: string, peer: TestPeer) {
    this.id = id;
    this.peer = peer;
  }

  connectTo(peer: TestPeer): void {
    this.peer = peer;
    this.isConnected = true;
    this.#read = 0;
  }

  /** Of two draws, the second may still wait when the first one is answered. */
  hearLateGrants(): void {
    for (const answer of this.peer.received.slice(this.#read)) {
      const isOf = ({ lease }: Request): boolean =>
        answer.kind === "drawn" && lease.lease === answer.id;
      const request = this.running.find(isOf);
      if (request !== undefined && answer.kind === "drawn")
        request.allowance = Math.max(request.allowance, answer.total);
    }
    this.#read = this.peer.received.length;
  }
}

const paths = ["/team", "/team/a", "/team/a/x", "/team/b", "/other"];

/** The children that share the cap of /team; undefined for other paths. */
const sharers = ["a", "b", pathItself];
function sharerOf(userPath: string): string | undefined {
  const [, team, child = pathItself] = userPath.split("/");
  return team === "team" ? child : undefined;
}

/** Larger requests: the bounds of their prompts, and the output that they want at most. */
const larger = { promptMin: 256, promptMax: 300, outputMax: 300 };

class History {
  readonly random: Random;
  /** The part of its bound that a prompt has at most; null: any part, so none is learned. */
  promptPart: number | null;
  /** The most that the prompt of a request had beyond what it probably has. */
  promptError = 0;
  readonly drawsWait: boolean;
  readonly rules: readonly RuleDefinition[];
  readonly budgets: readonly BudgetDefinition[];
  readonly caps: readonly Cap[];
  readonly trace = new Trace(40);
  daemon: TestDaemon;
  proxies: CapsProxy[] = [];
  #lease = 2;
  #proxyId = 0;
  /** The children that have sent requests since the daemon started; they want the shared cap. */
  readonly #wanting = new Set<string>();
  /** The requests of these periods. */
  ended: EndedRequest[] = [];

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.drawsWait = seed % 2 === 0;
    this.promptPart = [0.1, 0.3, 0.5, null][(seed >> 1) % 4]!;
    const tokens = this.random.int(20_000, 100_000);
    const children = this.random.int(20_000, 60_000);
    const costs = this.random.int(20, 100) / 100;
    const amount = this.random.int(20, 80) / 100;
    const isShared = this.random.chance(0.5);
    const share = () => ({
      weight: this.random.int(1, 3),
      ...(this.random.chance(0.7) ? { floor: this.random.pick([0.1, 0.25, 0.4]) } : {}),
    });
    const teamRule: RuleDefinition = {
      ...hardPathRule,
      subject: "/team",
      maxTokens: tokens,
      perChild: false,
      ...(isShared ? { childShares: { children: { a: share(), b: share() } } } : {}),
    };
    const template: RuleDefinition = {
      ...hardPathRule,
      subject: "/team",
      periodSeconds: day - 1,
      maxTokens: children,
      perChild: true,
    };
    const costRule: RuleDefinition = {
      ...hardPathRule,
      subject: "/",
      maxTokens: null,
      perChild: false,
      measureCaps: { cost: costs },
    };
    this.rules = [teamRule, template, costRule];
    this.budgets = [
      {
        scope: "user_path",
        subject: "/team/a",
        periodSeconds: day,
        amountUsd: amount,
        perChild: false,
        hold: "hard",
      },
    ];
    const below = (subject: string) => (userPath: string) =>
      subject === "/" || userPath === subject || userPath.startsWith(`${subject}/`);
    const ruleHeld = (rule: RuleDefinition, child: string) => (daemon: TestDaemon) => {
      const { held, parts } = daemon.state.book.find(rule)!;
      return ((rule.measureCaps === undefined ? held : parts[0]!.held) ?? new Held()).of(child);
    };
    const sum = (input: number, output: number): number => input + output;
    this.caps = [
      {
        name: "tokens",
        covers: below("/team"),
        cap: tokens,
        used: sum,
        held: ruleHeld(teamRule, ""),
      },
      ...(isShared ? sharers : []).map((child) => ({
        name: `share of ${child}`,
        cap: tokens,
        used: sum,
        covers: (userPath: string) => sharerOf(userPath) === child,
        held: ({ state }: TestDaemon) => state.book.find(teamRule)!.tenants!.held?.of(child) ?? 0,
      })),
      ...["a", "b"].map((child) => ({
        name: `child ${child}`,
        covers: below(`/team/${child}`),
        cap: children,
        used: sum,
        held: ruleHeld(template, child),
      })),
      {
        name: "cost",
        covers: below("/"),
        cap: costs * 1e12,
        used: costOf,
        held: ruleHeld(costRule, ""),
      },
      {
        name: "budget",
        covers: below("/team/a"),
        cap: amount * 1e12,
        used: costOf,
        held: ({ state }) => [...state.budgets.budgets.values()][0]!.held?.of("") ?? 0,
      },
    ];
    this.daemon = this.#start();
    for (let i = 0; i < 3; i++) this.#newProxy();
  }

  #start(store?: TestDaemon["store"]): TestDaemon {
    const { rules, budgets } = this;
    const nowMs = this.daemon?.nowMs ?? Date.parse("2026-01-05T00:00:00Z");
    const { drawsWait } = this;
    return startDaemon(rules, {
      budgets,
      nowMs,
      drawsWait,
      ...(store === undefined ? {} : { store }),
    });
  }

  #newProxy(): void {
    const id = `p${++this.#proxyId}`;
    this.proxies.push(new CapsProxy(id, this.daemon.proxy(id)));
  }

  note(kind: string, detail = ""): void {
    this.trace.note(kind, `${kind} ${detail}`);
  }

  async step(): Promise<void> {
    const { random } = this;
    const proxy = random.pick(this.proxies);
    const kind = random.next();
    if (kind < 0.3) this.admit(proxy);
    else if (kind < 0.75) this.streamOutput(proxy);
    else if (kind < 0.86) this.end(proxy);
    else if (kind < 0.9) this.disconnect(proxy);
    else if (kind < 0.95) this.reconnect(proxy);
    else if (kind < 0.96) await this.kill(proxy, random.pick(["alone", "with the daemon"]));
    else if (kind < 0.98) await this.write();
    else await this.crash();
    this.check();
  }

  admit(
    proxy: CapsProxy,
    promptTokens = this.random.int(0, 2000),
    userPath = this.random.pick(paths),
  ) {
    if (!proxy.isConnected) return null;
    const { random } = this;
    const isStreamed = random.chance(0.8);
    const outputMax = random.chance(0.5) ? null : random.int(0, 3000);
    const metered: Metered = { promptTokens, outputMax, isStreamed, rates: [rates] };
    const id = this.#lease++;
    const isAlone = this.#shareHeld(() => true) === 0;
    const likely = this.daemon.state.learnedPrompts.likely(target, promptTokens);
    proxy.peer.send({
      read: 0,
      kind: "admit",
      id,
      userPath,
      credential: "authenticated",
      targets: [target],
      submission: false,
      metered,
    });
    const answer = proxy.peer.received.at(-1)!;
    this.#noteWant(userPath);
    if (answer.kind === "refused" || answer.kind === "exceeded") {
      const isOfShares = answer.kind === "refused" && answer.subject === "/team";
      if (isOfShares) this.#checkFloorRefused(userPath, promptTokens + 64);
      this.note("refused", `${userPath} ${answer.dimension} ${answer.waitSeconds}`);
      return answer.waitSeconds;
    }
    must(answer.kind === "admitted", () => JSON.stringify(answer));
    const {
      admittedAtMs,
      lsn,
      allowance = -1,
    } = answer as Extract<typeof answer, { kind: "admitted" }>;
    must(allowance >= 0, () => "an admission without an allowance");
    const lease: Lease = {
      lease: id,
      userPath,
      admittedAtMs,
      lsn,
      target,
      submission: false,
      targetAtMs: admittedAtMs,
      targetLsn: lsn,
    };
    const input =
      this.promptPart === null
        ? random.int(0, promptTokens)
        : Math.ceil((promptTokens * this.promptPart * random.int(90, 100)) / 100);
    this.promptError = Math.max(this.promptError, input - likely);
    const inTransit = isStreamed ? Math.floor(Math.min(outputMax ?? 64, 64) / 8) : 0;
    proxy.running.push({
      lease,
      metered,
      input,
      likely,
      promptHeld: promptTokens,
      output: 0,
      allowance,
      inTransit,
      isEnded: false,
    });
    this.note("admitted", `${id} ${userPath} ${promptTokens} ${allowance}`);
    // A request alone on a cap needs room for what its prompt probably has.
    this.#checkFloorsKept(userPath, isAlone ? promptTokens - likely : 0);
    return null;
  }

  /** A stream gets some output and draws more; the answer may be lost with the connection. */
  streamOutput(proxy: CapsProxy): void {
    const { random } = this;
    if (proxy.running.length === 0) return;
    const request = random.pick(proxy.running);
    const { metered, lease } = request;
    const sent = request.allowance + request.inTransit;
    const outputMax = Math.min(sent, metered.outputMax ?? sent);
    request.output = random.int(request.output, Math.max(request.output, outputMax));
    if (!metered.isStreamed || !proxy.isConnected || request.isEnded) return;
    const total = request.allowance + random.int(1, 1500);
    if (total % 5 === 0) request.promptHeld = request.input;
    for (let times = random.chance(0.2) ? 2 : 1; times > 0; times--)
      proxy.peer.send({
        kind: "draw",
        id: lease.lease,
        total,
        ...(total % 5 === 0 ? { promptTokens: request.input } : {}),
        // Some streams are too fast to wait as long as any may.
        ...(total % 3 === 0 ? { waitMs: total % drawWaitMsMax } : {}),
      });
    const { received } = proxy.peer;
    const isAnswered = (): boolean => {
      const last = received.at(-1)!;
      return last.kind === "drawn" && last.id === lease.lease;
    };
    const askedMs = this.daemon.nowMs;
    while (!isAnswered() && this.daemon.nowMs - askedMs <= drawWaitMsMax) this.daemon.tickDraws();
    if (this.daemon.nowMs > askedMs) this.note("waited", `${lease.lease}`);
    const answer = received.at(-1)!;
    must(isAnswered(), () => JSON.stringify(answer));
    const drawn = answer as Extract<typeof answer, { kind: "drawn" }>;
    must(drawn.total >= request.allowance, () => "an allowance fell");
    must(drawn.total <= total, () => "more than was wanted");
    const isMore = drawn.total > request.allowance;
    request.allowance = drawn.total;
    request.isEnded = drawn.cap !== undefined;
    this.#noteWant(lease.userPath);
    const own = request.promptHeld + request.allowance + request.inTransit;
    const isAlone = this.#shareHeld(() => true) === own;
    if (isMore)
      this.#checkFloorsKept(lease.userPath, isAlone ? request.promptHeld - request.likely : 0);
    if (request.isEnded && /limit of \/team$/.test(drawn.cap!))
      this.#checkFloorRefused(lease.userPath, 1);
    this.note(request.isEnded ? "cut" : "drawn", `${lease.lease} ${drawn.total}`);
  }

  end(proxy: CapsProxy): void {
    const [request] = proxy.running.splice(this.random.int(0, proxy.running.length - 1), 1);
    if (request === undefined) return;
    const { lease, input, output } = request;
    const cost = costOf(input, output);
    const record = executed({
      inputTokens: input,
      outputTokens: output,
      inputCost: 0,
      outputCost: cost,
      totalCost: cost,
    });
    const settle = { ...settleOf(lease, ++proxy.seq, input + output), record };
    const ended = this.#noteEnd(request, { input, output });
    proxy.unwritten.push({ settle, request, ended, isSent: proxy.isConnected });
    if (proxy.isConnected) proxy.peer.send(settle);
    this.note("settled", `${lease.lease} ${input} ${output}`);
  }

  #noteEnd({ lease, input, output }: Request, charged: Amount): EndedRequest {
    const ended = { userPath: lease.userPath, input, output, counted: charged, spent: charged };
    this.ended.push(ended);
    return ended;
  }

  disconnect(proxy: CapsProxy): void {
    if (!proxy.isConnected) return;
    proxy.isConnected = false;
    proxy.peer.close();
    this.note("connection lost", proxy.id);
  }

  reconnect(proxy: CapsProxy): void {
    if (proxy.isConnected) return;
    const leases = proxy.running.map(({ lease, promptHeld, allowance }) => ({
      ...lease,
      holding: { promptTokens: promptHeld, output: allowance, rates, keyId: "" },
    }));
    proxy.connectTo(this.daemon.proxy(proxy.id, leases));
    // The report doesn't have the request's own maximum.
    for (const request of proxy.running) request.inTransit = 8;
    for (const unwritten of proxy.unwritten) {
      unwritten.isSent = true;
      proxy.peer.send(unwritten.settle);
    }
    this.note("reconnected", proxy.id);
  }

  /** Kills a proxy. Its running requests are charged what they held: nobody learns their use. */
  async kill(proxy: CapsProxy, how: "alone" | "with the daemon"): Promise<void> {
    await storeHolds(this.daemon.state);
    await this.write();
    if (proxy.isConnected) proxy.peer.close();
    this.proxies = this.proxies.filter((other) => other !== proxy);
    const lost = proxy.unwritten.filter(({ isSent }) => !isSent);
    // A hold in the store doesn't have the request's own maximum either.
    const bound = ({ promptHeld, allowance, inTransit }: Request): Amount => ({
      input: promptHeld,
      output: allowance + (how === "alone" ? inTransit : 8),
    });
    for (const request of proxy.running) this.#noteEnd(request, bound(request));
    for (const { request, ended } of lost) ended.counted = ended.spent = bound(request);
    if (how === "with the daemon") await this.crash();
    this.#chargeInterrupted();
    // Its settles may be in a spool.
    const spooled = this.random.chance(0.6) ? lost : [];
    if (spooled.length > 0) {
      const peer = this.daemon.proxy(proxy.id);
      for (const { settle, ended } of spooled) {
        peer.send(settle);
        // Its settle corrects budgets. Windows aren't reduced.
        ended.spent = { input: ended.input, output: ended.output };
      }
      peer.close();
      await this.write();
    }
    this.#newProxy();
    this.note("proxy killed", `${proxy.id} ${how} ${lost.length} ${spooled.length}`);
  }

  #chargeInterrupted(): void {
    for (const each of this.proxies) this.reconnect(each);
    this.daemon.nowMs += interruptedKeptMs;
    chargeInterrupted(this.daemon.state, this.daemon.nowMs);
  }

  async write(): Promise<void> {
    await this.daemon.commit();
    await this.daemon.commit();
    for (const proxy of this.proxies) {
      const known = this.daemon.state.proxies.all.get(proxy.id);
      const durable = known?.durableSeq ?? 0;
      proxy.unwritten = proxy.unwritten.filter(({ settle }) => settle.seq > durable);
    }
  }

  async crash(): Promise<void> {
    if (this.random.chance(0.5)) await this.write();
    for (const proxy of this.proxies) proxy.isConnected = false;
    const { nowMs } = this.daemon;
    this.daemon = this.#start(this.daemon.store.crash());
    this.daemon.nowMs = nowMs;
    endReconnectGrace(this.daemon.state);
    this.#wanting.clear();
    for (const proxy of this.proxies) this.reconnect(proxy);
    this.note("daemon crashed");
  }

  #noteWant(userPath: string): void {
    const child = sharerOf(userPath);
    if (child !== undefined) this.#wanting.add(child);
  }

  /** How much of the shared cap the running requests of some children hold. */
  #shareHeld(isOf: (child: string) => boolean): number {
    let held = 0;
    for (const { running } of this.proxies)
      for (const { lease, promptHeld, allowance, inTransit } of running) {
        const child = sharerOf(lease.userPath);
        if (child !== undefined && isOf(child)) held += promptHeld + allowance + inTransit;
      }
    return held;
  }

  /** How much of the shared cap some children have used, or their requests hold. */
  #shareUsed(isOf: (child: string) => boolean): number {
    let used = this.#shareHeld(isOf);
    for (const { userPath, counted } of this.ended) {
      const child = sharerOf(userPath);
      if (child !== undefined && isOf(child)) used += counted.input + counted.output;
    }
    return used;
  }

  #floorOf(child: string): number {
    const { childShares, maxTokens } = this.rules[0]!;
    return shareOfChild(childShares ?? {}, child).floor * maxTokens!;
  }

  /**
   * Checks that a child beyond its floor didn't get what is kept for the floors of others. A
   * request alone on the cap may have got `excess` more, which only the bound of its prompt holds.
   */
  #checkFloorsKept(userPath: string, excess: number): void {
    const child = sharerOf(userPath);
    const childUse = this.#shareUsed((each) => each === child);
    if (child === undefined || childUse <= this.#floorOf(child)) return;
    const free = this.rules[0]!.maxTokens! - this.#shareUsed(() => true);
    let kept = 0;
    for (const other of this.#wanting)
      if (other !== child)
        kept += Math.max(0, this.#floorOf(other) - this.#shareUsed((each) => each === other));
    must(
      kept === 0 || kept <= free + excess + 1,
      () => `${child} got what is kept: ${kept} of ${free} free`,
    );
  }

  /** Checks that a refused child, which needs this much, has used its floor or there is no room. */
  #checkFloorRefused(userPath: string, need: number): void {
    // The daemon learns from settles how much requests have left unused of what they held.
    if (!this.proxies.every(({ isConnected }) => isConnected)) return;
    const child = sharerOf(userPath)!;
    const free = this.rules[0]!.maxTokens! - this.#shareUsed(() => true);
    const left = this.#floorOf(child) - this.#shareUsed((each) => each === child);
    must(
      left <= need || free <= need,
      () => `${child} has ${left} of its floor and ${free} are free, but it is refused`,
    );
    if (this.#floorOf(child) > 0) this.note("floor used up", child);
  }

  /** The use of all requests that a cap counts. */
  #usedOf({ covers, used }: Cap): number {
    let sum = 0;
    for (const { userPath, input, output } of this.ended)
      if (covers(userPath)) sum += used(input, output);
    for (const { running } of this.proxies)
      for (const { lease, input, output } of running)
        if (covers(lease.userPath)) sum += used(input, output);
    return sum;
  }

  /** How much was charged to a cap. */
  #chargedOf({ covers, used, name }: Cap): number {
    let sum = 0;
    for (const { userPath, counted, spent } of this.ended) {
      const { input, output } = name === "budget" ? spent : counted;
      if (covers(userPath)) sum += used(input, output);
    }
    return sum;
  }

  check(): void {
    for (const proxy of this.proxies) proxy.hearLateGrants();
    const isConnected = this.proxies.every((proxy) => proxy.isConnected);
    for (const cap of this.caps) {
      const used = this.#usedOf(cap);
      const most = cap.cap + cap.used(this.promptError, 0) + 1;
      must(used <= most, () => `${cap.name}: ${used} of ${cap.cap} used`);
      let held = 0;
      for (const { running } of this.proxies)
        for (const { lease, promptHeld, allowance, inTransit } of running)
          if (cap.covers(lease.userPath)) held += cap.used(promptHeld, allowance + inTransit);
      const heldByDaemon = cap.held(this.daemon);
      // Requests that ended while their proxy was away are held until their settles arrive.
      must(
        isConnected ? heldByDaemon === held : heldByDaemon >= held,
        () => `${cap.name}: ${heldByDaemon} held, not ${held}`,
      );
    }
  }

  async rest(): Promise<void> {
    for (const proxy of this.proxies) this.reconnect(proxy);
    for (const proxy of this.proxies) while (proxy.running.length > 0) this.end(proxy);
    this.check();
    for (const cap of this.caps) {
      const held = cap.held(this.daemon);
      must(held === 0, () => `${cap.name}: ${held} held at rest`);
    }
    const [team] = this.rules;
    const charged = counts(this.daemon, team!).tokens;
    const used = this.#chargedOf(this.caps[0]!);
    must(charged === used, () => `${charged} tokens charged, not ${used}`);
    const { budgets } = this.daemon.state;
    const budget = [...budgets.budgets.values()][0]!;
    const { spent } = budgets.runningPeriod(budget.own!, this.daemon.nowMs);
    const dollars = this.#chargedOf(this.caps.at(-1)!) / 1e12;
    must(Math.abs(sumUsd(spent) - dollars) < 1e-5, () => `$${sumUsd(spent)}, not $${dollars}`);
    this.fill();
    this.fillLater();
  }

  /** Small requests one after the other use at least 99% of the smallest cap. */
  fill(): void {
    this.#untilRefused(() => 20, Number.POSITIVE_INFINITY);
    const fullest = Math.max(...this.#capsToFill().map((cap) => this.#chargedOf(cap) / cap.cap));
    must(fullest > 0.99, () => `only ${fullest} of the fullest cap is used`);
    this.check();
    this.note("filled");
  }

  /** Larger requests do so once nothing of these days counts any more. */
  fillLater(): void {
    this.daemon.nowMs += 3 * day * 1000;
    this.ended = [];
    this.#wanting.clear();
    this.promptPart ??= 0.1;
    const { promptMin, promptMax, outputMax } = larger;
    this.#untilRefused(() => this.random.int(promptMin, promptMax), outputMax);
    const unused = this.#capsToFill().map((cap) => {
      const [left, most] = [cap.cap - this.#chargedOf(cap), this.#unusedMax(cap)];
      return { name: cap.name, left, most };
    });
    must(
      unused.some(({ left, most }) => left < most),
      () => `left unused: ${JSON.stringify(unused)}`,
    );
    this.check();
    this.note("filled later");
  }

  /** The paths of the requests that fill a cap. */
  get #filling(): readonly string[] {
    return this.rules[0]!.childShares === undefined ? ["/team/a"] : ["/team/a", "/team/b", "/team"];
  }

  #capsToFill(): readonly Cap[] {
    return this.caps.filter(
      ({ covers, name }) => this.#filling.some(covers) && !name.startsWith("share"),
    );
  }

  /** The docs' bound: what the next request needs, which is refused. */
  #unusedMax({ cap, used }: Cap): number {
    const prompt = Math.ceil((Math.ceil(larger.promptMax * this.promptPart!) + 1) * (9 / 8)) + 1;
    const output = Math.min(64, Math.max(1, Math.floor(cap / used(0, 1) / 256)));
    // Each child leaves its share of what is left.
    return this.#filling.length * used(prompt, output);
  }

  /** Requests one after the other, until nobody gets more. */
  #untilRefused(promptTokens: () => number, outputMaxWanted: number): void {
    const [proxy] = this.proxies;
    // All sharers take turns, because what their floors keep is free for nobody else.
    const filling = this.#filling;
    let refused = 0;
    for (let i = 0; i < 20_000 && refused < filling.length; i++) {
      if (this.admit(proxy!, promptTokens(), filling[i % filling.length]!) !== null) {
        refused++;
        continue;
      }
      refused = 0;
      const request = proxy!.running[0]!;
      const isFull = (): boolean => request.isEnded || request.allowance >= outputMaxWanted;
      for (let draws = 0; draws < 200 && !isFull(); draws++) this.#drawAll(proxy!, request);
      request.output = Math.min(request.allowance, outputMaxWanted);
      this.end(proxy!);
    }
  }

  #drawAll(proxy: CapsProxy, request: Request): void {
    if (!request.metered.isStreamed) {
      request.isEnded = true;
      return;
    }
    const before = request.allowance;
    proxy.peer.send({ kind: "draw", id: request.lease.lease, total: before + 4096 });
    const answer = proxy.peer.received.at(-1) as { total: number; cap?: string };
    request.allowance = answer.total;
    request.isEnded = answer.cap !== undefined || answer.total === before;
  }
}

/** Runs the history of a seed. */
export function simulateCaps(seed: number): Promise<SimulationResult> {
  return runHistory(seed, new History(seed), 400);
}
