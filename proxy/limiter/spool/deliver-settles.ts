/**
 * The delivery of the settles that a stopped proxy has left: on a connection of its own, under the
 * name of that proxy, in the order of their numbers. So the daemon counts each of them once,
 * whatever was sent before and however often a delivery is begun.
 */
import { settlesUnacknowledgedMax } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Settle, ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type { SettleFileHead } from "./settle-file.js";

/** A connection that nothing else uses. */
export interface DeliveryLine {
  send(message: ToDaemon): void;
  /** The daemon's next message; null when it is lost, or silent for too long. */
  next(): Promise<FromDaemon | null>;
}

interface LeftSettles {
  readonly head: SettleFileHead;
  /** In the order of their numbers. */
  readonly settles: AsyncIterable<Settle> | Iterable<Settle>;
}

/** How, and until when: between two windows it must be said whether it goes on. */
interface Delivery {
  readonly nowMs: () => number;
  readonly goesOn: () => Promise<boolean>;
}

/** Whether all of them are durable now. */
export async function deliverSettles(
  { head, settles }: LeftSettles,
  line: DeliveryLine,
  { nowMs, goesOn }: Delivery,
): Promise<boolean> {
  const { proxyId, writtenAtMs } = head;
  line.send({ kind: "hello", id: 1, wireVersion, role: "proxy", proxyId, leases: [], more: false });
  let durable = await welcomed(line);
  let sent = 0;
  let inWindow = 0;
  for await (const settle of settles) {
    if (durable === null) return false;
    if (settle.seq <= durable) continue;
    line.send(agedBy(settle, Math.max(0, nowMs() - writtenAtMs)));
    sent = settle.seq;
    if (++inWindow < settlesUnacknowledgedMax) continue;
    inWindow = 0;
    durable = await acknowledged(line, sent);
    if (!(await goesOn())) return false;
  }
  return durable !== null && (durable >= sent || (await acknowledged(line, sent)) !== null);
}

/**
 * The number of the last settle that is durable; null: the connection is lost. A daemon of another
 * release doesn't say it, and takes settles all the same.
 */
async function welcomed(line: DeliveryLine): Promise<number | null> {
  const message = await line.next();
  if (message?.kind === "failed") return 0;
  return message?.kind === "welcome" ? message.settledSeq : null;
}

/** As soon as `seq` is durable; null: it isn't. */
async function acknowledged(line: DeliveryLine, seq: number): Promise<number | null> {
  for (;;) {
    const message = await line.next();
    if (message === null) return null;
    if (message.kind === "settled" && message.seq >= seq) return message.seq;
  }
}

/** The times of a settle are relative to when it is sent. */
function agedBy(settle: Settle, ms: number): Settle {
  return {
    ...settle,
    startedAgoMs: settle.startedAgoMs + ms,
    endedAgoMs: settle.endedAgoMs + ms,
    targetStartedAgoMs:
      settle.targetStartedAgoMs === undefined ? undefined : settle.targetStartedAgoMs + ms,
  };
}
