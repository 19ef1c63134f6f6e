/**
 * Histories of hard caps that two or three hosts share, each from a seed: streams on all hosts
 * hold, draw and settle. Meanwhile the engine answers late or not at all, or loses its data; hosts
 * are cut off, and daemons and proxies are killed. Time is virtual, and the daemons' steps are
 * their own.
 *
 * Invariant, after each event: the use on all hosts is within each cap, even if no settle has
 * charged it yet or ever will. Some histories have only a budget, whose short periods end while
 * streams run; in these no host is cut off. At rest no host claims anything. Then small requests
 * fill the cap.
 */
import { engineRetryMsMax, settleMs } from "../../../limiterd/bounds.js";
import { chargeInterrupted, storeHolds } from "../../../limiterd/handlers/interrupted-requests.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Lease, Metered, Settle } from "../../../shared/wire/message-to-daemon.js";
import { executed, settleOf, target } from "../../limiterd/in-memory-daemon.js";
import { beginMs, type Host, type Hosts, startHosts } from "../../limiterd/shares/hosts.js";
import { createRandom, type Random } from "../random.js";
import type { SimulationResult } from "../simulate.js";
import { runHistory, Trace } from "../trace.js";
import { Violation } from "../world.js";

/** How much later than the first host the last one reaches an engine that was away. */
const lateMs = engineRetryMsMax + 1000;
const rates = { input: 3_000_000, output: 15_000_000 };
const costOf = (input: number, output: number): number =>
  input * rates.input + output * rates.output;

/** The part of its bound that a prompt has at most, by seed: hosts learn it. */
const promptParts = [0.1, 0.3, 0.5] as const;

interface Running {
  readonly host: Host;
  readonly id: number;
  readonly metered: Metered;
  readonly input: number;
  /** Null until it is admitted. */
  lease: Lease | null;
  output: number;
  allowance: number;
  /** The total of the draw that has no answer yet; null: none. */
  unansweredDraw: number | null;
  isEnded: boolean;
}

class SharedHistory {
  readonly random: Random;
  readonly #promptPart: number;
  readonly hosts: Hosts;
  readonly trace = new Trace(60);
  readonly #tokens: number;
  readonly #cost: number;
  readonly #amount: number;
  /** The length of the budget's periods; a day if none ends. */
  readonly #periodSeconds: number;
  #period = 0;
  /**
   * Whether daemons store what requests hold. Otherwise a restarted daemon learns it only from its
   * proxies.
   */
  readonly #storesHolds: boolean;
  /** When daemons next charge interrupted requests, and store what requests hold. */
  #tickMs = 0;
  /** The cost of periods that have ended. */
  #costBefore = 0;
  /** How many of its daemon's messages each host's proxy has read. */
  readonly #read = new Map<Host, number>();
  readonly #running = new Map<string, Running>();
  /** Settles that the daemon of a host may not have written yet. */
  readonly #unwritten = new Map<Host, Settle[]>();
  /** When each host reaches the engine again. */
  readonly #backMs = new Map<Host, number>();
  /**
   * Until then no host is cut off or killed: an engine without data knows only hosts that report.
   */
  #calmUntilMs = 0;
  #id = 1;
  #seq = 0;
  #usedTokens = 0;
  #usedCost = 0;
  /** What requests of killed proxies were charged beyond their use. */
  #unusedTokens = 0;
  #unusedCost = 0;
  /** Refusals since the last admission, while the cap is filled. */
  #refused = 0;

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.#promptPart = promptParts[seed % promptParts.length]!;
    this.#storesHolds = seed % 4 === 0;
    const rolling = this.random.chance(0.3);
    this.#periodSeconds = !rolling && this.random.chance(0.4) ? 20 : 86_400;
    this.#tokens = this.#endsPeriods ? Infinity : this.random.int(20_000, 200_000);
    this.#cost = this.#endsPeriods ? Infinity : this.random.int(20, 200) / 100;
    this.#amount = this.random.int(20, 200) / (this.#endsPeriods ? 400 : 100);
    const hardRule = {
      scope: "user_path",
      subject: "/",
      periodSeconds: 86_400,
      perChild: false,
      maxRequests: null,
      hold: "hard",
    } as const;
    const rules: RuleDefinition[] = [
      { ...hardRule, maxTokens: this.#tokens },
      { ...hardRule, periodSeconds: 86_399, maxTokens: null, measureCaps: { cost: this.#cost } },
    ];
    const budget: BudgetDefinition = {
      scope: "user_path",
      subject: "/",
      perChild: false,
      periodSeconds: this.#periodSeconds,
      amountUsd: this.#amount,
      hold: "hard",
      ...(rolling ? { rolling } : {}),
    };
    const count = this.random.int(2, 3);
    this.hosts = startHosts(this.#endsPeriods ? [] : rules, {
      count,
      budgets: [budget],
      startMs: beginMs + this.random.int(0, 999),
    });
  }

  note(kind: string, detail = ""): void {
    this.trace.note(kind, `${kind} ${detail}`);
  }

  async step(): Promise<void> {
    const { random, hosts } = this;
    const kind = random.next();
    const running = [...this.#running.values()].filter(({ lease }) => lease !== null);
    if (kind < 0.3) this.begin(random.pick(hosts.all), random.int(0, 1000));
    else if (kind < 0.75 && running.length > 0) this.streamOutput(random.pick(running));
    else if (kind < 0.85 && running.length > 0) this.end(random.pick(running));
    else if (kind < 0.87) this.disturb(random.pick(hosts.all));
    else if (kind < 0.885 && !this.#isCalm) await this.restart(random.pick(hosts.all));
    else if (kind < 0.89) this.#loseEngine();
    else if (kind < 0.9) await this.#killProxy(random.pick(hosts.all));
    if (this.#endsPeriods && random.chance(0.03)) await this.pass(random.int(5000, 25_000));
    await this.pass(random.chance(0.5) ? 0 : Math.floor(random.skewed(1, 1500)));
  }

  disturb(host: Host): void {
    const { random } = this;
    host.cutOff =
      this.#backMs.has(host) || (random.chance(0.3) && !this.#endsPeriods && !this.#isCalm);
    host.answerMs = random.chance(0.5) ? 0 : random.int(1, 200);
    this.note(host.cutOff ? "cut off" : "other latency", host.id);
  }

  /** The engine is killed, and comes back without its data; hosts reach it one after the other. */
  #loseEngine(): void {
    const { random, hosts } = this;
    if (this.#endsPeriods || this.#backMs.size > 0) return;
    const awayMs = random.int(0, 5000);
    this.#calmUntilMs = hosts.time.nowMs + awayMs + lateMs + settleMs;
    hosts.twin.wipe();
    hosts.engine.wipe();
    for (const host of hosts.all) {
      host.cutOff = true;
      this.#backMs.set(host, hosts.time.nowMs + awayMs + random.int(0, lateMs));
    }
    this.note("engine killed");
  }

  get #isCalm(): boolean {
    return this.hosts.time.nowMs < this.#calmUntilMs;
  }

  #reachEngine(): void {
    for (const [host, ms] of this.#backMs)
      if (this.hosts.time.nowMs >= ms) {
        this.#backMs.delete(host);
        host.reachesEmptied();
      }
  }

  /** Restarts a daemon. Its proxy reports again what isn't known to be written. */
  async restart(host: Host): Promise<void> {
    await host.daemon.commit();
    if (this.random.chance(0.5)) await host.daemon.commit();
    const known = host.daemon.state.proxies.all.get(host.proxy.state.proxy!.id);
    const durable = known?.durableSeq ?? 0;
    host.restart();
    await this.pass(this.random.pick([0, this.random.int(1, 900)]));
    if (this.random.chance(0.3)) await this.#useElsewhere(host);
    const running = [...this.#running.values()].filter((request) => request.host === host);
    host.reconnect(
      running.flatMap(({ lease, metered, allowance }) =>
        lease === null
          ? []
          : {
              ...lease,
              holding: { promptTokens: metered.promptTokens, output: allowance, rates, keyId: "" },
            },
      ),
    );
    this.#read.set(host, 0);
    this.note("daemon killed", host.id);
    const unwritten = (this.#unwritten.get(host) ?? []).filter(({ seq }) => seq > durable);
    this.#unwritten.set(host, unwritten);
    for (const settle of unwritten) host.proxy.send(settle);
    for (const request of running)
      if (request.lease === null) this.#ask(request);
      else if (request.unansweredDraw !== null) this.#draw(request, request.unansweredDraw);
  }

  /** Kills a proxy. Its running requests are charged what they held. */
  async #killProxy(host: Host): Promise<void> {
    await storeHolds(host.daemon.state);
    await host.daemon.commit();
    await host.daemon.commit();
    host.replaceProxy();
    this.#read.set(host, 0);
    this.#unwritten.set(host, []);
    for (const [key, request] of this.#running) {
      if (request.host !== host) continue;
      this.#running.delete(key);
      const { lease, input, output, metered, allowance } = request;
      if (lease === null) continue;
      this.#usedTokens += input + output;
      this.#usedCost += costOf(input, output);
      const { promptTokens } = metered;
      const held = allowance + (metered.isStreamed ? 8 : 0);
      this.#unusedTokens += promptTokens + held - input - output;
      this.#unusedCost += costOf(promptTokens, held) - costOf(input, output);
    }
    this.note("proxy killed", host.id);
    if (this.random.chance(0.3)) await this.#useElsewhere(host);
  }

  /** Lets requests on the other hosts use all that they get. */
  async #useElsewhere(away: Host): Promise<void> {
    const others = this.hosts.all.filter((host) => host !== away);
    for (let i = 0; i < 40; i++) {
      if (i % 10 === 0) for (const host of others) this.begin(host, 0);
      await this.pass(5);
      for (const request of this.#running.values())
        if (request.host !== away && request.lease !== null) this.streamOutput(request);
    }
  }

  #draw(request: Running, total: number): void {
    request.unansweredDraw = total;
    request.host.proxy.send({ kind: "draw", id: request.id, total });
  }

  #ask({ host, id, metered }: Running): void {
    host.proxy.send({
      read: 0,
      kind: "admit",
      id,
      userPath: "/",
      credential: "authenticated",
      targets: [target],
      submission: false,
      metered,
    });
  }

  begin(host: Host, promptTokens: number): void {
    const { random } = this;
    const id = ++this.#id;
    const metered: Metered = {
      promptTokens,
      outputMax: random.chance(0.5) ? null : random.int(0, 3000),
      isStreamed: random.chance(0.8),
      rates: [rates],
    };
    const request: Running = {
      host,
      id,
      metered,
      input: Math.ceil((promptTokens * this.#promptPart * random.int(90, 100)) / 100),
      lease: null,
      output: 0,
      allowance: 0,
      unansweredDraw: null,
      isEnded: false,
    };
    this.#running.set(`${host.id} ${id}`, request);
    this.#ask(request);
  }

  streamOutput(request: Running): void {
    const { metered } = request;
    const outputMax = Math.min(request.allowance, metered.outputMax ?? request.allowance);
    request.output = this.random.int(request.output, Math.max(request.output, outputMax));
    if (!metered.isStreamed || request.isEnded || request.unansweredDraw !== null) return;
    this.#draw(request, request.allowance + this.random.int(1, 1500));
  }

  end({ host, id, lease, input, output }: Running): void {
    this.#running.delete(`${host.id} ${id}`);
    const cost = costOf(input, output);
    const record = executed({
      inputTokens: input,
      outputTokens: output,
      inputCost: 0,
      outputCost: cost,
      totalCost: cost,
    });
    const settle = { ...settleOf(lease!, ++this.#seq, input + output), record };
    this.#unwritten.set(host, [...(this.#unwritten.get(host) ?? []), settle]);
    host.proxy.send(settle);
    this.#usedTokens += input + output;
    this.#usedCost += cost;
    this.note("settled", `${host.id} ${id} ${input} ${output}`);
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 50) {
      await this.hosts.pass(Math.min(50, left));
      const isDue = this.hosts.time.nowMs >= this.#tickMs;
      if (isDue) this.#tickMs = this.hosts.time.nowMs + 1000;
      for (const { daemon } of isDue ? this.hosts.all : []) {
        if (this.#storesHolds) await storeHolds(daemon.state);
        chargeInterrupted(daemon.state, this.hosts.wallMs());
      }
      this.#reachEngine();
    }
    if (ms === 0) await this.hosts.pass(0);
    for (const host of this.hosts.all) {
      const { received } = host.proxy;
      for (let i = this.#read.get(host) ?? 0; i < received.length; i++)
        this.#readAnswer(host, received[i]!);
      this.#read.set(host, received.length);
    }
    this.#check();
  }

  #readAnswer(host: Host, answer: FromDaemon): void {
    if (!("id" in answer)) return;
    const request = this.#running.get(`${host.id} ${answer.id}`);
    if (request === undefined) return;
    if (answer.kind === "admitted") {
      const { admittedAtMs, lsn, allowance = -1 } = answer;
      if (allowance < 0) throw new Violation("an admission without an allowance");
      request.allowance = allowance;
      request.lease = {
        lease: request.id,
        userPath: "/",
        admittedAtMs,
        lsn,
        target,
        submission: false,
        targetAtMs: admittedAtMs,
        targetLsn: lsn,
      };
      this.#refused = 0;
      this.note("admitted", `${host.id} ${request.id} ${allowance}`);
    } else if (answer.kind === "drawn") {
      if (answer.total < request.allowance) throw new Violation("an allowance fell");
      request.unansweredDraw = null;
      request.allowance = answer.total;
      request.isEnded = answer.cap !== undefined;
      this.note(request.isEnded ? "cut" : "drawn", `${host.id} ${request.id} ${answer.total}`);
    } else {
      this.#running.delete(`${host.id} ${request.id}`);
      this.#refused++;
      this.note(answer.kind, `${host.id} ${request.id}`);
    }
  }

  get #endsPeriods(): boolean {
    return this.#periodSeconds < 86_400;
  }

  #check(): void {
    const period = Math.floor(this.hosts.wallMs() / (this.#periodSeconds * 1000));
    if (period !== this.#period) this.#costBefore = this.#usedCost;
    this.#period = period;
    let tokens = this.#usedTokens;
    let cost = this.#usedCost;
    for (const { input, output, lease } of this.#running.values()) {
      if (lease === null) continue;
      tokens += input + output;
      cost += costOf(input, output);
    }
    if (tokens > this.#tokens) throw new Violation(`${tokens} of ${this.#tokens} tokens used`);
    for (const [name, used, dollars] of [
      ["rule", cost, this.#cost],
      ["budget", cost - this.#costBefore, this.#amount],
    ] as const)
      if (used > dollars * 1e12 + 1)
        throw new Violation(`${name}: ${used} of ${dollars * 1e12} used`);
  }

  async rest(): Promise<void> {
    for (const host of this.hosts.all)
      Object.assign(host, { cutOff: this.#backMs.has(host), answerMs: 0 });
    await this.pass(8000);
    for (const request of this.#running.values()) if (request.lease !== null) this.end(request);
    await this.pass(20_000);
    if (!this.#endsPeriods) await this.fill();
  }

  /** Small streams on all hosts, one after the other, use at least 99% of the fuller cap. */
  async fill(): Promise<void> {
    this.#refused = 0;
    for (let i = 0; i < 4000 && this.#refused < 4 * this.hosts.all.length; i++) {
      this.begin(this.hosts.all[i % this.hosts.all.length]!, 20);
      await this.pass(0);
      await this.pass(1);
      for (const request of this.#running.values()) {
        for (let draws = 0; draws < 20 && !request.isEnded; draws++) {
          if (request.lease === null || !request.metered.isStreamed) break;
          if (request.unansweredDraw === null) this.#draw(request, request.allowance + 4096);
          await this.pass(1);
        }
        if (request.lease === null) continue;
        request.output = request.allowance;
        this.end(request);
      }
      await this.pass(this.#refused > 0 ? 1000 : 1);
    }
    const cost = Math.min(this.#cost, this.#amount) * 1e12;
    const ratio = Math.max(
      (this.#usedTokens + this.#unusedTokens) / this.#tokens,
      (this.#usedCost + this.#unusedCost) / cost,
    );
    if (ratio < 0.99) throw new Violation(`only ${ratio} of the fuller cap is used`);
    this.note("filled");
  }
}

/** Runs the history of a seed. */
export function simulateSharedCaps(seed: number): Promise<SimulationResult> {
  return runHistory(seed, new SharedHistory(seed), 300);
}
