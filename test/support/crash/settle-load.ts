/**
 * A proxy that does nothing but report executed requests to a daemon, as fast as the
 * daemon writes them down.
 */
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { dial } from "../../../shared/socket/ipc.js";
import type { Peer } from "../../../shared/socket/socket-peer.js";
import { wireVersion } from "../../../shared/version.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { Execution } from "../../../shared/wire/execution.js";
import { parseFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";

export interface ExecutedRequest {
  readonly userPath: string;
  readonly record: Execution;
}

/** Settles on their way at once: below what the daemon would close a peer for. */
const chunk = 5_000;

/** Resolves once `count` requests are durable. */
export async function settleMany(
  socketPath: string,
  count: number,
  make: (index: number) => ExecutedRequest,
  /** Of one that has settled before, the daemon takes them for repeated. */
  proxyId = "settle-load",
): Promise<void> {
  let durable = 0;
  let onReceived = (): void => {};
  const reader = createFrameReader(frameBytesMaxFromDaemon);
  const link = await new Promise<{ peer: Peer; close(): void }>((resolve, reject) => {
    const dialed = dial({
      path: socketPath,
      mayRetry: false,
      onError: reject,
      onClose: () => {},
      onConnect: (peer) => {
        say(peer, {
          kind: "hello",
          id: 1,
          wireVersion,
          role: "proxy",
          proxyId,
          leases: [],
          more: false,
        });
        onReceived = () => resolve({ peer, close: () => dialed.close() });
      },
      onBytes: (_peer, bytes) =>
        void reader.feed(bytes, (frame) => {
          const message = parseFromDaemon(frame);
          if (message?.kind === "settled") durable = message.seq;
          if (message?.kind === "settled" || message?.kind === "welcome") onReceived();
        }),
    });
  });
  for (let sent = 0; sent < count; ) {
    const upTo = Math.min(count, sent + chunk);
    while (sent < upTo) say(link.peer, settleOf(++sent, make(sent - 1)));
    while (durable < upTo) await new Promise<void>((resolve) => (onReceived = resolve));
  }
  link.close();
}

function say(peer: Peer, message: ToDaemon): void {
  peer.send(encodeFrame(writeToDaemon(message)));
}

function settleOf(seq: number, { userPath, record }: ExecutedRequest): ToDaemon {
  const target = { provider: record.provider, model: record.model };
  return {
    kind: "settle",
    seq,
    part: "request",
    lease: 0,
    userPath,
    admittedAtMs: 0,
    lsn: 0,
    target,
    targetAtMs: 0,
    targetLsn: 0,
    startedAgoMs: 0,
    endedAgoMs: 0,
    tokens: record.inputTokens + record.outputTokens,
    estimated: false,
    record,
  };
}
