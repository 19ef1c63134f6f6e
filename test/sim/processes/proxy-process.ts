/**
 * The proxy's limiter client, wired to a simulated socket and clock as
 * `proxy/limiter/client/connect-limiter.ts` wires it to real ones, and the requests that the proxy
 * serves: each asks for an admission, runs for a while if it may, goes to another target when one
 * fails, as in `proxy/handlers/attempts/fail-over.ts`, and is settled.
 */
import { isDeepStrictEqual } from "node:util";
import type { PeerState } from "../../../limiterd/peer.js";
import { LimiterClient } from "../../../proxy/limiter/client/limiter-client.js";
import type { Admission, AdmissionOutcome } from "../../../proxy/limiter/limiter.js";
import { frameBytesMaxFromDaemon, reconnectMs } from "../../../shared/bounds.js";
import type { FailureMode } from "../../../shared/config/config.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import { isUnnumbered, type SettledPart } from "../../../shared/wire/message-to-daemon.js";
import { parseFromDaemon } from "../../../shared/wire/parse-from-daemon.js";
import { toWire } from "../../../shared/wire/to-wire.js";
import type { WireVersions } from "../../../shared/wire/wire-versions.js";
import type { SimulatedRequest } from "../workload.js";
import type { Process, World } from "../world.js";
import type { DaemonProcess } from "./daemon-process.js";
import type { LeftSettles } from "./left-settles.js";
import { type Connection, connectSockets, type SocketFaults } from "./stream-socket.js";

export interface ProxyOptions {
  readonly world: World;
  readonly id: string;
  readonly failureMode: FailureMode;
  readonly socketFaults: SocketFaults;
  /** Those of its release. */
  readonly wireVersions: WireVersions;
  /** The daemon that runs now. */
  daemon(): DaemonProcess;
  readonly left: LeftSettles;
}

/** A request as its proxy has served it. */
export interface Served {
  readonly request: SimulatedRequest;
  outcome: AdmissionOutcome["kind"] | null;
  /**
   * What must have been charged: an attempt at each target that has failed, what the request has
   * reported on its way, then the rest of it.
   */
  readonly settles: {
    readonly part: SettledPart;
    readonly target: Target | null;
    readonly tokens: number;
  }[];
  /** Where it was when the daemon came back: it went without a verdict, and was counted then. */
  unasked: { readonly target: Target | null } | null;
}

export interface ProxyProcess {
  readonly id: string;
  readonly process: Process;
  readonly client: LimiterClient;
  readonly connection: Connection | null;
  readonly served: readonly Served[];
  serve(request: SimulatedRequest): void;
  /** SIGTERM: what it serves may end, and what isn't acknowledged then is left to others. */
  stop(): void;
  /** Whether it has stopped like that, and lost nothing. */
  readonly stopped: boolean;
  /**
   * A lease that runs here, on a standing and welcomed connection, but that the daemon doesn't
   * hold, or not at its target; or null.
   */
  unheldLease(): number | null;
  quiet(): boolean;
}

const deadlineMs = 2_000;
const settleGraceMs = 500;
/** So small that a few requests which end while the daemon is away are a backlog. */
const settleWindow = { settles: 2, unacknowledged: 5 };
/** Deadlines are looked at ten times in their length. */
const answerMsMax = deadlineMs + deadlineMs / 10 + 1;

export function startProxyProcess({
  world,
  id,
  failureMode,
  socketFaults,
  wireVersions,
  daemon,
  left,
}: ProxyOptions): ProxyProcess {
  const owner = world.process(id);
  const served: Served[] = [];
  const running = new Map<Admission, Served>();
  let connection: Connection | null = null;
  let welcomed = false;
  /** Whether the daemon takes settles of it, and nothing else. */
  let refused = false;
  let stopping = false;
  let stopped = false;
  /** Questions that wait for the daemon's answer. */
  let unanswered = 0;
  /** Settles that wait for their acknowledgement. */
  let unsettled = 0;
  world.trace(`${id} starts`);

  const client = new LimiterClient(
    {
      proxyId: id,
      monoMs: () => world.nowMs,
      schedule: (ms, run) => void world.after(ms, owner, run),
      afterTurn: (run) => world.afterTurn(owner, run),
      onLinkChange(linked) {
        welcomed = linked;
        world.trace(`${id} is ${linked ? "linked" : "not linked"}`);
      },
      onSilent: (wasLinked) => world.count(wasLinked ? "daemon silent" : "no welcome"),
      onAnswering: () => world.count("daemon answers again"),
      onLate: () => world.count("daemon late"),
      onRefused() {
        refused = true;
        world.count("proxy settles alone");
        world.trace(`${id} is of another release than the daemon`);
      },
      onDropped: () => world.fail(`${id} drops a settle`),
    },
    { deadlineMs, failureMode, settleWindow, wireVersions },
  );

  function dial(): void {
    const listener = daemon();
    if (!listener.listening) {
      world.after(reconnectMs, owner, dial);
      return;
    }
    const made = connectSockets(world, [owner, listener.process], socketFaults);
    const [end, theirs] = made.ends;
    const reader = createFrameReader(frameBytesMaxFromDaemon);
    connection = made;
    end.onBytes = (bytes) => {
      const valid = reader.feed(bytes, (frame) => {
        const message = parseFromDaemon(frame);
        if (message === null || message.kind === "unknown event")
          return world.fail(
            `the daemon sent a frame that isn't in the grammar: ${JSON.stringify(frame)}`,
          );
        client.received(message);
      });
      if (!valid) world.fail("the daemon's frames can't be read");
    };
    end.onClose = () => {
      connection = null;
      refused = false;
      client.lost();
      world.after(reconnectMs, owner, dial);
    };
    listener.accept(theirs);
    const unasked = [...running].filter(([{ lsn, submission }]) => lsn === 0 && !submission);
    client.connected({
      send: (message) => end.send(encodeFrame(toWire(message))),
      whenSent: (run) => end.whenSent(run),
      close: () => end.close(),
    });
    for (const [{ lsn, target }, entry] of unasked) if (lsn !== 0) entry.unasked = { target };
  }

  /** Waits for the daemon's answer, which must arrive in time. */
  function ask(
    what: string,
    asking: Promise<AdmissionOutcome>,
    then: (outcome: AdmissionOutcome) => void,
  ): void {
    unanswered++;
    const startedMs = world.nowMs;
    const pausedBefore = owner.pausedUntilMs;
    void asking.then((outcome) => {
      if (!owner.alive) return;
      unanswered--;
      world.count(`${what.split(" ")[0]!} ${outcome.kind}`);
      world.trace(`${id} ${what} ${outcome.kind}`);
      if (owner.pausedUntilMs === pausedBefore && world.nowMs - startedMs > answerMsMax)
        world.fail(`${what} waited ${world.nowMs - startedMs} ms for its answer`);
      then(outcome);
    });
  }

  function serve(request: SimulatedRequest): void {
    if (stopping) return;
    const entry: Served = { request, outcome: null, settles: [], unasked: null };
    served.push(entry);
    ask(
      `request ${request.number}`,
      client.admit(
        { userPath: request.path, credential: "authenticated" },
        request.targets,
        request.submission,
      ),
      (outcome) => {
        if (entry.outcome !== null) world.fail(`request ${request.number} is answered twice`);
        entry.outcome = outcome.kind;
        if (outcome.kind === "refused")
          client.noteRefusal(outcome.id, `request-${request.number}`, request.targets[0]!.model);
        if (outcome.kind !== "admitted") return;
        running.set(outcome.admission, entry);
        tryTarget(entry, outcome.admission, request.targets);
      },
    );
  }

  function tryTarget(entry: Served, admission: Admission, targets: readonly Target[]): void {
    const { request, settles } = entry;
    const failsMs = request.failsMs[settles.length];
    if (failsMs === undefined) {
      request.progress.forEach((spent, i) => {
        const afterMs = (request.lastsMs * (i + 1)) / (request.progress.length + 1);
        world.after(afterMs, owner, () => progress(entry, admission, spent));
      });
      return void world.after(request.lastsMs, owner, () => end(entry, admission, request.tokens));
    }
    world.after(failsMs, owner, () => {
      const { target } = admission;
      const untried = targets.filter((other) => other !== target);
      if (untried.length === 0) return end(entry, admission, 0);
      settles.push({ part: "attempt", target, tokens: 0 });
      ask(
        `failover of request ${request.number}`,
        client.reroute(admission, untried),
        ({ kind }) =>
          kind === "admitted" ? tryTarget(entry, admission, untried) : end(entry, admission, 0),
      );
    });
  }

  function progress(
    { settles }: Served,
    admission: Admission,
    { tokens, record }: SimulatedRequest["progress"][number],
  ): void {
    world.count("progress");
    settles.push({ part: "progress", target: admission.target, tokens });
    client.progress(admission, { tokens, estimated: false, record });
  }

  function end({ request, settles }: Served, admission: Admission, tokens: number): void {
    running.delete(admission);
    settles.push({ part: "request", target: admission.target, tokens });
    unsettled++;
    client.settle(admission, { tokens, estimated: request.cut, record: request.record }, () => {
      unsettled--;
    });
  }

  function stop(): void {
    if (unanswered + running.size + unsettled > 0) return void world.after(20, owner, stop);
    void client.drained(settleGraceMs).then(() => {
      if (!owner.alive) return;
      connection?.ends[0].close();
      const unacknowledged = client.unacknowledged();
      if (unacknowledged.count > 0) left.leave(id, unacknowledged);
      stopped = true;
      world.kill(owner);
    });
  }

  world.after(world.random.between(0, 20), owner, dial);
  left.watch(owner, daemon, socketFaults);
  return {
    id,
    process: owner,
    client,
    get connection() {
      return connection;
    },
    served,
    serve,
    stop() {
      if (stopping) return;
      stopping = true;
      stop();
    },
    get stopped() {
      return stopped;
    },
    unheldLease() {
      if (!owner.alive || connection === null || !welcomed) return null;
      const theirs = connection.ends[1];
      const peer: PeerState | undefined = theirs.open ? daemon().peerOf(theirs) : undefined;
      if (peer === undefined) return null;
      for (const { lease, lsn, target, targetLsn } of running.keys()) {
        const held = peer.leases.get(lease);
        if (
          !isUnnumbered(lsn) &&
          (held === undefined || (targetLsn !== 0 && !isDeepStrictEqual(held.target, target)))
        )
          return lease;
      }
      return null;
    },
    quiet: () =>
      unanswered === 0 &&
      running.size === 0 &&
      unsettled === 0 &&
      client.unsettled === 0 &&
      (client.reachable || refused),
  };
}
