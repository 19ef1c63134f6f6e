/**
 * Stream sockets: bytes in order, in pieces of any size, late. What a process wrote in one event
 * leaves at the end of it. When an end goes, what is on the way may still arrive or be lost from
 * any byte on, and the other end learns of it once.
 */
import type { Process, World } from "../world.js";

export interface SocketFaults {
  /** Probability that what arrives is cut in pieces. */
  readonly split: number;
  /** Probability that a piece waits for up to seconds. */
  readonly stall: number;
  /** Probability that bytes on the way are lost when an end goes. */
  readonly cut: number;
}

export interface End {
  readonly owner: Process;
  readonly open: boolean;
  /** Whether the other end has read all that was sent. */
  readonly allRead: boolean;
  send(bytes: Buffer): void;
  /** Runs `run` once the other end has read all that was sent; not if this end goes before. */
  whenSent(run: () => void): void;
  close(): void;
  onBytes: (bytes: Buffer) => void;
  /** Once, unless the owner is dead. */
  onClose: () => void;
}

export interface Connection {
  readonly ends: readonly [End, End];
  /**
   * Breaks it in the middle: both ends learn of it, or the first one closes, and its last bytes
   * arrive when it may have connected again.
   */
  reset(): void;
}

export function connectSockets(
  world: World,
  owners: readonly [Process, Process],
  faults: SocketFaults,
): Connection {
  const { random } = world;
  const ends = [createEnd(0), createEnd(1)] as const;

  function createEnd(side: 0 | 1) {
    const owner = owners[side];
    let outbox: Buffer[] = [];
    /** What this end has written and the other has not read. */
    let onTheWay = Buffer.alloc(0);
    let waiting: (() => void)[] = [];
    let delivering = false;
    let ending = false;
    const end = {
      owner,
      open: true,
      get allRead() {
        return outbox.length === 0 && onTheWay.length === 0;
      },
      onBytes: (_: Buffer): void => {},
      onClose: (): void => {},
      send(bytes: Buffer): void {
        if (!end.open) return;
        outbox.push(bytes);
        if (outbox.length === 1) world.afterTurn(owner, end.flush);
      },
      whenSent(run: () => void): void {
        waiting.push(run);
      },
      flush(): void {
        const bytes = outbox;
        outbox = [];
        if (!end.open || ending || bytes.length === 0) return;
        onTheWay = Buffer.concat([onTheWay, ...bytes]);
        end.deliver();
      },
      deliver(): void {
        if (delivering) return;
        delivering = true;
        const stalls = !ending && random.chance(faults.stall);
        if (stalls) world.count("socket stalled");
        world.after(
          stalls ? random.skewed(5, 3000) : random.between(0.02, 0.4),
          other().owner,
          () => {
            delivering = false;
            if (!other().open) return;
            const splits = onTheWay.length > 1 && random.chance(faults.split);
            if (splits) world.count("bytes split");
            const bytes = onTheWay.subarray(
              0,
              splits ? random.int(1, onTheWay.length - 1) : onTheWay.length,
            );
            onTheWay = onTheWay.subarray(bytes.length);
            if (bytes.length > 0) other().onBytes(Buffer.from(bytes));
            if (onTheWay.length > 0) end.deliver();
            else if (ending) other().shut();
            else if (outbox.length === 0) end.taken();
          },
        );
      },
      taken(): void {
        const runs = waiting;
        waiting = [];
        for (const run of runs) world.after(0, owner, run);
      },
      /** This end is gone: the other reads what still arrives, then its end. */
      leave(): void {
        if (ending) return;
        ending = true;
        end.open = false;
        if (onTheWay.length > 0 && random.chance(faults.cut)) {
          world.count("bytes lost");
          onTheWay = onTheWay.subarray(0, random.int(0, onTheWay.length - 1));
        }
        end.deliver();
      },
      shut(): void {
        if (!end.open) return;
        end.leave();
        end.onClose();
      },
      close(): void {
        if (!end.open) return;
        end.flush();
        end.leave();
        world.after(0, owner, () => end.onClose());
      },
    };
    const other = () => ends[side === 0 ? 1 : 0];
    owner.onDeath.push(() => {
      if (end.open) end.leave();
    });
    return end;
  }

  return {
    ends,
    reset() {
      ends[0].close();
      if (random.chance(0.6)) ends[1].close();
    },
  };
}
