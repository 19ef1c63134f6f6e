/**
 * What must hold once all faults have stopped and all requests have ended: nothing is left over,
 * and everything that ended has been charged and recorded once.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { SettledPart } from "../../../shared/wire/message-to-daemon.js";
import { describeTarget } from "../describe-message.js";
import type { DaemonProcess } from "../processes/daemon-process.js";
import type { Disk } from "../processes/disk.js";
import type { LeftSettles } from "../processes/left-settles.js";
import type { ProxyProcess } from "../processes/proxy-process.js";
import { progressId, recordId } from "../workload.js";
import type { World } from "../world.js";
import { recordsOn, usageDifference } from "./compare-usage.js";
import type { Witness } from "./witness.js";

export interface SystemAtRest {
  readonly world: World;
  readonly disk: Disk;
  readonly witness: Witness;
  readonly daemon: DaemonProcess;
  /** The proxies that run now. */
  readonly proxies: readonly ProxyProcess[];
  readonly left: LeftSettles;
  /** All proxies, also those that were killed or have stopped. */
  readonly everyProxy: readonly ProxyProcess[];
  readonly nowMs: number;
}

/** Fails if something is left over, or isn't counted exactly once. */
export function mustBeAtRest(system: SystemAtRest): void {
  const { world, daemon, proxies } = system;
  if (!daemon.listening) world.fail("the daemon is not up after the healing");
  for (const proxy of proxies)
    if (!proxy.isQuiet())
      world.fail(
        `${proxy.id} is not at rest: ${proxy.client.unsettled} settles, reachable ${proxy.client.reachable}`,
      );
  if (system.left.fileCount > 0)
    world.fail(`what ${system.left.fileCount} stopped proxies left is there`);
  const { peers } = daemon.state!;
  for (const { leases, proxy } of peers)
    if (leases.size > 0) world.fail(`${leases.size} leases of ${proxy?.id ?? "no proxy"} are left`);
  if (peers.size !== proxies.length)
    world.fail(`${peers.size} connections of ${proxies.length} proxies`);
  for (const { definition, own, wouldRefuse } of daemon.state!.book.rules.values()) {
    world.count("noted by shadow rules", wouldRefuse?.count ?? 0);
    if (wouldRefuse !== null && own !== null && own.inFlight !== 0)
      world.fail(`a shadow rule on ${definition.subject} has ${own.inFlight} in flight`);
  }
  for (const proxy of system.everyProxy) mustBeCharged(system, proxy);
  mustBeRecorded(system);
}

/** Fails if a request lacks its record. `usageDifference` finds requests with two records. */
function mustBeRecorded({ world, disk, witness, daemon, everyProxy, nowMs }: SystemAtRest): void {
  const { clockStepped } = witness;
  const wrong = usageDifference(disk, daemon.state!, { nowMs, clockStepped });
  if (wrong !== null) world.fail(wrong);
  const recorded = new Set(recordsOn(disk).map(({ requestId }) => requestId));
  for (const { process, isStopped, served } of everyProxy) {
    for (const { request, settles } of served) {
      if (
        (process.alive || isStopped) &&
        request.record !== null &&
        settles.some(({ part }) => part === "request") &&
        !recorded.has(recordId(request.number))
      )
        world.fail(`request ${request.number} has ended and has no record`);
      const reported = settles.filter(({ part }) => part === "progress").length;
      for (let i = 0; i < reported; i++)
        if ((process.alive || isStopped) && !recorded.has(progressId(request.number, i)))
          world.fail(`part ${i} of request ${request.number} has no record`);
    }
  }
  world.count("records", recorded.size);
}

function mustBeCharged({ world, witness }: SystemAtRest, proxy: ProxyProcess): void {
  const { id, served } = proxy;
  const survives = proxy.process.alive || proxy.isStopped;
  const unread = proxy.isStopped ? witness.verdicts.unread(id) : [];
  const left = survives ? witness.register.neverEnded(id, unread) : null;
  if (left !== null) world.fail(`nothing runs, and this stays counted: ${left}`);
  const charged = new Map<string, number>();
  for (const { proxyId, part, place, use } of witness.register.charges) {
    // A request that was admitted too late was never served.
    if (proxyId !== id || part === "withdrawn" || part === "untried") continue;
    const key = chargeKey(part, place.atPath ? place.path : null, place.target, use.tokens);
    charged.set(key, (charged.get(key) ?? 0) + 1);
  }
  for (const { request, settles, toldTargets, outcome } of served) {
    if (survives && outcome === null) world.fail(`request ${request.number} was never answered`);
    const counted = toldTargets.map((target) => ({ part: "request", target, tokens: 0 }) as const);
    for (const { part, target, tokens } of [...counted, ...settles]) {
      const key = chargeKey(part, part === "attempt" ? null : request.path, target, tokens);
      const times = charged.get(key) ?? 0;
      // A killed proxy may lose settles that weren't acknowledged.
      if (times === 0 && survives)
        world.fail(`request ${request.number} has ended and isn't charged: ${key}`);
      charged.set(key, times - 1);
    }
  }
  for (const [key, times] of charged)
    if (times > 0) world.fail(`${id} is charged ${times} times too often: ${key}`);
}

function chargeKey(
  part: SettledPart,
  path: string | null,
  target: Target | null,
  tokens: number,
): string {
  return `${part} ${path ?? ""} at ${describeTarget(target)} with ${tokens}`;
}
