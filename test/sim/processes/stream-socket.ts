/**
 * Stream sockets: bytes arrive late, in order, in pieces of any size. What a process writes in an
 * event is sent at the end of the event. When an end closes, the bytes in transit may still arrive,
 * or be lost from any byte on, and the other end learns of the close once.
 */
import type { Process, World } from "../world.js";

export interface SocketFaults {
  /** Probability that arriving bytes are split into pieces. */
  readonly split: number;
  /** Probability that a piece waits for up to some seconds. */
  readonly stall: number;
  /** Probability that bytes in transit are lost when an end closes. */
  readonly cut: number;
}

export interface End {
  readonly owner: Process;
  readonly open: boolean;
  /** Whether the other end has read all that was sent. */
  readonly allRead: boolean;
  send(bytes: Buffer): void;
  /** Runs `run` once the other end has read all that was sent, unless this end closes before. */
  whenSent(run: () => void): void;
  close(): void;
  onBytes: (bytes: Buffer) => void;
  /** Called once, unless the owner is dead. */
  onClose: () => void;
}

export interface Connection {
  readonly ends: readonly [End, End];
  /**
   * Breaks the connection. Either both ends learn of it at once, or only the first one; then its
   * last bytes may arrive after it has connected again.
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
    /** What this end has sent and the other has not read. */
    let inTransit = Buffer.alloc(0);
    /** To run once the other end has read everything. */
    let whenRead: (() => void)[] = [];
    let isDelivering = false;
    let isEnding = false;
    const end = {
      owner,
      open: true,
      get allRead() {
        return outbox.length === 0 && inTransit.length === 0;
      },
      onBytes: (_: Buffer): void => {},
      onClose: (): void => {},
      send(bytes: Buffer): void {
        if (!end.open) return;
        outbox.push(bytes);
        if (outbox.length === 1) world.afterTurn(owner, end.flush);
      },
      whenSent(run: () => void): void {
        whenRead.push(run);
      },
      flush(): void {
        const bytes = outbox;
        outbox = [];
        if (!end.open || isEnding || bytes.length === 0) return;
        inTransit = Buffer.concat([inTransit, ...bytes]);
        end.deliver();
      },
      deliver(): void {
        if (isDelivering) return;
        isDelivering = true;
        const stalls = !isEnding && random.chance(faults.stall);
        if (stalls) world.count("socket stalled");
        world.after(
          stalls ? random.skewed(5, 3000) : random.between(0.02, 0.4),
          other().owner,
          () => {
            isDelivering = false;
            if (!other().open) return;
            const splits = inTransit.length > 1 && random.chance(faults.split);
            if (splits) world.count("bytes split");
            const bytes = inTransit.subarray(
              0,
              splits ? random.int(1, inTransit.length - 1) : inTransit.length,
            );
            inTransit = inTransit.subarray(bytes.length);
            if (bytes.length > 0) other().onBytes(Buffer.from(bytes));
            if (inTransit.length > 0) end.deliver();
            else if (isEnding) other().shut();
            else if (outbox.length === 0) end.noteAllRead();
          },
        );
      },
      noteAllRead(): void {
        const runs = whenRead;
        whenRead = [];
        for (const run of runs) world.after(0, owner, run);
      },
      /** Ends this side: the other end reads what still arrives, and then learns of the close. */
      leave(): void {
        if (isEnding) return;
        isEnding = true;
        end.open = false;
        if (inTransit.length > 0 && random.chance(faults.cut)) {
          world.count("bytes lost");
          inTransit = inTransit.subarray(0, random.int(0, inTransit.length - 1));
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
