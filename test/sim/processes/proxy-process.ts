/**
 * The proxy's limiter client, wired to a simulated socket and clock as
 * `proxy/limiter/client/connect-limiter.ts` wires it to real ones. Not here: the requests that the
 * proxy serves (`served-requests.ts`).
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
  /** The versions of its release. */
  readonly wireVersions: WireVersions;
  /** The daemon that runs now. */
  daemon(): DaemonProcess;
  /** Called when an admission was read, with the daemon's end of its connection. */
  onVerdictRead(end: object): void;
  /** Called when a target has failed and the daemon is asked for the next one. */
  onReroute(): void;
  readonly left: LeftSettles;
}

const settleGraceMs = 500;
/** So small that a few requests make a backlog if they end while the daemon is away. */
const settleWindow = { settles: 2, unacknowledged: 5 };

export class ProxyProcess {
  readonly id: string;
  readonly process: Process;
  readonly client: LimiterClient;
  readonly #options: ProxyOptions;
  readonly #requests: ServedRequests;
  #connection: Connection | null = null;
  #isWelcomed = false;
  /** Whether the daemon takes only its settles. */
  #isRefused = false;
  #isStopping = false;
  #isStopped = false;

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
    if (!this.#isStopping) this.#requests.serve(request);
  }

  /**
   * SIGTERM: running requests may end; settles that aren't acknowledged then are left to others.
   */
  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopWhenServed();
  }

  /** Whether `stop` has ended it, so that it lost nothing. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /**
   * A lease that runs here on a welcomed connection, although the daemon doesn't hold it, or not at
   * its target; null if there is none.
   */
  unheldLease(): number | null {
    if (!this.process.alive || this.#connection === null || !this.#isWelcomed) return null;
    const daemonEnd = this.#connection.ends[1];
    const peer: PeerState | undefined = daemonEnd.open
      ? this.#options.daemon().peerOf(daemonEnd)
      : undefined;
    if (peer === undefined) return null;
    const { world, id, daemon } = this.#options;
    const isAnswering = this.client.state === "connected";
    const hasRead = this.#connection.ends[0].allRead && daemon().state?.isStopping === false;
    for (const { lease, lsn, target, targetLsn, submission } of this.#requests.admissions()) {
      const isUnreported = lsn === 0 || (target !== null && targetLsn === 0);
      if (isUnreported && isAnswering && !submission)
        return world.fail(`a request runs on ${id} that the daemon isn't told of`);
      // The frame that reports it may be in transit, or a stopping daemon may ignore it.
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

  isQuiet(): boolean {
    return (
      this.#requests.openCount === 0 &&
      this.client.unsettled === 0 &&
      (this.client.reachable || this.#isRefused)
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
          this.#isWelcomed = linked;
          world.trace(`${id} is ${linked ? "linked" : "not linked"}`);
        },
        onSilent: (wasLinked) => world.count(wasLinked ? "daemon silent" : "no welcome"),
        onAnswering: () => world.count("daemon answers again"),
        onLate: () => world.count("daemon late"),
        onRefused: () => {
          this.#isRefused = true;
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
    const [end, daemonEnd] = this.#connection.ends;
    this.#readFrom(end, daemonEnd);
    end.onClose = () => {
      this.#connection = null;
      this.#isRefused = false;
      this.client.onDisconnect();
      this.#dialLater();
    };
    listener.accept(daemonEnd);
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

  #readFrom(end: End, daemonEnd: End): void {
    const { world, onVerdictRead } = this.#options;
    const reader = createFrameReader(frameBytesMaxFromDaemon);
    end.onBytes = (bytes) => {
      const valid = reader.feed(bytes, (frame) => {
        const message = parseFromDaemon(frame);
        if (message === null || message.kind === "unknown event")
          return world.fail(
            `the daemon sent a frame that isn't in the grammar: ${JSON.stringify(frame)}`,
          );
        if (message.kind === "admitted") onVerdictRead(daemonEnd);
        this.#noting(() => this.client.onMessage(message, world.nowMs));
      });
      if (!valid) world.fail("the daemon's frames can't be read");
    };
  }

  #stopWhenServed(): void {
    const { world, left } = this.#options;
    if (this.#requests.openCount > 0)
      return void world.after(20, this.process, () => this.#stopWhenServed());
    void this.client.untilDrained(settleGraceMs).then(() => {
      if (!this.process.alive) return;
      this.#connection?.ends[0].close();
      const unacknowledged = this.client.unacknowledged();
      if (unacknowledged.count > 0) left.leave(this.id, unacknowledged);
      this.#isStopped = true;
      world.kill(this.process);
    });
  }
}
