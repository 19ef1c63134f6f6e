/**
 * Which faults happen, and how often. Each seed draws its own mix, from no faults to all at once,
 * so that bugs that need quiet are found as well as those that need many faults.
 */

import type { DaemonProcess } from "./processes/daemon-process.js";
import type { DiskFaults } from "./processes/disk.js";
import type { ProxyProcess } from "./processes/proxy-process.js";
import type { SocketFaults } from "./processes/stream-socket.js";
import { createRandom, type Random } from "./random.js";
import type { Process, World } from "./world.js";

/** Mean milliseconds between two faults of each kind; 0: never. */
export interface FaultMix {
  readonly socket: SocketFaults;
  readonly disk: DiskFaults;
  readonly resetMs: number;
  readonly daemonKillMs: number;
  readonly daemonStopMs: number;
  readonly proxyKillMs: number;
  readonly proxyStopMs: number;
  readonly machineMs: number;
  readonly daemonPauseMs: number;
  readonly proxyPauseMs: number;
  readonly diskBreakMs: number;
  readonly fullStartMs: number;
  readonly clockStepMs: number;
  /** How likely a reroute pauses the daemon until after its deadline. */
  readonly lateRerouteChance: number;
}

const never = {
  resetMs: 0,
  daemonKillMs: 0,
  daemonStopMs: 0,
  proxyKillMs: 0,
  machineMs: 0,
  daemonPauseMs: 0,
  proxyPauseMs: 0,
  diskBreakMs: 0,
  fullStartMs: 0,
  clockStepMs: 0,
};

/** It has its own generator, so that a seed's other draws don't depend on it. */
export function someProxyStopMs(seed: number): number {
  const random = createRandom(seed ^ 0x5bd1e995);
  return random.chance(0.3) ? random.skewed(700, 5000) : 0;
}

/**
 * In a few seeds, verdicts on next targets come late. In most of these seeds no process dies and no
 * connection breaks, so that both sides handle the late verdicts. Has its own generator, too.
 */
export function someLateReroutes(
  seed: number,
): Pick<FaultMix, "lateRerouteChance"> & Partial<FaultMix> {
  const random = createRandom(seed ^ 0x3c6ef372);
  if (!random.chance(0.1)) return { lateRerouteChance: 0 };
  const lateRerouteChance = random.between(0.05, 0.5);
  if (random.chance(0.3)) return { lateRerouteChance };
  const { daemonKillMs, proxyKillMs, machineMs, resetMs, daemonStopMs, fullStartMs } = never;
  const calm = { daemonKillMs, proxyKillMs, machineMs, resetMs, daemonStopMs, fullStartMs };
  return { lateRerouteChance, ...calm, proxyStopMs: 0 };
}

export function someFaults(random: Random): Omit<FaultMix, "proxyStopMs" | "lateRerouteChance"> {
  const calm = random.chance(0.12);
  const socket = {
    split: random.pick([0, 0.2, 0.8]),
    stall: calm ? 0 : random.pick([0, 0.002, 0.01]),
    cut: random.pick([0, 0.5]),
  };
  if (calm) return { socket, disk: { slow: 0, fail: 0 }, ...never };
  const sometimes = (probability: number, minMs: number, maxMs: number): number =>
    random.chance(probability) ? random.skewed(minMs, maxMs) : 0;
  return {
    socket,
    disk: { slow: random.pick([0, 0.02, 0.2]), fail: random.pick([0, 0.02, 0.2]) },
    resetMs: sometimes(0.5, 300, 3000),
    daemonKillMs: sometimes(0.65, 700, 5000),
    daemonStopMs: sometimes(0.25, 2000, 6000),
    proxyKillMs: sometimes(0.4, 700, 5000),
    machineMs: sometimes(0.15, 2000, 6000),
    daemonPauseMs: sometimes(0.3, 500, 4000),
    proxyPauseMs: sometimes(0.3, 500, 4000),
    diskBreakMs: sometimes(0.3, 1000, 5000),
    clockStepMs: sometimes(0.2, 500, 4000),
    fullStartMs: sometimes(0.25, 1500, 5000),
  };
}

/** The processes, the disk and the clock that faults affect. */
export interface Victims {
  daemon(): DaemonProcess;
  proxies(): readonly ProxyProcess[];
  breakDisk(ms: number): void;
  /** Makes the daemon die around its next commit. */
  killInCommit(which: "any" | "snapshot"): void;
  stepClock(ms: number): void;
}

/** Lets faults happen until `untilMs`. */
export function scheduleFaults(
  world: World,
  mix: FaultMix,
  untilMs: number,
  victims: Victims,
): void {
  const { random } = world;
  /**
   * Repeats a fault at random times. `happen` returns the process that it affected; null if that
   * was already dead.
   */
  const repeat = (meanMs: number, kind: string, happen: () => Process | null): void => {
    if (meanMs === 0) return;
    const next = (): void => {
      world.after(-Math.log(1 - random.next()) * meanMs, null, () => {
        if (world.nowMs >= untilMs) return;
        const victim = happen();
        if (victim !== null) {
          world.count(kind);
          world.trace(`fault: ${kind}, ${victim.name}`);
        }
        next();
      });
    };
    next();
  };
  const onLiving = (process: Process, happen: (process: Process) => void): Process | null => {
    if (!process.alive) return null;
    happen(process);
    return process;
  };
  const host = world.process("host");
  const kill = (process: Process): void => {
    if (random.chance(0.5)) world.kill(process);
    else process.doomed = true;
  };
  const pause = (process: Process): void =>
    world.pause(process, random.chance(0.3) ? random.between(1800, 3200) : random.skewed(5, 1800));
  const someProxy = (): ProxyProcess => random.pick(victims.proxies());

  repeat(mix.resetMs, "connection reset", () => {
    const { connection, process } = someProxy();
    connection?.reset();
    return connection === null ? null : process;
  });
  repeat(mix.daemonKillMs, "daemon killed", () =>
    onLiving(victims.daemon().process, (process) =>
      random.chance(0.6) ? kill(process) : victims.killInCommit(random.pick(["any", "snapshot"])),
    ),
  );
  repeat(mix.daemonStopMs, "daemon sent SIGTERM", () =>
    onLiving(victims.daemon().process, () => victims.daemon().stop()),
  );
  repeat(mix.proxyKillMs, "proxy killed", () => onLiving(someProxy().process, kill));
  repeat(mix.proxyStopMs, "proxy sent SIGTERM", () => {
    const proxy = someProxy();
    return onLiving(proxy.process, () => proxy.stop());
  });
  repeat(mix.machineMs, "all killed", () => {
    world.kill(victims.daemon().process);
    for (const proxy of victims.proxies()) world.kill(proxy.process);
    return host;
  });
  repeat(mix.daemonPauseMs, "daemon paused", () => onLiving(victims.daemon().process, pause));
  repeat(mix.proxyPauseMs, "proxy paused", () => onLiving(someProxy().process, pause));
  repeat(mix.diskBreakMs, "disk broken", () => {
    victims.breakDisk(random.skewed(50, 4000));
    return host;
  });
  repeat(mix.fullStartMs, "daemon killed, disk broken at its start", () =>
    onLiving(victims.daemon().process, (process) => {
      victims.breakDisk(random.between(1000, 4000));
      world.kill(process);
      // Another daemon that dies before it has written anything.
      if (random.chance(0.5))
        world.after(random.between(300, 1500), null, () => world.kill(victims.daemon().process));
    }),
  );
  repeat(mix.clockStepMs, "clock stepped", () => {
    victims.stepClock(Math.round(random.skewed(5, 100_000_000)) * random.pick([-1, 1]));
    return host;
  });
}
