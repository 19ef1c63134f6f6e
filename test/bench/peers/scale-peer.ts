/**
 * A proxy's side of the daemon's socket for `npm run heavy -- bench:scale`: admissions of any path,
 * each settled at once, and admin operations.
 */
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { dial } from "../../../shared/socket/ipc.js";
import { wireVersion } from "../../../shared/version.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { scaleTarget } from "../load/scale-rules.js";

export interface Load {
  readonly count: number;
  readonly inFlight: number;
  pathOf(n: number): string;
  /** What is recorded of each request; nothing if absent. */
  readonly record?: Execution;
  /** Called at each verdict. */
  onVerdict?(): void;
}

export interface LoadDone {
  readonly seconds: number;
  /** The slowest verdict. */
  readonly slowestMs: number;
}

export interface ScalePeer {
  /** Resolved: every admission has its verdict and every settle its acknowledgement. */
  run(load: Load): Promise<LoadDone>;
  /** The body of the answer; rejects when the operation failed. */
  admin(op: AdminOp, body: unknown): Promise<unknown>;
  close(): void;
}

/** Dials and says hello; resolved once it is welcome. */
export function connectPeer(path: string, proxyId: string): Promise<ScalePeer> {
  return new Promise((resolve, reject) => {
    const reader = createFrameReader(frameBytesMaxFromDaemon);
    let onMessage: (message: FromDaemon) => void = () => {};
    const connection = dial({
      path,
      mayRetry: false,
      onConnect(peer) {
        const send = (message: ToDaemon): void => peer.send(encodeFrame(writeToDaemon(message)));
        const conversation = converse(send);
        onMessage = (message) => {
          if (message.kind === "welcome")
            resolve({ ...conversation, close: () => connection.close() });
          else conversation.onMessage(message);
        };
        send({
          kind: "hello",
          id: 1,
          wireVersion,
          role: "proxy",
          proxyId,
          leases: [],
          more: false,
        });
      },
      onBytes(_peer, bytes) {
        reader.feed(bytes, (frame) => {
          const message = parseFromDaemon(frame);
          if (message !== null && message.kind !== "unknown event") onMessage(message);
        });
      },
      onClose: () => reject(new Error("the daemon closed the connection")),
      onError: reject,
    });
  });
}

function converse(
  send: (message: ToDaemon) => void,
): Pick<ScalePeer, "run" | "admin"> & { onMessage(message: FromDaemon): void } {
  let lastId = 1;
  let lastSeq = 0;
  let onVerdict: (message: FromDaemon) => void = () => {};
  const answers = new Map<number, { resolve(body: unknown): void; reject(error: Error): void }>();

  function run(load: Load): Promise<LoadDone> {
    const { count, inFlight, pathOf, record = null, onVerdict: noted } = load;
    const begun = performance.now();
    const asked = new Map<number, { readonly userPath: string; readonly atMs: number }>();
    let sent = 0;
    let verdicts = 0;
    let slowestMs = 0;
    return new Promise((resolve, reject) => {
      const next = (): void => {
        if (sent === count) return;
        const id = ++lastId;
        const userPath = pathOf(sent++);
        asked.set(id, { userPath, atMs: performance.now() });
        send({
          read: 0,
          kind: "admit",
          id,
          userPath,
          credential: "authenticated",
          targets: [scaleTarget],
          submission: false,
        });
      };
      const endIfDone = (settledSeq: number): void => {
        if (verdicts === count && settledSeq === lastSeq)
          resolve({ seconds: (performance.now() - begun) / 1000, slowestMs });
      };
      onVerdict = (message) => {
        if (message.kind === "settled") return endIfDone(message.seq);
        if (message.kind === "refused")
          return reject(new Error(`an admission was refused: ${JSON.stringify(message)}`));
        if (message.kind !== "admitted") return;
        const { userPath, atMs } = asked.get(message.id)!;
        asked.delete(message.id);
        slowestMs = Math.max(slowestMs, performance.now() - atMs);
        verdicts++;
        noted?.();
        const { id: lease, admittedAtMs, lsn } = message;
        send({
          kind: "settle",
          seq: ++lastSeq,
          part: "request",
          lease,
          userPath,
          target: scaleTarget,
          admittedAtMs,
          lsn,
          targetAtMs: admittedAtMs,
          targetLsn: lsn,
          startedAgoMs: 1,
          endedAgoMs: 0,
          tokens: 100,
          estimated: false,
          record,
        });
        next();
      };
      for (let i = 0; i < inFlight; i++) next();
    });
  }

  return {
    run,
    admin(op, body) {
      const id = ++lastId;
      send({ kind: "admin", id, op, body });
      return new Promise((resolve, reject) => answers.set(id, { resolve, reject }));
    },
    onMessage(message) {
      if (message.kind !== "answer" && message.kind !== "failed") return onVerdict(message);
      const waiting = answers.get(message.id);
      answers.delete(message.id);
      if (message.kind === "answer") waiting?.resolve(message.body);
      else waiting?.reject(new Error(JSON.stringify(message.failure)));
    },
  };
}
