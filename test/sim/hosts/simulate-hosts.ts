/**
 * A history of several hosts that count together, from a seed. First come requests and faults; an
 * oracle (`union-truth.ts`) checks the admissions of all hosts against the caps. Then the faults
 * stop, all requests end, and everything is idle: the engine must have counted exactly what was
 * used.
 */
import {
  farPeriodMs,
  farRenewMs,
  farTokensFreshMs,
  keptMs,
  slotsValidMs,
} from "../../../limiterd/bounds.js";
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import { pathRule } from "../../limiterd/in-memory-daemon.js";
import type { Random } from "../random.js";
import type { SimulationResult } from "../simulate.js";
import { World } from "../world.js";
import { answerMaxMs, type NetworkFaults, SharedEngine } from "./shared-engine.js";
import { type RuleBreach, SimulatedHost } from "./simulated-host.js";
import { type Admitted, counterOn, estimate, UnionTruth } from "./union-truth.js";

const beginMs = 1_767_225_600_000;
/** How long requests and faults last. */
const faultsMs = 9_000;
/** How long they last with wide caps. */
const wideFaultsMs = 25_000;
/** Longer than a slow question, than a share is kept, and than an engine settles. */
const restMs = 12_000;
/** How long a host may not know the charges of another host, near a cap. */
const unknownTokensMs = 2_300;
/** How long far from a cap, where hosts report and ask only every few seconds. */
const unknownFarMs = unknownTokensMs + farRenewMs + farTokensFreshMs;
/** From this part of a cap on, the hosts have noticed that it is near. */
const nearPart = 7 / 8;

export async function simulateHosts(seed: number): Promise<SimulationResult> {
  const world = new World(seed);
  let violation: string | null = null;
  try {
    await new HostsSimulation(world).run();
  } catch (error) {
    violation = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (error instanceof Error && error.name === "Violation") violation = error.message;
  }
  const { events, traceHash, tally, lines } = world;
  return { seed, violation, events, traceHash, tally, lines };
}

function narrowRules(random: Random): readonly RuleDefinition[] {
  return [
    pathRule("/", random.pick([1, 2, 5]), { requests: random.int(3, 90) }),
    pathRule("/a", random.pick([2, 7]), { requests: random.int(1, 12), tokens: 400 }),
    { ...pathRule("/", 3, { requests: random.int(1, 30) }), perChild: true, periodSeconds: 3 },
    pathRule("/", 0, { requests: random.int(1, 20) }),
    { ...pathRule("/b", 4, { requests: random.int(1, 8) }), hostOnly: true },
  ];
}

function wideRules(random: Random): readonly RuleDefinition[] {
  return [
    pathRule("/", 60, { requests: random.int(100, 2000) }),
    pathRule("/a", 60, { requests: 100_000, tokens: random.int(300, 3000) }),
    { ...pathRule("/", 70, { requests: random.int(50, 2000) }), perChild: true },
    pathRule("/", 0, { requests: random.int(200, 2000) }),
    { ...pathRule("/b", 4, { requests: random.int(1, 8) }), hostOnly: true },
  ];
}

class HostsSimulation {
  readonly #world: World;
  readonly #engine: SharedEngine;
  readonly #truth = new UnionTruth();
  readonly #hosts: SimulatedHost[] = [];
  /** The rules after the last change, of which each host hears later. */
  readonly #rules: RuleDefinition[];
  readonly #failureMode: ClusterFailureMode;
  /** Whether nothing fails. */
  readonly #isCalm: boolean;
  /** Whether caps are wide, so that they are far at first, and bursts bring them near. */
  readonly #isWide: boolean;
  /** Whether wall clocks jump again and again, while hosts are busy in turn. Nothing fails then. */
  readonly #isJumpy: boolean;
  /** Whether the hosts' clocks agree with the engine's. */
  readonly #hasSameClocks: boolean;
  /** Whether faults have ended. */
  #isHealing = false;
  /**
   * Until then the hosts may admit more than a cap, because the engine has lost data while a host
   * couldn't tell it what it had used.
   */
  #looseUntilMs = 0;
  /** The ids of hosts whose daemon was killed. */
  readonly #killed = new Set<string>();
  /** The ids of hosts whose clock was set. */
  readonly #clockSet = new Set<string>();
  /** Whether the engine has lost data. */
  #hasLostData = false;
  /** How often daemons were restarted: what was granted to an earlier process counts as used. */
  #restarts = 0;

  constructor(world: World) {
    const { random } = world;
    this.#world = world;
    this.#isWide = random.chance(0.3);
    this.#isJumpy = !this.#isWide && random.chance(0.3);
    this.#isCalm = this.#isJumpy || random.chance(this.#isWide ? 0.5 : 0.3);
    this.#hasSameClocks = !this.#isJumpy && ((this.#isWide && this.#isCalm) || random.chance(0.5));
    this.#failureMode = random.chance(0.8) ? "closed" : random.pick(["local", "open"] as const);
    const chance = (max: number): number => (this.#isCalm ? 0 : random.between(0, max));
    const faults: NetworkFaults = {
      lost: chance(0.05),
      answerLost: chance(0.05),
      doubled: chance(0.1),
      late: chance(0.05),
      slow: chance(0.1),
    };
    this.#engine = new SharedEngine(world, faults, beginMs + random.int(0, 60_000));
    this.#rules = [...(this.#isWide ? wideRules(random) : narrowRules(random))];
    const hosts = random.int(2, 4);
    for (let i = 1; i <= hosts; i++) this.#hosts.push(this.#newHost(i, hosts));
  }

  #newHost(index: number, hosts: number): SimulatedHost {
    const { random } = this.#world;
    const skewMs = this.#hasSameClocks ? 0 : random.between(-4000, 4000);
    return new SimulatedHost(`host-${index}`, this.#engine.nowMs - this.#world.nowMs + skewMs, {
      world: this.#world,
      engine: this.#engine,
      rules: this.#rules,
      hosts,
      failureMode: this.#failureMode,
      onAdmitted: (host, userPath) => this.#admitted(host, userPath),
      onRefused: (host, breach) => this.#refused(host, breach),
      onGrantedUnaware: () => this.#loosen(),
      onCharged: (userPath, tokens) =>
        void this.#truth.charged.push({ atMs: this.#engine.nowMs, userPath, tokens }),
    });
  }

  async run(): Promise<void> {
    const { random } = this.#world;
    this.#requestEvery(this.#isWide ? random.skewed(5, 30) : random.skewed(4, 80));
    if (this.#isJumpy) this.#jumpEvery(random.skewed(150, 800));
    else if (!this.#isCalm) this.#faultEvery(random.skewed(300, 4000));
    const restsMs = (this.#isWide ? wideFaultsMs : faultsMs) + restMs;
    await this.#world.run(restsMs - restMs, () => this.#check());
    this.#heal();
    await this.#world.run(restsMs, () => this.#check());
    // A host keeps a share longer if a request still ran when the host first looked at it.
    if (this.#hosts.some(({ shares }) => shares.size > 0))
      await this.#world.run(restsMs + keptMs, () => this.#check());
    this.#mustBeAtRest();
    await this.#mustGetFreeUnit();
  }

  #requestEvery(meanMs: number): void {
    const { random } = this.#world;
    // In two of each seven seconds there are ten times as many requests, mostly on one host.
    const isBurst = this.#isWide && this.#world.nowMs % 7000 < 2000;
    const pauseMs = this.#isWide && !isBurst ? 10 * meanMs : meanMs;
    this.#world.after(-Math.log(1 - random.next()) * pauseMs, null, () => {
      if (this.#isHealing) return;
      const host = isBurst && random.chance(0.8) ? this.#hosts[0]! : this.#busyHost();
      const userPath = random.pick(["/a", "/a/x", "/b", "/c/y"]);
      this.#world.after(0, host.process, () => void host.ask(userPath));
      this.#requestEvery(meanMs);
    });
  }

  /** If clocks jump, hosts are busy in turn, so that what a host holds is unused for a while. */
  #busyHost(): SimulatedHost {
    const turn = Math.floor(this.#world.nowMs / 700) % this.#hosts.length;
    return this.#isJumpy ? this.#hosts[turn]! : this.#world.random.pick(this.#hosts);
  }

  #jumpEvery(meanMs: number): void {
    const { random } = this.#world;
    this.#world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
      if (this.#isHealing) return;
      this.#setClock(random.pick(this.#hosts), random.between(-9000, 9000));
      this.#jumpEvery(meanMs);
    });
  }

  #setClock(host: SimulatedHost, byMs: number): void {
    this.#clockSet.add(host.id);
    host.wallAheadMs += byMs;
    this.#world.trace(`clock of ${host.id} set by ${byMs}`);
  }

  #faultEvery(meanMs: number): void {
    const { random } = this.#world;
    this.#world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
      if (this.#isHealing) return;
      this.#fault(random.pick(this.#hosts));
      this.#faultEvery(meanMs);
    });
  }

  #fault(host: SimulatedHost): void {
    const { random } = this.#world;
    const world = this.#world;
    const kind = random.pick(["kill", "pause", "cut", "step", "wipe", "fail over", "cap"] as const);
    world.count(kind);
    world.trace(`${kind} ${host.id}`);
    if (kind === "kill" && host.process.alive) {
      this.#restarts++;
      this.#killed.add(host.id);
      host.kill(random.between(50, 1500), random.chance(0.5));
    }
    if (kind === "pause") world.pause(host.process, random.skewed(10, 4000));
    if (kind === "cut") host.cutUntilMs = world.nowMs + random.skewed(50, 4000);
    if (kind === "step") this.#setClock(host, random.between(-9000, 3000));
    if (kind === "cap" && !this.#isWide) this.#changeCap();
    if (kind === "wipe") this.#loseData(() => this.#engine.twin.wipe());
    if (kind === "fail over") {
      const putBack = this.#engine.twin.copy();
      world.after(random.skewed(1, 400), null, () => this.#loseData(putBack));
    }
  }

  /** Changes a cap. Each host judges by the cap that it knows. */
  #changeCap(): void {
    const { random } = this.#world;
    const index = random.pick([0, 1, 2]);
    const before = this.#rules[index]!;
    const max = random.chance(0.7) ? before.maxRequests! : 90;
    const rule = { ...before, maxRequests: random.int(1, max) };
    this.#rules[index] = rule;
    this.#world.trace(`cap of ${ruleId(rule)} is ${rule.maxRequests}`);
    for (const host of this.#hosts)
      this.#world.after(random.between(0, 1000), null, () => host.edit(this.#rules[index]!));
  }

  #loseData(run: () => void): void {
    run();
    this.#hasLostData = true;
    this.#engine.epoch++;
    // Caps hold if each host can tell the engine what it has used before the engine grants again.
    const areAllReached = this.#hosts.every(
      ({ process, isCut }) => process.alive && !isCut && process.pausedUntilMs <= this.#world.nowMs,
    );
    if (!areAllReached || this.#restarts > 0) this.#loosen();
  }

  #loosen(): void {
    this.#looseUntilMs = this.#world.nowMs + 2 * 7000;
  }

  #admitted(host: SimulatedHost, userPath: string): () => void {
    const { nowMs } = this.#engine;
    const event = { atMs: nowMs, hostId: host.id, userPath, withdrawn: false };
    this.#truth.admitted.push(event);
    this.#world.count("admitted");
    this.#world.trace(`${host.id} admitted ${userPath} at ${nowMs}`);
    for (const rule of this.#rules) {
      const child = counterOn(rule, userPath);
      if (child !== null && rule.periodSeconds > 0) this.#mustBeWithin(host, rule, child);
    }
    return () => {
      event.withdrawn = true;
      this.#world.count("withdrawn");
      this.#world.trace(`${host.id} withdrew ${userPath} of ${nowMs}`);
    };
  }

  /** The use of a host-only rule; null if the host's clock was set or its memory was lost. */
  #hostUse({ id }: SimulatedHost, rule: RuleDefinition): number | null {
    if (!this.#hasClockOfEngine(id) || this.#killed.has(id)) return null;
    const { nowMs } = this.#engine;
    const requests = this.#truth.requests(rule, "", nowMs, ({ hostId }) => hostId === id);
    return estimate(rule, requests, nowMs);
  }

  /** Without faults, other hosts hold at most half of what is left of a wide cap. */
  #mustNotBeEarly(host: SimulatedHost, { subject, periodSeconds, dimension }: RuleBreach): void {
    const isWide = this.#isWide && subject === "/" && periodSeconds === 60;
    if (!isWide || dimension !== "requests" || this.#hasFaults) return;
    const [rule] = this.#rules;
    const { nowMs } = this.#engine;
    const used = estimate(rule!, this.#truth.requests(rule!, "", nowMs), nowMs);
    this.#world.count("refused by a wide cap");
    if (used < rule!.maxRequests! / 2)
      this.#world.fail(`${host.id} refused at ${used} of ${rule!.maxRequests}`);
  }

  /** A refusal by a host-only rule depends neither on other hosts nor on the engine. */
  #refused(host: SimulatedHost, breach: RuleBreach): void {
    const { subject, periodSeconds, dimension } = breach;
    this.#mustNotBeEarly(host, breach);
    const rule = this.#rules.find(
      (each) =>
        each.hostOnly === true && each.subject === subject && each.periodSeconds === periodSeconds,
    );
    if (rule === undefined || dimension !== "requests") return;
    this.#world.count("refused by a host's own rule");
    const used = this.#hostUse(host, rule);
    if (used !== null && used < rule.maxRequests!)
      this.#world.fail(
        `${host.id} refused at ${used} of its own ${rule.maxRequests} on ${rule.subject}`,
      );
  }

  #mustBeWithin(host: SimulatedHost, rule: RuleDefinition, child: string): void {
    if (rule.hostOnly === true) {
      const used = this.#hostUse(host, rule);
      if (used !== null && used > rule.maxRequests!)
        this.#world.fail(`${host.id} admitted request ${used} of its own ${rule.maxRequests}`);
      return;
    }
    if (this.#failureMode !== "closed" || this.#world.nowMs < this.#looseUntilMs) return;
    const { nowMs } = this.#engine;
    const used = estimate(rule, this.#truth.requests(rule, child, nowMs), nowMs);
    const cap = host.capOf(rule);
    if (used > cap)
      this.#world.fail(
        `${host.id} admitted request ${used} of ${cap} on ${rule.subject} ${child} in ${rule.periodSeconds} s`,
      );
    if (rule.maxTokens === null || !this.#hasSameClocks || this.#hasFaults) return;
    const chargedBefore = (ms: number) => this.#truth.tokens(rule, child, nowMs, nowMs - ms);
    const tokens = chargedBefore(unknownTokensMs);
    // A far cap may come near faster than hosts learn of it.
    const isNear =
      rule.periodSeconds * 1000 < farPeriodMs ||
      chargedBefore(unknownFarMs) > rule.maxTokens * nearPart;
    if (tokens > rule.maxTokens && isNear)
      this.#world.fail(
        `${host.id} admitted although ${tokens} tokens of ${rule.maxTokens} were charged`,
      );
  }

  get #gauge(): RuleDefinition {
    return this.#rules.find(({ periodSeconds }) => periodSeconds === 0)!;
  }

  #hasClockOfEngine(hostId: string): boolean {
    return this.#hasSameClocks && !this.#clockSet.has(hostId);
  }

  get #hasFaults(): boolean {
    return !this.#isCalm;
  }

  /** After each event. */
  #check(): void {
    for (const host of this.#hosts) {
      if (!host.process.alive || host.process.pausedUntilMs > this.#world.nowMs) continue;
      host.read((id) => this.#endLater(host, id));
    }
    this.#slotsMustBeWithin();
  }

  #endLater(host: SimulatedHost, id: number): void {
    const { random } = this.#world;
    const ms = random.skewed(1, random.pick([100, 800, 3000]));
    const isWithdrawn = random.chance(this.#isJumpy ? 0.4 : 0.1);
    // Half of the withdrawals come at once, the others so late that their window may have ended.
    const endMs = isWithdrawn && random.chance(0.5) ? ms / 100 : ms;
    const tokens = random.int(0, 40);
    // The proxy ends it even if the daemon was restarted since.
    const end = (): void => {
      if (!host.process.alive || host.process.pausedUntilMs > this.#world.nowMs)
        return void this.#world.after(20, null, end);
      if (isWithdrawn) host.withdraw(id);
      else host.end(id, tokens);
    };
    this.#world.after(endMs, null, end);
  }

  #slotsMustBeWithin(): void {
    if (this.#failureMode !== "closed" || this.#world.nowMs < this.#looseUntilMs) return;
    const gauge = this.#gauge;
    let running = 0;
    for (const host of this.#hosts)
      if (this.#world.nowMs - host.heardMs < slotsValidMs / 2) running += host.running.size;
    if (running > gauge.maxRequests!)
      this.#world.fail(`${running} requests run of ${gauge.maxRequests} that may`);
  }

  #heal(): void {
    this.#isHealing = true;
    this.#engine.isHealed = true;
    this.#world.trace("healing");
    for (const host of this.#hosts) {
      host.cutUntilMs = 0;
      this.#world.resume(host.process);
    }
  }

  /** Each of the engine's counters has what was used, or more if a daemon died with units. */
  #mustBeAtRest(): void {
    const { nowMs } = this.#engine;
    for (const rule of this.#rules.filter(({ periodSeconds }) => periodSeconds > 0)) {
      const children = new Set(this.#truth.admitted.map((each) => counterOn(rule, each.userPath)));
      for (const child of children) {
        if (child === null) continue;
        const { totals } = this.#engine.twin.read(
          { ruleId: ruleId(rule), child, periodMs: rule.periodSeconds * 1000, generation: 0 },
          nowMs,
        );
        const [current, before] = this.#truth.requests(rule, child, nowMs);
        const sure = this.#truth.requests(rule, child, nowMs, (each) => this.#isSure(rule, each));
        const isExact = this.#restarts === 0 && this.#hasSameClocks;
        const counted = [totals.requests, totals.requestsBefore] as const;
        if (rule.hostOnly === true) {
          if (counted[0] + counted[1] > 0) this.#world.fail(`the engine counts by ${rule.subject}`);
          continue;
        }
        if (
          counted[0] < sure[0] ||
          counted[1] < sure[1] ||
          (isExact && this.#isTooMuch(counted, [current, before]))
        )
          this.#world.fail(
            `at rest the engine counts ${counted.join(" and ")} on ${rule.subject} ${child} in ${rule.periodSeconds} s, and ${current} and ${before} were used`,
          );
      }
    }
    const { totals } = this.#engine.twin.read(
      { ruleId: ruleId(this.#gauge), child: "", periodMs: 0, generation: 0 },
      nowMs,
    );
    if (totals.slots > 0 && this.#restarts === 0)
      this.#world.fail(`${totals.slots} slots are taken at rest`);
    for (const { id, shares } of this.#hosts)
      if (shares.size > 0) this.#world.fail(`${id} still holds ${shares.size} shares at rest`);
  }

  /**
   * Whether the engine must count a request in the window in which it was admitted. A host that
   * admits without a unit counts by the engine's clock as it last heard it, in an answer that may
   * have been slow. It counts by its own clock if it never heard the engine's, and so it does with
   * requests that it reads from its disk after it was killed; the engine has these already unless
   * it has lost data.
   */
  #isSure({ periodSeconds }: RuleDefinition, { hostId, atMs }: Admitted): boolean {
    const hasUnits = this.#failureMode === "closed";
    if (!hasUnits && atMs % (periodSeconds * 1000) < answerMaxMs) return false;
    const usesHostClock = !hasUnits || (this.#hasLostData && this.#killed.has(hostId));
    return !usesHostClock || this.#hasClockOfEngine(hostId);
  }

  /**
   * Whether more is counted than was used, and was withdrawn: a request that is withdrawn as its
   * window ends may stay counted.
   */
  #isTooMuch(counted: readonly [number, number], used: readonly [number, number]): boolean {
    const withdrawn = this.#truth.admitted.filter((each) => each.withdrawn).length;
    return counted[0] - used[0] > withdrawn || counted[1] - used[1] > withdrawn;
  }

  /** At rest, a host alone gets a free unit within two round trips. */
  async #mustGetFreeUnit(): Promise<void> {
    // A wide cap may be used up for a minute.
    if (this.#isWide) return;
    const host = this.#world.random.pick(this.#hosts);
    const id = host.ask("/z");
    await this.#world.run(this.#world.nowMs + 40, () => this.#check());
    const kind = host.answerTo(id);
    if (kind !== "admitted") this.#world.fail(`a lone host's request is ${kind ?? "not answered"}`);
  }
}
