/** The daemon behind the admission port, as a proxy sees it: the real socket, the real frames. */
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { dial } from "../../../shared/socket/ipc.js";
import type { Peer } from "../../../shared/socket/socket-peer.js";
import { wireVersion } from "../../../shared/version.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { Admitted } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { type AdmissionEvents, type AdmissionPort, unattended } from "./admission-port.js";
import { leastCap, tenantPath, tokensPerSettle } from "./limiter-rules.js";

const provider = "bench";
const model = "bench-model";
const targets = [{ provider, model }];

/** What the proxy reports about a request for its usage record. */
export const executed: Execution = {
  requestId: "req_bench",
  endpoint: "/v1/chat/completions",
  provider,
  providerType: "openai",
  model,
  status: 200,
  inputTokens: tokensPerSettle,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  inputCost: 3_000_000 * tokensPerSettle,
  outputCost: 0,
  totalCost: 3_000_000 * tokensPerSettle,
  cacheHit: false,
  rewriteTokensSaved: 0,
  rewriteCostSaved: null,
  latencyMs: 1,
  firstByteMs: 1,
  requestedModel: "",
  session: "",
  details: null,
  atMost: null,
  responseId: "",
  keyId: "",
};

interface Slot {
  readonly userPath: string;
  readonly lease: number;
  admittedAtMs: number;
  lsn: number;
}

/**
 * Dials the daemon's socket; resolves once the daemon has sent `welcome`. `cap`: of the rule that
 * has the least left.
 */
export function connectDaemon(path: string, cap = leastCap): Promise<AdmissionPort> {
  const reader = createFrameReader(frameBytesMaxFromDaemon);
  return new Promise((resolve, reject) => {
    let port: DaemonPort | null = null;
    dial({
      path,
      mayRetry: false,
      onConnect(peer) {
        port = new DaemonPort(peer, cap, resolve);
      },
      onBytes(_peer, bytes) {
        if (!reader.feed(bytes, (frame) => port?.onFrame(frame)))
          port?.events.onLost(new Error("the daemon broke the framing"));
      },
      onClose() {
        const gone = new Error("the daemon closed the connection");
        reject(gone);
        port?.events.onLost(gone);
      },
      onError: reject,
    });
  });
}

class DaemonPort implements AdmissionPort {
  events: AdmissionEvents = unattended;
  readonly #peer: Peer;
  readonly #cap: number;
  readonly #onWelcome: (port: AdmissionPort) => void;
  readonly #slots: Slot[] = [];
  readonly #slotOfId = new Map<number, number>();
  #lastId = 0;
  #lastSeq = 0;
  #settledSeq = 0;
  #rulesAreSeen = false;

  constructor(peer: Peer, cap: number, onWelcome: (port: AdmissionPort) => void) {
    this.#peer = peer;
    this.#cap = cap;
    this.#onWelcome = onWelcome;
    const hello = {
      kind: "hello",
      id: ++this.#lastId,
      wireVersion,
      role: "proxy",
      proxyId: `bench-${process.pid}`,
      leases: [],
      more: false,
    } as const;
    peer.send(encodeFrame(writeToDaemon(hello)));
  }

  admit(slot: number, tenant: number): void {
    const id = ++this.#lastId;
    const userPath = tenantPath(tenant);
    this.#slots[slot] = { userPath, lease: id, admittedAtMs: 0, lsn: 0 };
    this.#slotOfId.set(id, slot);
    this.#peer.send(
      encodeFrame(
        writeToDaemon({
          read: 0,
          kind: "admit",
          id,
          userPath,
          credential: "authenticated",
          targets,
          submission: false,
        }),
      ),
    );
  }

  settle(slot: number): void {
    const held = this.#slots[slot]!;
    const settle = {
      kind: "settle",
      seq: ++this.#lastSeq,
      part: "request",
      lease: held.lease,
      userPath: held.userPath,
      target: targets[0]!,
      admittedAtMs: held.admittedAtMs,
      lsn: held.lsn,
      targetAtMs: held.admittedAtMs,
      targetLsn: held.lsn,
      startedAgoMs: 1,
      endedAgoMs: 0,
      tokens: tokensPerSettle,
      estimated: false,
      record: executed,
    } as const;
    this.#peer.send(encodeFrame(writeToDaemon(settle)));
  }

  async prepare(): Promise<void> {
    // Its snapshots are periodic and belong to what is measured.
  }

  onFrame(frame: unknown): void {
    const message = parseFromDaemon(frame);
    switch (message?.kind) {
      case "admitted":
        return this.#onAdmitted(message);
      case "refused":
        return this.events.onVerdict(this.#endWait(message.id), false);
      case "settled": {
        const settles = message.seq - this.#settledSeq;
        this.#settledSeq = message.seq;
        return this.events.onSettled(settles);
      }
      case "welcome":
        return this.#onWelcome(this);
      case "event":
        return;
      case "failed":
        if (message.failure.code === "cluster_unavailable" && this.events.onUnavailable)
          return this.events.onUnavailable(this.#endWait(message.id));
        return this.events.onLost(new Error(message.failure.message));
      default:
        return this.events.onLost(new Error(`the daemon answered ${JSON.stringify(frame)}`));
    }
  }

  #onAdmitted(message: Admitted): void {
    const slot = this.#endWait(message.id);
    if (!this.#rulesAreSeen) {
      const limit = message.headers?.requests?.limit;
      if (limit !== this.#cap)
        return this.events.onLost(
          new Error(
            `the daemon's first admission names the limit ${limit}, not ${this.#cap}: the rules aren't in force`,
          ),
        );
      this.#rulesAreSeen = true;
    }
    const held = this.#slots[slot]!;
    held.admittedAtMs = message.admittedAtMs;
    held.lsn = message.lsn;
    this.events.onVerdict(slot, true);
  }

  #endWait(id: number): number {
    const slot = this.#slotOfId.get(id);
    if (slot === undefined)
      throw new Error(`the daemon sent a verdict on ${id}, which was never requested`);
    this.#slotOfId.delete(id);
    return slot;
  }
}
