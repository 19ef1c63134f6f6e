/**
 * Takes back the counts of unread verdicts, which a proxy never read because its connection broke
 * or the daemon ended first. This happens when the proxy reconnects, before it repeats requests.
 */
import type { Target } from "../../shared/domain/target-name.js";
import { uncountedLsn } from "../../shared/wire/lsn.js";
import type { VerdictsRead } from "../../shared/wire/message-to-daemon.js";
import type { KnownProxy, PeerState } from "../peer.js";
import { countSince } from "../rules/charge.js";
import { matchPath, matchTarget } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";

/** What a verdict has counted. */
interface Counted {
  readonly userPath: string;
  /** False: a reroute, counted only at its target. */
  readonly atPath: boolean;
  readonly target: Target | null;
  readonly lsn: number;
  readonly atMs: number;
  readonly refusedBy?: readonly string[] | undefined;
}

/** Call with each verdict that admits. */
export function noteVerdict(
  { proxies }: Pick<DaemonState, "proxies">,
  peer: PeerState,
  proxy: KnownProxy,
  counted: Counted,
): void {
  const { connection } = peer;
  const number = ++peer.granted;
  // 0: the proxy hasn't reported yet which verdicts it has read.
  if (connection === 0 || counted.lsn === uncountedLsn) return;
  const { userPath, atPath, target, lsn, atMs, refusedBy } = counted;
  proxy.unread.add({ connection, number, userPath, atPath, target, lsn, atMs, refusedBy });
  proxies.markUnread(proxy);
}

/** False: the proxy claims to have read more than was sent. */
export function acknowledgeVerdicts(
  { connection, granted }: PeerState,
  proxy: KnownProxy,
  read: number,
): boolean {
  if (connection === 0) return true;
  if (read > granted) return false;
  proxy.unread.acknowledge(read);
  return true;
}

/** False: the peer broke the grammar. */
export function takeBackUnread(
  { book, proxies, writer }: Pick<DaemonState, "book" | "proxies" | "writer">,
  peer: PeerState,
  { connection: present, earlier }: VerdictsRead,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.welcomed || proxy === null) return false;
  if (proxy.peer !== peer) return true;
  if (peer.granted > 0) return false;
  peer.connection = present;
  const readOn = new Map(earlier);
  for (const verdict of proxy.unread.take()) {
    const { connection, number, atPath, lsn, atMs } = verdict;
    const read = readOn.get(connection);
    if (read === undefined || number <= read) continue;
    const counters = [
      ...matchTarget(book, verdict, nowMs),
      ...(atPath ? matchPath(book, verdict, nowMs) : []),
    ];
    countSince(book, counters, { lsn, atMs, requests: -1 }, nowMs);
  }
  proxies.markUnread(proxy);
  writer.counted();
  return true;
}
