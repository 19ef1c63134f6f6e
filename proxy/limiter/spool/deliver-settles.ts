/**
 * Delivers the settles that a stopped proxy left: on a separate connection, under the name of that
 * proxy, ordered by number. So the daemon counts each of them once, however often they are sent.
 */
import { settlesUnacknowledgedMax } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Settle, ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type { SettleFileHead } from "./settle-file.js";

/** A connection used for the delivery only. */
export interface DeliveryLine {
  send(message: ToDaemon): void;
  /**
   * The daemon's next message; null if the connection is lost, or the daemon silent for too long.
   */
  next(): Promise<FromDaemon | null>;
}

interface LeftSettles {
  readonly head: SettleFileHead;
  /** Ordered by number. */
  readonly settles: AsyncIterable<Settle> | Iterable<Settle>;
}

interface Delivery {
  readonly nowMs: () => number;
  /** Called between two windows of settles; false stops the delivery. */
  readonly mayContinue: () => Promise<boolean>;
}

/** Returns whether all settles are durable. */
export async function deliverSettles(
  { head, settles }: LeftSettles,
  line: DeliveryLine,
  { nowMs, mayContinue }: Delivery,
): Promise<boolean> {
  const { proxyId, writtenAtMs } = head;
  line.send({ kind: "hello", id: 1, wireVersion, role: "proxy", proxyId, leases: [], more: false });
  let durable = await awaitWelcome(line);
  let sent = 0;
  let inWindow = 0;
  for await (const settle of settles) {
    if (durable === null) return false;
    if (settle.seq <= durable) continue;
    line.send(agedBy(settle, Math.max(0, nowMs() - writtenAtMs)));
    sent = settle.seq;
    if (++inWindow < settlesUnacknowledgedMax) continue;
    inWindow = 0;
    durable = await awaitSettled(line, sent);
    if (!(await mayContinue())) return false;
  }
  return durable !== null && (durable >= sent || (await awaitSettled(line, sent)) !== null);
}

/**
 * Returns the number of the last durable settle; null if the connection is lost. A daemon of
 * another release doesn't report it, but accepts settles.
 */
async function awaitWelcome(line: DeliveryLine): Promise<number | null> {
  const message = await line.next();
  if (message?.kind === "failed") return 0;
  return message?.kind === "welcome" ? message.settledSeq : null;
}

/** Waits until `seq` is durable; null if it isn't. */
async function awaitSettled(line: DeliveryLine, seq: number): Promise<number | null> {
  for (;;) {
    const message = await line.next();
    if (message === null) return null;
    if (message.kind === "settled" && message.seq >= seq) return message.seq;
  }
}

/** The times of a settle are relative to when it is sent: adds the time since it was written. */
function agedBy(settle: Settle, ms: number): Settle {
  return {
    ...settle,
    startedAgoMs: settle.startedAgoMs + ms,
    endedAgoMs: settle.endedAgoMs + ms,
    targetStartedAgoMs:
      settle.targetStartedAgoMs === undefined ? undefined : settle.targetStartedAgoMs + ms,
  };
}
