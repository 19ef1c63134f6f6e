/**
 * What goes wrong, and how often. Each seed draws its own mix, from nothing at all to everything at
 * once: a bug that needs quiet is as likely to be met as one that needs a storm.
 */

import type { DaemonProcess } from "./processes/daemon-process.js";
import type { DiskFaults } from "./processes/disk.js";
import type { ProxyProcess } from "./processes/proxy-process.js";
import type { SocketFaults } from "./processes/stream-socket.js";
import { createRandom, type Random } from "./random.js";
import type { Process, World } from "./world.js";

/** Mean milliseconds between two faults of a kind; 0: never. */
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
  /** How likely the daemon stands still, past the deadline, as a request asks for a next target. */
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

/** Drawn by a generator of its own: a seed's other history doesn't depend on it. */
export function someProxyStopMs(seed: number): number {
  const random = createRandom(seed ^ 0x5bd1e995);
  return random.chance(0.3) ? random.skewed(700, 5000) : 0;
}

/**
 * As `someProxyStopMs`: a few seeds in which verdicts on next targets come late. In most of them
 * nobody dies and no connection breaks, so that both sides live to see what becomes of these.
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

/** What the faults happen to. */
export interface Victims {
  daemon(): DaemonProcess;
  proxies(): readonly ProxyProcess[];
  breakDisk(ms: number): void;
  /** The daemon dies around its next commit. */
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
  /** `happen` returns what it happened to: null when that is dead already. */
  const at = (meanMs: number, kind: string, happen: () => Process | null): void => {
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

  at(mix.resetMs, "connection reset", () => {
    const { connection, process } = someProxy();
    connection?.reset();
    return connection === null ? null : process;
  });
  at(mix.daemonKillMs, "daemon killed", () =>
    onLiving(victims.daemon().process, (process) =>
      random.chance(0.6) ? kill(process) : victims.killInCommit(random.pick(["any", "snapshot"])),
    ),
  );
  at(mix.daemonStopMs, "daemon sent SIGTERM", () =>
    onLiving(victims.daemon().process, () => victims.daemon().stop()),
  );
  at(mix.proxyKillMs, "proxy killed", () => onLiving(someProxy().process, kill));
  at(mix.proxyStopMs, "proxy sent SIGTERM", () => {
    const proxy = someProxy();
    return onLiving(proxy.process, () => proxy.stop());
  });
  at(mix.machineMs, "all killed", () => {
    world.kill(victims.daemon().process);
    for (const proxy of victims.proxies()) world.kill(proxy.process);
    return host;
  });
  at(mix.daemonPauseMs, "daemon paused", () => onLiving(victims.daemon().process, pause));
  at(mix.proxyPauseMs, "proxy paused", () => onLiving(someProxy().process, pause));
  at(mix.diskBreakMs, "disk broken", () => {
    victims.breakDisk(random.skewed(50, 4000));
    return host;
  });
  at(mix.fullStartMs, "daemon killed, disk broken at its start", () =>
    onLiving(victims.daemon().process, (process) => {
      victims.breakDisk(random.between(1000, 4000));
      world.kill(process);
      // Another one that the disk knows nothing of.
      if (random.chance(0.5))
        world.after(random.between(300, 1500), null, () => world.kill(victims.daemon().process));
    }),
  );
  at(mix.clockStepMs, "clock stepped", () => {
    victims.stepClock(Math.round(random.skewed(5, 100_000_000)) * random.pick([-1, 1]));
    return host;
  });
}
