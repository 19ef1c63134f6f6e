/**
 * One seed, from the first start to the last comparison: a time of work and faults; then the faults
 * stop, everything that is dead is started, and every request ends; at rest everything must add up,
 * and once more after a restart.
 */
import type { RuleDefinition } from "../../shared/domain/rule.js";
import type { SettledPart, Target } from "../../shared/wire/message.js";
import { recordsOn, simulatedBudgets, usageDifference } from "./checks/compare-usage.js";
import { Witness } from "./checks/witness.js";
import { describeTarget } from "./describe-message.js";
import { scheduleFaults, someFaults } from "./faults.js";
import { type DaemonProcess, startDaemonProcess } from "./processes/daemon-process.js";
import { createDisk } from "./processes/disk.js";
import { type ProxyProcess, startProxyProcess } from "./processes/proxy-process.js";
import { ledgers, recordId, someOperation, someRequest, someRules } from "./workload.js";
import { createWorld } from "./world.js";

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
 * Longer than the longest request, a restart, the reconnect grace period and the last
 * acknowledgement.
 */
const healingMs = 9_000;
const restMs = 1_500;
const beginMs = 1_767_225_600_000;

export async function simulate(seed: number): Promise<SimulationResult> {
  const world = createWorld(seed);
  const { random } = world;
  const mix = someFaults(random);
  const bare = random.chance(0.1);
  const rules: readonly RuleDefinition[] = bare
    ? []
    : [...ledgers, ...someRules(random, random.int(1, 9))];
  const flushIntervalMs = random.pick([0, 250, 990, 990]);
  const usageFlushMs = random.pick([130, 700, 2500]);
  const failureMode = random.pick(["closed", "open"] as const);
  const socketFaults = { ...mix.socket };
  const diskFaults = { ...mix.disk };
  const disk = createDisk(world, diskFaults);
  const witness = new Witness(world, disk);
  disk.onApplied = (changes) => witness.applied(changes);
  let wallAheadMs = beginMs + random.int(0, 3_600_000);
  const nowMs = (): number => Math.floor(wallAheadMs + world.nowMs);
  let number = 0;
  let proxiesMade = 0;
  let healing = false;
  const everyProxy: ProxyProcess[] = [];
  const proxies: ProxyProcess[] = [];

  const restartMs = (): number =>
    healing ? 50 : random.chance(0.2) ? random.between(1500, 3500) : random.between(50, 600);

  function startDaemon(): DaemonProcess {
    const started = startDaemonProcess({
      world,
      disk,
      witness,
      rules,
      budgets: bare ? [] : simulatedBudgets,
      flushIntervalMs,
      usageFlushMs,
      nowMs,
      isAlive: (proxyId) => proxies.some(({ id, process }) => id === proxyId && process.alive),
    });
    started.process.onDeath.push(() => {
      world.after(restartMs(), null, () => {
        daemon = startDaemon();
      });
    });
    return started;
  }

  function startProxy(place: number): void {
    const proxy = startProxyProcess({
      world,
      id: `proxy-${++proxiesMade}`,
      failureMode,
      socketFaults,
      daemon: () => daemon,
    });
    proxies[place] = proxy;
    everyProxy.push(proxy);
    proxy.process.onDeath.push(() => void world.after(restartMs(), null, () => startProxy(place)));
  }

  function askNow(meanMs: number): void {
    world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
      if (healing) return;
      const proxy = random.pick(proxies);
      // From outside: it reaches the proxy when that can take it.
      world.after(0, proxy.process, () => proxy.serve(someRequest(random, ++number)));
      askNow(meanMs);
    });
  }

  function operateNow(meanMs: number): void {
    world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
      if (healing) return;
      const { client, process } = random.pick(proxies);
      world.after(0, process, () => {
        const { op, body } = someOperation(random, { bare });
        void client.call(op, body);
      });
      operateNow(meanMs);
    });
  }

  function check(): void {
    if (daemon.state !== null) witness.check(nowMs());
    for (const proxy of proxies) {
      const lease = proxy.unheldLease();
      if (lease !== null)
        world.fail(
          `lease ${lease} runs on ${proxy.id}, but the daemon has given its slot away, or its target's`,
        );
    }
  }

  function heal(): void {
    healing = true;
    world.trace("healing");
    Object.assign(socketFaults, { split: 0.1, stall: 0, cut: 0 });
    Object.assign(diskFaults, { slow: 0, fail: 0 });
    Object.assign(disk, { brokenUntilMs: 0, deadly: "no" });
    for (const { process } of [daemon, ...proxies]) {
      world.resume(process);
      process.doomed = false;
    }
  }

  /** Everything has ended, and everything that ended has been counted once. */
  function mustBeAtRest(): void {
    if (!daemon.listening) world.fail("the daemon is not up after the healing");
    for (const proxy of proxies)
      if (!proxy.quiet())
        world.fail(
          `${proxy.id} is not at rest: ${proxy.client.unsettled} settles, reachable ${proxy.client.reachable}`,
        );
    for (const { leases, proxy } of daemon.state!.peers)
      if (leases.size > 0)
        world.fail(`${leases.size} leases of ${proxy?.id ?? "no proxy"} are left`);
    if (daemon.state!.peers.size !== proxies.length)
      world.fail(`${daemon.state!.peers.size} connections of ${proxies.length} proxies`);
    for (const proxy of everyProxy) mustBeCharged(proxy);
    mustBeRecorded();
  }

  /** Each once is what the comparison sees to. */
  function mustBeRecorded(): void {
    const wrong = usageDifference(disk, daemon.state!, {
      nowMs: nowMs(),
      clockStepped: witness.clockStepped,
    });
    if (wrong !== null) world.fail(wrong);
    const recorded = new Set(recordsOn(disk).map(({ requestId }) => requestId));
    for (const { process, served } of proxies) {
      for (const { request, settles } of served) {
        if (
          process.alive &&
          request.record !== null &&
          settles.some(({ part }) => part === "request") &&
          !recorded.has(recordId(request.number))
        )
          world.fail(`request ${request.number} has ended and has no record`);
      }
    }
    world.count("records", recorded.size);
  }

  function mustBeCharged({ id, process, served }: ProxyProcess): void {
    const charged = new Map<string, number>();
    const keyOf = (
      part: SettledPart,
      path: string | null,
      target: Target | null,
      tokens: number,
    ): string => `${part} ${path ?? ""} at ${describeTarget(target)} with ${tokens}`;
    for (const { proxyId, part, of, tokens } of witness.register.charges) {
      // What was admitted too late was never served.
      if (proxyId !== id || part === "withdrawn") continue;
      const key = keyOf(part, of.path, of.target, tokens);
      charged.set(key, (charged.get(key) ?? 0) + 1);
    }
    for (const { request, settles, outcome } of served) {
      if (process.alive && outcome === null)
        world.fail(`request ${request.number} was never answered`);
      for (const { part, target, tokens } of settles) {
        const key = keyOf(part, part === "attempt" ? null : request.path, target, tokens);
        const times = charged.get(key) ?? 0;
        // What a proxy took with it was never acknowledged.
        if (times === 0 && process.alive)
          world.fail(`request ${request.number} has ended and isn't charged: ${key}`);
        charged.set(key, times - 1);
      }
    }
    for (const [key, times] of charged)
      if (times > 0) world.fail(`${id} is charged ${times} times too often: ${key}`);
  }

  let daemon = startDaemon();
  const proxiesWanted = random.int(1, 4);
  for (let place = 0; place < proxiesWanted; place++) startProxy(place);
  askNow(random.skewed(6, 60));
  operateNow(random.skewed(150, 3000));
  scheduleFaults(world, mix, faultsMs, {
    daemon: () => daemon,
    proxies: () => proxies,
    breakDisk: (ms) => {
      disk.brokenUntilMs = world.nowMs + ms;
    },
    killInCommit(which) {
      disk.deadly = which;
    },
    stepClock(ms) {
      wallAheadMs += ms;
      witness.clockStepped = true;
    },
  });

  const result = (violation: string | null): SimulationResult => ({
    seed,
    violation,
    events: world.events,
    traceHash: world.traceHash,
    tally: world.tally,
    lines: world.lines,
  });
  try {
    await world.run(faultsMs, check);
    heal();
    await world.run(faultsMs + healingMs, check);
    mustBeAtRest();
    world.count("requests uncertain at the end", witness.register.uncertain);
    world.after(0, daemon.process, () => daemon.stop());
    await world.run(faultsMs + healingMs + restMs, check);
    mustBeAtRest();
    return result(null);
  } catch (error) {
    return result(
      error instanceof Error
        ? error.name === "Violation"
          ? error.message
          : (error.stack ?? error.message)
        : String(error),
    );
  }
}
