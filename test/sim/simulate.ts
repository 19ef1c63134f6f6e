/**
 * Simulates one seed: a time of work and faults; then the faults stop, dead processes are started,
 * and every request ends. At rest all counts must add up, and again after a restart.
 */

import type { FailureMode } from "../../shared/config/config.js";
import type { RuleDefinition } from "../../shared/domain/rule.js";
import { mustBeAtRest } from "./checks/at-rest.js";
import { simulatedBudgets } from "./checks/compare-usage.js";
import { Witness } from "./checks/witness.js";
import {
  type FaultMix,
  scheduleFaults,
  someFaults,
  someLateReroutes,
  someProxyStopMs,
} from "./faults.js";
import { DaemonProcess } from "./processes/daemon-process.js";
import { Disk } from "./processes/disk.js";
import { LeftSettles } from "./processes/left-settles.js";
import { ProxyProcess } from "./processes/proxy-process.js";
import { createRandom, type Random } from "./random.js";
import { type Releases, someReleases } from "./releases.js";
import {
  hoursAround,
  ledgers,
  someDefaultWeights,
  someOperation,
  someRaise,
  someRequest,
  someRules,
  someShadowOperation,
  someShadows,
  someWait,
} from "./workload.js";
import { World } from "./world.js";

export interface SimulationResult {
  readonly seed: number;
  /** The invariant that didn't hold, or null. */
  readonly violation: string | null;
  readonly events: number;
  readonly traceHash: number;
  readonly tally: ReadonlyMap<string, number>;
  /** The last lines of the trace. */
  readonly lines: readonly string[];
}

const faultsMs = 6_000;
/**
 * Long enough for the longest request, a restart, the reconnect grace period and the last
 * acknowledgement.
 */
const healingMs = 9_000;
const restMs = 1_500;
const beginMs = 1_767_225_600_000;

/** `waits`: whether requests may wait for room; by default in some seeds. */
export async function simulate(
  seed: number,
  waits: boolean = seed % 6 === 5,
): Promise<SimulationResult> {
  const world = new World(seed);
  const violation = await violationOf(new Simulation(world, seed, waits));
  const { events, traceHash, tally, lines } = world;
  return { seed, violation, events, traceHash, tally, lines };
}

async function violationOf(simulation: Simulation): Promise<string | null> {
  try {
    await simulation.run();
    return null;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    return error.name === "Violation" ? error.message : (error.stack ?? error.message);
  }
}

/** The processes of a seed, what keeps them busy, and what goes wrong. */
class Simulation {
  readonly #world: World;
  readonly #mix: FaultMix;
  readonly #seed: number;
  /** The hours that rules may have. */
  readonly #hours: readonly string[];
  /** Whether there are no rules and budgets. */
  readonly #isBare: boolean;
  readonly #rules: readonly RuleDefinition[];
  readonly #flushIntervalMs: number;
  readonly #usageFlushMs: number;
  readonly #failureMode: FailureMode;
  readonly #socketFaults: FaultMix["socket"];
  readonly #diskFaults: FaultMix["disk"];
  readonly #disk: Disk;
  readonly #witness: Witness;
  readonly #releases: Releases;
  readonly #leftSettles: LeftSettles;
  /** How far the host's wall clock is ahead of the world's time, in ms. */
  #wallAheadMs: number;
  #requests = 0;
  /** Draws raises; null: there are none. */
  readonly #raiseRandom: Random | null;
  /** Draws how requests wait; null: none does. */
  readonly #waitRandom: Random | null;
  /**
   * Draws the operations on shadow rules, which must change no verdict; null without shadow rules.
   */
  readonly #shadowRandom: Random | null;
  readonly #shadows: readonly RuleDefinition[];
  #isHealing = false;
  #daemon: DaemonProcess;
  /** The running proxies: a killed one is replaced at the same index. */
  readonly #proxies: ProxyProcess[] = [];
  readonly #everyProxy: ProxyProcess[] = [];

  constructor(world: World, seed: number, waits: boolean) {
    const { random } = world;
    this.#world = world;
    this.#seed = seed;
    this.#releases = someReleases(seed);
    this.#raiseRandom = seed % 4 === 3 ? createRandom(seed ^ 0x5bd1e995) : null;
    this.#waitRandom = waits ? createRandom(seed ^ 0x3c6ef372) : null;
    this.#leftSettles = new LeftSettles(world, () => this.#nowMs());
    this.#mix = {
      ...someFaults(random),
      proxyStopMs: someProxyStopMs(seed),
      ...someLateReroutes(seed),
    };
    this.#isBare = random.chance(0.1);
    const minute = random.int(1, 55);
    this.#hours = hoursAround(minute);
    this.#rules = this.#isBare
      ? []
      : [...ledgers, ...someRules(random, this.#hours, random.int(1, 9))];
    this.#shadowRandom = seed % 3 === 2 && !this.#isBare ? createRandom(seed ^ 0x27d4eb2f) : null;
    this.#shadows =
      this.#shadowRandom === null ? [] : someShadows(this.#shadowRandom, this.#hours, this.#rules);
    this.#flushIntervalMs = random.pick([0, 250, 990, 990]);
    this.#usageFlushMs = random.pick([130, 700, 2500]);
    this.#failureMode = random.pick(["closed", "open"] as const);
    this.#socketFaults = { ...this.#mix.socket };
    this.#diskFaults = { ...this.#mix.disk };
    this.#disk = new Disk(world, this.#diskFaults);
    this.#witness = new Witness(world, this.#disk, someDefaultWeights(seed));
    this.#disk.onApplied = (changes) => this.#witness.applied(changes);
    // So that hours begin and end while there is work.
    this.#wallAheadMs = beginMs + minute * 60_000 - random.int(0, faultsMs);
    this.#daemon = this.#startDaemon();
  }

  /** Throws a `Violation`. */
  async run(): Promise<void> {
    const { random } = this.#world;
    const proxies = random.int(1, 4);
    for (let index = 0; index < proxies; index++) this.#startProxy(index);
    this.#requestEvery(random.skewed(6, 60));
    this.#operateEvery(random.skewed(150, 3000));
    this.#raiseEvery();
    this.#shadowEvery();
    this.#scheduleFaults();
    await this.#runUntil(faultsMs);
    this.#heal();
    await this.#runUntil(faultsMs + healingMs);
    this.#mustBeAtRest();
    this.#world.after(0, this.#daemon.process, () => this.#daemon.stop());
    await this.#runUntil(faultsMs + healingMs + restMs);
    this.#mustBeAtRest();
  }

  #runUntil(untilMs: number): Promise<void> {
    return this.#world.run(untilMs, () => this.#check());
  }

  #nowMs(): number {
    return Math.floor(this.#wallAheadMs + this.#world.nowMs);
  }

  #restartMs(): number {
    const { random } = this.#world;
    if (this.#isHealing) return 50;
    return random.chance(0.2) ? random.between(1500, 3500) : random.between(50, 600);
  }

  #startDaemon(): DaemonProcess {
    const started = new DaemonProcess({
      world: this.#world,
      disk: this.#disk,
      witness: this.#witness,
      rules: [...this.#rules, ...this.#shadows],
      budgets: this.#isBare ? [] : simulatedBudgets,
      tokenWeights: someDefaultWeights(this.#seed),
      flushIntervalMs: this.#flushIntervalMs,
      usageFlushMs: this.#usageFlushMs,
      release: this.#releases.daemon(this.#isHealing),
      waits: this.#waitRandom !== null,
      nowMs: () => this.#nowMs(),
      isAlive: (proxyId) =>
        this.#proxies.some(({ id, process }) => id === proxyId && process.alive),
    });
    started.process.onDeath.push(() => {
      this.#world.after(this.#restartMs(), null, () => {
        this.#daemon = this.#startDaemon();
      });
    });
    return started;
  }

  #startProxy(index: number): void {
    const proxy = new ProxyProcess({
      world: this.#world,
      id: `proxy-${this.#everyProxy.length + 1}`,
      failureMode: this.#failureMode,
      socketFaults: this.#socketFaults,
      wireVersions: this.#releases.proxy().wireVersions,
      daemon: () => this.#daemon,
      onVerdictRead: (end) => this.#witness.verdicts.read(end),
      onReroute: () => this.#delayReroute(),
      left: this.#leftSettles,
    });
    this.#proxies[index] = proxy;
    this.#everyProxy.push(proxy);
    proxy.process.onDeath.push(
      () => void this.#world.after(this.#restartMs(), null, () => this.#startProxy(index)),
    );
  }

  /** Sometimes pauses the daemon until after the deadline of the reroute that it gets now. */
  #delayReroute(): void {
    const { random } = this.#world;
    const chance = this.#mix.lateRerouteChance;
    if (chance === 0 || this.#isHealing || !random.chance(chance)) return;
    const { process } = this.#daemon;
    if (!process.alive || process.pausedUntilMs > this.#world.nowMs) return;
    this.#world.count("daemon paused as a target failed");
    this.#world.pause(process, random.between(2_250, 2_700));
  }

  #requestEvery(meanMs: number): void {
    const { random } = this.#world;
    this.#world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
      if (this.#isHealing) return;
      const proxy = random.pick(this.#proxies);
      // It comes from outside: a paused proxy gets it after its pause.
      this.#world.after(0, proxy.process, () => {
        const request = someRequest(random, ++this.#requests);
        const waitRandom = this.#waitRandom;
        proxy.serve(waitRandom === null ? request : { ...request, ...someWait(waitRandom) });
      });
      this.#requestEvery(meanMs);
    });
  }

  #operateEvery(meanMs: number): void {
    const { random } = this.#world;
    this.#world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
      if (this.#isHealing) return;
      const { client, process } = random.pick(this.#proxies);
      this.#world.after(0, process, () => {
        const { op, body } = someOperation(random, {
          bare: this.#isBare,
          hours: this.#hours,
          rules: this.#rules,
        });
        void client.call(op, body);
      });
      this.#operateEvery(meanMs);
    });
  }

  /** In some seeds. It has its own generator, so that other draws don't depend on it. */
  #raiseEvery(): void {
    const random = this.#raiseRandom;
    if (random === null || this.#rules.length === 0) return;
    this.#world.after(-Math.log(1 - random.next()) * 250, null, () => {
      if (this.#isHealing) return;
      const { client, process } = random.pick(this.#proxies);
      this.#world.after(0, process, () => {
        const { op, body } = someRaise(random, this.#rules);
        void client.call(op, body);
      });
      this.#raiseEvery();
    });
  }

  /** In some seeds, with its own generator. */
  #shadowEvery(): void {
    const random = this.#shadowRandom;
    if (random === null) return;
    this.#world.after(-Math.log(1 - random.next()) * 400, null, () => {
      if (this.#isHealing) return;
      const { client, process } = random.pick(this.#proxies);
      this.#world.after(0, process, () => {
        const { op, body } = someShadowOperation(random, this.#shadows);
        void client.call(op, body);
      });
      this.#shadowEvery();
    });
  }

  #scheduleFaults(): void {
    scheduleFaults(this.#world, this.#mix, faultsMs, {
      daemon: () => this.#daemon,
      proxies: () => this.#proxies,
      breakDisk: (ms) => {
        this.#disk.brokenUntilMs = this.#world.nowMs + ms;
      },
      killInCommit: (which) => {
        this.#disk.deadly = which;
      },
      stepClock: (ms) => {
        this.#wallAheadMs += ms;
        this.#witness.clockStepped = true;
      },
    });
  }

  /** After each event. */
  #check(): void {
    if (this.#daemon.state !== null) this.#witness.check(this.#nowMs());
    if (this.#waitRandom !== null)
      this.#witness.checkWaiting(this.#nowMs(), this.#daemon.process.pausedUntilMs);
    for (const proxy of this.#proxies) {
      const lease = proxy.unheldLease();
      if (lease !== null)
        this.#world.fail(
          `lease ${lease} runs on ${proxy.id}, but the daemon has given away its slot or its target's`,
        );
    }
  }

  #heal(): void {
    this.#isHealing = true;
    this.#world.trace("healing");
    Object.assign(this.#socketFaults, { split: 0.1, stall: 0, cut: 0 });
    Object.assign(this.#diskFaults, { slow: 0, fail: 0 });
    Object.assign(this.#disk, { brokenUntilMs: 0, deadly: "no" });
    for (const { process } of [this.#daemon, ...this.#proxies]) {
      this.#world.resume(process);
      process.doomed = false;
    }
    if (this.#releases.replacesDaemon) this.#world.kill(this.#daemon.process);
  }

  #mustBeAtRest(): void {
    mustBeAtRest({
      world: this.#world,
      disk: this.#disk,
      witness: this.#witness,
      daemon: this.#daemon,
      proxies: this.#proxies,
      everyProxy: this.#everyProxy,
      left: this.#leftSettles,
      nowMs: this.#nowMs(),
    });
  }
}
