/** Joins the limiter client to the daemon's socket: bytes to messages and back. */
import { randomUUID } from "node:crypto";
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import type { Config } from "../../../shared/config/config.js";
import { createThrottledCount, type Log } from "../../../shared/log.js";
import { dial } from "../../../shared/socket/ipc.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon, UnknownEvent } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon } from "../../../shared/wire/parse-from-daemon.js";
import { toWire } from "../../../shared/wire/to-wire.js";
import { asBrokenLimiterState } from "../broken-limiter-state.js";
import type { Limiter } from "../limiter.js";
import type { UnacknowledgedSettles } from "../settle-backlog.js";
import { LimiterClient } from "./limiter-client.js";

/**
 * How long a start waits for the daemon before the proxy reports that it is ready; after that it
 * serves by its failure mode.
 */
const firstLinkMs = 2_000;

interface ConnectedLimiter {
  readonly proxyId: string;
  readonly client: Limiter;
  /** Resolves once the daemon is there, or after `firstLinkMs`. */
  readonly linkedInTime: Promise<void>;
  close(): void;
  /** Once closed: what the daemon hasn't acknowledged. */
  left(): UnacknowledgedSettles;
}

/** Connects, and connects again whenever the connection is lost, until closed. */
export function connectLimiter(
  config: Config["limiter"],
  log: Log,
  onLinkChange: (linked: boolean) => void = () => {},
): ConnectedLimiter {
  let linkedOrLate: () => void = () => {};
  const linkedInTime = new Promise<void>((resolve) => {
    linkedOrLate = resolve;
    setTimeout(resolve, firstLinkMs).unref();
  });
  let closing = false;
  let lastError = "";
  /** An attempt is made ten times a second: a reason is logged when it differs from the last. */
  const logOnce = (reason: string, message: string): void => {
    if (reason === lastError || closing) return;
    lastError = reason;
    log.warn({ socket: config.socket, reason }, message);
  };
  const schedule = (ms: number, run: () => void): void =>
    void setTimeout(orBroken, ms, run).unref();
  const proxyId = randomUUID();
  const seen = { socket: config.socket, failure_mode: config.failureMode };
  const client = new LimiterClient(
    {
      proxyId,
      monoMs: () => performance.now(),
      schedule,
      afterTurn: (run) => void setImmediate(run),
      onLinkChange(linked) {
        if (closing) return;
        lastError = "";
        if (linked) log.info({ socket: config.socket }, "connected to the limiter daemon");
        else log.warn(seen, "lost the limiter daemon");
        linkedOrLate();
        onLinkChange(linked);
      },
      onSilent: (wasLinked) =>
        log.warn(
          seen,
          wasLinked
            ? "the limiter daemon is silent: until it answers, requests don't wait for it"
            : "the limiter daemon takes the connection, but doesn't welcome this proxy",
        ),
      onAnswering: (silentMs) =>
        log.info(
          { socket: config.socket, seconds: Math.round(silentMs / 100) / 10 },
          "the limiter daemon answers again",
        ),
      onLate: createThrottledCount(schedule, (questions) =>
        log.warn({ ...seen, questions }, "the limiter daemon doesn't answer in time"),
      ),
      onRefused: (message) =>
        logOnce(
          message,
          "the limiter daemon is of another release: it takes this proxy's settles alone",
        ),
      onDropped: createThrottledCount(schedule, (settles) =>
        log.error(
          { settles },
          "too many settles wait for the limiter daemon: the oldest are dropped",
        ),
      ),
    },
    config,
  );
  const noteUnreadable = createThrottledCount(schedule, (frames) =>
    log.error(
      { socket: config.socket, frames },
      "the limiter daemon sent a frame that can't be read",
    ),
  );
  let reader = createFrameReader(frameBytesMaxFromDaemon);
  const link = dial({
    path: config.socket,
    adminPath: config.adminSocket,
    retry: true,
    onConnect(peer) {
      reader = createFrameReader(frameBytesMaxFromDaemon);
      orBroken(() =>
        client.connected({
          send: (message) => peer.send(encodeFrame(toWire(message))),
          whenSent: (run) => peer.whenSent(() => orBroken(run)),
          close: () => peer.close(),
        }),
      );
    },
    onBytes(peer, bytes) {
      const valid = reader.feed(bytes, (frame) => {
        const message = parseFromDaemon(frame);
        if (message === null) noteUnreadable();
        receive(client, message);
      });
      if (!valid) peer.close();
    },
    onClose: () => orBroken(() => client.lost()),
    onError: (error) => logOnce(error.code ?? error.message, "the limiter daemon can't be reached"),
  });
  return {
    proxyId,
    client,
    linkedInTime,
    close() {
      closing = true;
      link.close();
    },
    left: () => client.unacknowledged(),
  };
}

function receive(client: LimiterClient, message: FromDaemon | UnknownEvent | null): void {
  try {
    client.received(message);
  } catch (error) {
    throw asBrokenLimiterState(error);
  }
}

function orBroken(step: () => void): void {
  try {
    step();
  } catch (error) {
    throw asBrokenLimiterState(error);
  }
}
