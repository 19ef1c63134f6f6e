/**
 * When a proxy reconnects, takes back the counts of verdicts that it never read because its
 * connection broke or the daemon ended. Afterwards the proxy repeats these requests.
 */
import type { VerdictsRead } from "../../shared/wire/message-to-daemon.js";
import type { PeerState } from "../peer.js";
import { countSince } from "../rules/charge.js";
import { pathCountersOf, targetCountersOf } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";

/** Returns false if the peer violated the protocol. */
export function takeBackUnread(
  { book, proxies, writer }: Pick<DaemonState, "book" | "proxies" | "writer">,
  peer: PeerState,
  { connection, earlier }: VerdictsRead,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.isWelcomed || proxy === null) return false;
  if (proxy.peer !== peer) return true;
  if (peer.granted > 0) return false;
  peer.connection = connection;
  // By connection, the number of the last verdict that the proxy has read.
  const lastRead = new Map(earlier);
  for (const verdict of proxy.unread.take()) {
    const { number, atPath, lsn, atMs } = verdict;
    const readNumber = lastRead.get(verdict.connection);
    if (readNumber === undefined || number <= readNumber) continue;
    const counters = [
      ...targetCountersOf(book, verdict, nowMs),
      ...(atPath ? pathCountersOf(book, verdict, nowMs) : []),
    ];
    countSince(book, counters, { lsn, atMs, requests: -1 }, nowMs);
  }
  proxies.markUnread(proxy);
  writer.noteCounted();
  return true;
}
