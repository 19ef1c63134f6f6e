/**
 * Takes back the counts of unread verdicts, which a proxy never read because its connection broke
 * or the daemon ended first. This happens when the proxy reconnects, before it repeats requests.
 */
import type { VerdictsRead } from "../../shared/wire/message-to-daemon.js";
import type { PeerState } from "../peer.js";
import { countSince } from "../rules/charge.js";
import { matchPath, matchTarget } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";

/** Returns false if the peer violated the protocol. */
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
