/**
 * A Unix socket between one proxy and the daemon that reads along and can hold back what passes. It
 * stands for the kernel's socket buffer on a bad day: what is held counts as written and not yet
 * read. So it reaches a reader who outlives its writer, and is lost with a reader who dies.
 */
import { once } from "node:events";
import net from "node:net";
import { decodeValue } from "../../../shared/wire/codec.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { SettledPart } from "../../../shared/wire/message-to-daemon.js";
import { parseToDaemon } from "../../../shared/wire/message-to-daemon.js";

/** `up` is towards the daemon. */
export type Direction = "up" | "down";

export interface SettleSeen {
  readonly part: SettledPart;
  readonly userPath: string;
  readonly tokens: number;
  readonly estimated: boolean;
  readonly record: Execution | null;
}

/** What passed in this proxy's life, however often it reconnected or repeated itself. */
export interface Ledger {
  /** The paths of the admissions that the daemon granted, by their ids. */
  readonly granted: ReadonlyMap<number, string>;
  /** Those of the admissions that were asked for and never answered. */
  readonly unanswered: ReadonlyMap<number, string>;
  /** By their numbers. */
  readonly settles: ReadonlyMap<number, SettleSeen>;
  /** The last settle that the daemon called durable. */
  readonly ackedSeq: number;
  /** Settles that came on a connection before, so that the daemon may have had them already. */
  readonly repeatedSettles: number;
}

export interface Relay {
  readonly socket: string;
  readonly ledger: Ledger;
  /**
   * From the next frame of this kind on, nothing passes in this direction. Resolved when that frame
   * is held.
   */
  hold(direction: Direction, kind: string): Promise<void>;
  /** What is held passes, and so does all that follows. */
  resume(): void;
  /** Resolved when so many more frames have passed, in either direction. */
  passed(frames: number): Promise<void>;
  /**
   * Resolved when every admission that was granted has its settle, and every settle is durable;
   * rejects when that takes too long.
   */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Many times what a busy machine takes, and a delivery by another proxy. */
const settledDeadlineMs = 60_000;

interface Hold {
  readonly kind: string;
  readonly reached: () => void;
}

/** What takes notes of a proxy's frames, by the proxy's id. */
export type NotesByProxy = Map<string, (frame: readonly unknown[]) => void>;

/**
 * Listens at `socket` for one proxy and connects each of its connections to the daemon at
 * `daemonSocket`. What a stopped proxy has left another one delivers, on a connection of its own
 * and under the first one's name: relays with the same `notes` enter it where it belongs.
 */
export async function startRelay(
  socket: string,
  daemonSocket: string,
  notes: NotesByProxy = new Map(),
): Promise<Relay> {
  const unanswered = new Map<number, string>();
  const granted = new Map<number, string>();
  const settles = new Map<number, SettleSeen>();
  const ledger = { granted, unanswered, settles, ackedSeq: 0, repeatedSettles: 0 };
  const holds = new Map<Direction, Hold>();
  const links = new Set<Link>();
  const waiters: (() => void)[] = [];
  let passing: { readonly goal: number; readonly resolve: () => void }[] = [];
  let frames = 0;
  let ended = 0;
  const isSettled = (): boolean => granted.size === ended && ledger.ackedSeq === settles.size;
  const note = (frame: readonly unknown[]): void => {
    const [kind, id] = frame as [string, number];
    frames++;
    passing = passing.filter(({ goal, resolve }) => frames < goal || resolve());
    if (kind === "admit") unanswered.set(id, frame[2] as string);
    // Not those of a reroute: its request was granted before.
    if (kind === "admitted" && unanswered.has(id)) granted.set(id, unanswered.get(id)!);
    if (kind === "admitted" || kind === "refused") unanswered.delete(id);
    if (kind === "settled") ledger.ackedSeq = Math.max(ledger.ackedSeq, id);
    if (kind === "welcome") ledger.ackedSeq = Math.max(ledger.ackedSeq, frame[3] as number);
    if (isSettled()) for (const resolve of waiters.splice(0)) resolve();
    if (kind !== "settle") return;
    if (settles.has(id)) ledger.repeatedSettles++;
    const settle = parseToDaemon(frame);
    if (settle?.kind !== "settle")
      throw new Error(`a settle that can't be read: ${JSON.stringify(frame)}`);
    const { part, userPath, tokens, estimated, record } = settle;
    if ((part === "request" || part === "withdrawn") && !settles.has(id)) ended++;
    settles.set(id, { part, userPath, tokens, estimated, record });
  };
  const server = net.createServer({ allowHalfOpen: true }, (fromProxy) => {
    const toDaemon = net.connect({ path: daemonSocket, allowHalfOpen: true });
    const link: Link = { up: newLane(fromProxy, toDaemon), down: newLane(toDaemon, fromProxy) };
    links.add(link);
    let noteOfLink = note;
    const noteFrame = (frame: readonly unknown[]): void => {
      if (frame[0] === "hello") {
        const proxyId = frame[4] as string;
        noteOfLink = notes.get(proxyId) ?? note;
        notes.set(proxyId, noteOfLink);
      }
      noteOfLink(frame);
    };
    for (const direction of ["up", "down"] as const)
      pump(link[direction], () => holds.get(direction), noteFrame);
    for (const end of [fromProxy, toDaemon]) {
      // A refused connection, or a reset: its `close` says all there is to say.
      end.on("error", () => {});
      end.on("close", () => links.delete(link));
    }
  });
  server.listen(socket);
  await once(server, "listening");
  return {
    socket,
    ledger,
    hold: (direction, kind) =>
      new Promise((resolve) => holds.set(direction, { kind, reached: resolve })),
    passed: (more) => new Promise((resolve) => passing.push({ goal: frames + more, resolve })),
    resume() {
      holds.clear();
      for (const link of links) for (const lane of [link.up, link.down]) release(lane);
    },
    settled() {
      if (isSettled()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const deadline = setTimeout(
          () =>
            reject(
              new Error(
                `granted ${granted.size}, settled ${settles.size}, durable ${ledger.ackedSeq}`,
              ),
            ),
          settledDeadlineMs,
        );
        waiters.push(() => {
          clearTimeout(deadline);
          resolve();
        });
      });
    },
    async close() {
      for (const link of links) for (const lane of [link.up, link.down]) lane.from.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

type Link = Readonly<Record<Direction, Lane>>;

/** One direction of one connection. */
interface Lane {
  readonly from: net.Socket;
  readonly to: net.Socket;
  /** The beginning of a frame. */
  rest: Buffer;
  /** Frames that are held back; null while all passes. */
  held: Buffer[] | null;
}

const newLane = (from: net.Socket, to: net.Socket): Lane => ({
  from,
  to,
  rest: Buffer.alloc(0),
  held: null,
});

function pump(
  lane: Lane,
  holding: () => Hold | undefined,
  note: (frame: readonly unknown[]) => void,
): void {
  lane.from.on("data", (bytes: Buffer) => {
    lane.rest = Buffer.concat([lane.rest, bytes]);
    while (lane.rest.length >= 4 && lane.rest.length >= 4 + lane.rest.readUInt32BE(0)) {
      const bytesOfFrame = lane.rest.subarray(0, 4 + lane.rest.readUInt32BE(0));
      lane.rest = lane.rest.subarray(bytesOfFrame.length);
      const frame = decodeValue(bytesOfFrame.subarray(4)) as readonly unknown[];
      note(frame);
      const hold = holding();
      if (lane.held === null && hold?.kind === frame[0]) {
        lane.held = [];
        hold!.reached();
      }
      if (lane.held === null) lane.to.write(bytesOfFrame);
      else lane.held.push(bytesOfFrame);
    }
  });
  // The writer is gone, perhaps with bytes unread, which makes an error of its end: what it wrote
  // still reaches the reader, and then the end does.
  lane.from.on("close", () => {
    release(lane);
    lane.to.destroySoon();
  });
  lane.from.on("end", () => {
    release(lane);
    lane.to.end();
  });
}

function release(lane: Lane): void {
  const { held } = lane;
  lane.held = null;
  if (held !== null && held.length > 0 && lane.to.writable) lane.to.write(Buffer.concat(held));
}
