/**
 * The proxy's limiter client, wired to a simulated socket and clock as
 * `proxy/limiter/client/connect-limiter.ts` wires it to real ones. What the proxy serves is in
 * `served-requests.ts`.
 */
import { isDeepStrictEqual } from "node:util";
import type { PeerState } from "../../../limiterd/peer.js";
import { LimiterClient } from "../../../proxy/limiter/client/limiter-client.js";
import { frameBytesMaxFromDaemon, reconnectMs } from "../../../shared/bounds.js";
import type { FailureMode } from "../../../shared/config/config.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import { isUnnumbered, uncountedLsn } from "../../../shared/wire/lsn.js";
import { parseFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type { WireVersions } from "../../../shared/wire/wire-versions.js";
import type { SimulatedRequest } from "../workload.js";
import type { Process, World } from "../world.js";
import type { DaemonProcess } from "./daemon-process.js";
import type { LeftSettles } from "./left-settles.js";
import { deadlineMs, type Served, ServedRequests } from "./served-requests.js";
import { type Connection, connectSockets, type End, type SocketFaults } from "./stream-socket.js";

export interface ProxyOptions {
  readonly world: World;
  readonly id: string;
  readonly failureMode: FailureMode;
  readonly socketFaults: SocketFaults;
  /** Those of its release. */
  readonly wireVersions: WireVersions;
  /** The daemon that runs now. */
  daemon(): DaemonProcess;
  /** A verdict that admits is read; of its connection, the daemon's end. */
  onVerdictRead(end: object): void;
  /** A target has failed, and the daemon is asked for the next one. */
  onReroute(): void;
  readonly left: LeftSettles;
}

const settleGraceMs = 500;
/** So small that a few requests which end while the daemon is away are a backlog. */
const settleWindow = { settles: 2, unacknowledged: 5 };

export class ProxyProcess {
  readonly id: string;
  readonly process: Process;
  readonly client: LimiterClient;
  readonly #options: ProxyOptions;
  readonly #requests: ServedRequests;
  #connection: Connection | null = null;
  #welcomed = false;
  /** Whether the daemon takes settles of it, and nothing else. */
  #refused = false;
  #stopping = false;
  #stopped = false;

  constructor(options: ProxyOptions) {
    const { world, id, left, daemon, socketFaults, onReroute } = options;
    this.id = id;
    this.#options = options;
    this.process = world.process(id);
    world.trace(`${id} starts`);
    this.client = this.#newClient();
    this.#requests = new ServedRequests(world, this.process, this.client, onReroute);
    world.after(world.random.between(0, 20), this.process, () => this.#dial());
    left.watch(this.process, daemon, socketFaults);
  }

  get connection(): Connection | null {
    return this.#connection;
  }

  get served(): readonly Served[] {
    return this.#requests.all;
  }

  serve(request: SimulatedRequest): void {
    if (!this.#stopping) this.#requests.serve(request);
  }

  /** SIGTERM: what it serves may end, and what isn't acknowledged then is left to others. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#stopWhenServed();
  }

  /** Whether it has stopped like that, and lost nothing. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /**
   * A lease that runs here, on a standing and welcomed connection, but that the daemon doesn't
   * hold, or not at its target; or null.
   */
  unheldLease(): number | null {
    if (!this.process.alive || this.#connection === null || !this.#welcomed) return null;
    const theirs = this.#connection.ends[1];
    const peer: PeerState | undefined = theirs.open
      ? this.#options.daemon().peerOf(theirs)
      : undefined;
    if (peer === undefined) return null;
    const { world, id, daemon } = this.#options;
    const answers = this.client.state === "connected";
    const hasRead = this.#connection.ends[0].allRead && daemon().state?.stopping === false;
    for (const { lease, lsn, target, targetLsn, submission } of this.#requests.admissions()) {
      const isUnreported = lsn === 0 || (target !== null && targetLsn === 0);
      if (isUnreported && answers && !submission)
        return world.fail(`a request runs on ${id} that the daemon isn't told of`);
      // It is told by a frame that is still on its way, or that a stopping daemon passes over.
      const isReported = lsn === uncountedLsn || targetLsn === uncountedLsn;
      if (isUnnumbered(lsn) || (isReported && !hasRead)) continue;
      const held = peer.leases.get(lease);
      if (
        held === undefined ||
        (!isUnnumbered(targetLsn) && !isDeepStrictEqual(held.target, target))
      )
        return lease;
    }
    return null;
  }

  quiet(): boolean {
    return (
      this.#requests.open === 0 &&
      this.client.unsettled === 0 &&
      (this.client.reachable || this.#refused)
    );
  }

  #newClient(): LimiterClient {
    const { world, id, failureMode, wireVersions } = this.#options;
    return new LimiterClient(
      {
        proxyId: id,
        monoMs: () => world.nowMs,
        schedule: (ms, run) => void world.after(ms, this.process, () => this.#noting(run)),
        afterTurn: (run) => world.afterTurn(this.process, run),
        onLinkChange: (linked) => {
          this.#welcomed = linked;
          world.trace(`${id} is ${linked ? "linked" : "not linked"}`);
        },
        onSilent: (wasLinked) => world.count(wasLinked ? "daemon silent" : "no welcome"),
        onAnswering: () => world.count("daemon answers again"),
        onLate: () => world.count("daemon late"),
        onRefused: () => {
          this.#refused = true;
          world.count("proxy settles alone");
          world.trace(`${id} is of another release than the daemon`);
        },
        onDropped: () => world.fail(`${id} drops a settle`),
      },
      { deadlineMs, failureMode, settleWindow, wireVersions },
    );
  }

  #dial(): void {
    const { world, socketFaults } = this.#options;
    const listener = this.#options.daemon();
    if (!listener.listening) return this.#dialLater();
    this.#connection = connectSockets(world, [this.process, listener.process], socketFaults);
    const [end, theirs] = this.#connection.ends;
    this.#readFrom(end, theirs);
    end.onClose = () => {
      this.#connection = null;
      this.#refused = false;
      this.client.onDisconnect();
      this.#dialLater();
    };
    listener.accept(theirs);
    this.#noting(() =>
      this.client.onConnect({
        send: (message) => end.send(encodeFrame(writeToDaemon(message))),
        whenSent: (run) => end.whenSent(run),
        close: () => end.close(),
      }),
    );
  }

  #noting(step: () => void): void {
    step();
    this.#requests.noteTold();
  }

  #dialLater(): void {
    this.#options.world.after(reconnectMs, this.process, () => this.#dial());
  }

  #readFrom(end: End, theirs: End): void {
    const { world, onVerdictRead } = this.#options;
    const reader = createFrameReader(frameBytesMaxFromDaemon);
    end.onBytes = (bytes) => {
      const valid = reader.feed(bytes, (frame) => {
        const message = parseFromDaemon(frame);
        if (message === null || message.kind === "unknown event")
          return world.fail(
            `the daemon sent a frame that isn't in the grammar: ${JSON.stringify(frame)}`,
          );
        if (message.kind === "admitted") onVerdictRead(theirs);
        this.#noting(() => this.client.onMessage(message, world.nowMs));
      });
      if (!valid) world.fail("the daemon's frames can't be read");
    };
  }

  #stopWhenServed(): void {
    const { world, left } = this.#options;
    if (this.#requests.open > 0)
      return void world.after(20, this.process, () => this.#stopWhenServed());
    void this.client.untilDrained(settleGraceMs).then(() => {
      if (!this.process.alive) return;
      this.#connection?.ends[0].close();
      const unacknowledged = this.client.unacknowledged();
      if (unacknowledged.count > 0) left.leave(this.id, unacknowledged);
      this.#stopped = true;
      world.kill(this.process);
    });
  }
}
