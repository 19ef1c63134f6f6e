/**
 * A peer of the daemon that may say anything, and one that behaves and notices when it isn't
 * served.
 */
import { once } from "node:events";
import net from "node:net";
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { wireVersion } from "../../../shared/version.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { Execution } from "../../../shared/wire/execution.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";

export interface HostilePeer {
  readonly socket: net.Socket;
  /** What the daemon sent. */
  readonly frames: readonly (readonly unknown[])[];
  /** Resolved when the connection is gone, for whatever reason. */
  readonly closed: Promise<void>;
  /** Resolved with the first answer of this kind. */
  received(kind: string): Promise<readonly unknown[]>;
}

export const helloFrame = (proxyId: string): Buffer =>
  encodeFrame(["hello", 1, wireVersion, "proxy", proxyId, [], false]);
export const admitFrame = (id: number, path: string): Buffer =>
  encodeFrame(["admit", id, path, "authenticated", [["test", "model"]], false, 0]);

interface SettleNumbers {
  readonly tokens: number;
  readonly times?: number;
  /** Of the verdict; left out: as `times`. */
  readonly lsn?: number;
  readonly record?: Execution | null;
}

/** A settle with any numbers; `times` stands for each of its moments. */
export function settleFrame(
  seq: number,
  lease: number,
  path: string,
  { tokens, times = 0, lsn = times, record = null }: SettleNumbers,
): Buffer {
  const target = { provider: "test", model: "model" };
  return encodeFrame(
    writeToDaemon({
      kind: "settle",
      part: "request",
      seq,
      lease,
      userPath: path,
      admittedAtMs: times,
      lsn,
      target,
      targetAtMs: times,
      targetLsn: lsn,
      startedAgoMs: times,
      endedAgoMs: times,
      tokens,
      estimated: false,
      record,
    }),
  );
}

/** Msgpack bytes behind their length word. */
export function framed(body: Buffer | readonly number[]): Buffer {
  const bytes = Buffer.from(body);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export async function connectPeer(
  path: string,
  { reads = true }: { readonly reads?: boolean } = {},
): Promise<HostilePeer> {
  const socket = net.connect({ path, allowHalfOpen: true });
  const frames: (readonly unknown[])[] = [];
  const waiters = new Set<() => void>();
  const reader = createFrameReader(frameBytesMaxFromDaemon);
  // Closed by the daemon while it was still written to: that is what is looked for.
  socket.on("error", () => {});
  socket.on("end", () => socket.end());
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await once(socket, "connect");
  if (reads) {
    socket.on("data", (bytes) => {
      reader.feed(bytes, (frame) => frames.push(frame as readonly unknown[]));
      for (const waiter of waiters) waiter();
    });
  }
  return {
    socket,
    frames,
    closed,
    received(kind) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = frames.find((frame) => frame[0] === kind);
          if (found === undefined) return;
          waiters.delete(look);
          resolve(found);
        };
        waiters.add(look);
        void closed.then(() => reject(new Error(`closed before it received ${kind}`)));
        look();
      });
    },
  };
}

export interface Witness {
  /**
   * One admission after the other until `work` is done; how many were answered. Rejects when its
   * connection is closed.
   */
  whileItIsServed(work: () => Promise<void>): Promise<number>;
  end(): void;
}

/** A proxy that behaves, on a path of its own. */
export async function startWitness(path: string, userPath: string): Promise<Witness> {
  const peer = await connectPeer(path);
  let id = 1;
  let seq = 0;
  const gone = peer.closed.then(() => {
    throw new Error("the witness was closed");
  });
  gone.catch(() => {});
  peer.socket.write(helloFrame("witness"));
  await peer.received("welcome");
  const ask = async (): Promise<void> => {
    const asked = ++id;
    peer.socket.write(admitFrame(asked, userPath));
    const verdict = (): readonly unknown[] | undefined =>
      peer.frames.find((frame) => frame[0] === "admitted" && frame[1] === asked);
    while (verdict() === undefined)
      await Promise.race([new Promise((resolve) => peer.socket.once("data", resolve)), gone]);
    const lsn = verdict()![4] as number;
    peer.socket.write(settleFrame(++seq, asked, userPath, { tokens: 1, lsn }));
    (peer.frames as unknown[]).length = 0;
  };
  return {
    async whileItIsServed(work) {
      let served = 0;
      let done = false;
      const working = work().finally(() => (done = true));
      while (!done) {
        await ask();
        served++;
      }
      await working;
      await ask();
      return served + 1;
    },
    end: () => void peer.socket.end(),
  };
}
