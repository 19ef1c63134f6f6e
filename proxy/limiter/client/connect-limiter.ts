/** Connects the limiter client to the daemon's socket: bytes to messages and back, and its log. */
import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import type { Config } from "../../../shared/config/config.js";
import { createThrottledCount, type Log } from "../../../shared/log.js";
import { dial } from "../../../shared/socket/ipc.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import {
  type FromDaemon,
  parseFromDaemon,
  type UnknownEvent,
} from "../../../shared/wire/message-from-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { asBrokenLimiterState } from "../broken-limiter-state.js";
import type { Limiter } from "../client/limiter-client.js";
import type { UnacknowledgedSettles } from "../settle-outbox.js";
import { LimiterClient } from "./limiter-client.js";

/**
 * How long a starting proxy waits for the daemon before it reports ready; after that it serves by
 * its failure mode.
 */
const firstLinkMs = 2_000;

interface ConnectedLimiter {
  readonly proxyId: string;
  readonly client: Limiter;
  /** Connects, and reconnects after each loss until closed. Call it once. */
  dial(): void;
  /** Resolves once the daemon is linked, or `firstLinkMs` after `dial`. */
  readonly linkedInTime: Promise<void>;
  close(): void;
  /** After closing: the settles that the daemon hasn't acknowledged. */
  unacknowledged(): UnacknowledgedSettles;
}

/** `name` prefixes the id by which the daemon knows this proxy. */
export function connectLimiter(
  config: Config["limiter"],
  log: Log,
  onLinkChange: (isLinked: boolean) => void = () => {},
  name = "proxy",
): ConnectedLimiter {
  let resolveLinked: () => void = () => {};
  const linkedInTime = new Promise<void>((resolve) => {
    resolveLinked = resolve;
  });
  const schedule = (ms: number, run: () => void): void =>
    void setTimeout(orThrowBroken, ms, run).unref();
  const proxyId = `${name}-${randomUUID()}`;
  const linkLog = createLinkLog(config, log, (report) => createThrottledCount(schedule, report));
  const client = new LimiterClient(
    {
      ...linkLog,
      proxyId,
      monoMs: () => performance.now(),
      schedule,
      afterTurn: (run) => void setImmediate(run),
      onLinkChange(isLinked) {
        if (!linkLog.onLinkChange(isLinked)) return;
        resolveLinked();
        onLinkChange(isLinked);
      },
    },
    config,
  );
  let reader = createFrameReader(frameBytesMaxFromDaemon);
  const open = (): ReturnType<typeof dial> =>
    dial({
      path: config.socket,
      adminPath: config.adminSocket,
      mayRetry: true,
      onConnect(peer) {
        reader = createFrameReader(frameBytesMaxFromDaemon);
        orThrowBroken(() =>
          client.onConnect({
            send: (message) => peer.send(encodeFrame(writeToDaemon(message))),
            whenSent: (run) => peer.whenSent(() => orThrowBroken(run)),
            close: () => peer.close(),
          }),
        );
      },
      onBytes(peer, bytes) {
        const nowMonoMs = performance.now();
        const isValid = reader.feed(bytes, (frame) => {
          const message = parseFromDaemon(frame);
          if (message === null) linkLog.onUnreadable();
          receive(client, message, nowMonoMs);
        });
        if (!isValid) peer.close();
      },
      onClose: () => orThrowBroken(() => client.onDisconnect()),
      onError: (error) => linkLog.onUnreachable(error.code ?? error.message),
    });
  let link: ReturnType<typeof dial> | null = null;
  return {
    proxyId,
    client,
    linkedInTime,
    dial() {
      setTimeout(resolveLinked, firstLinkMs).unref();
      link = open();
    },
    close() {
      linkLog.close();
      link?.close();
    },
    unacknowledged: () => client.unacknowledged(),
  };
}

function receive(
  client: LimiterClient,
  message: FromDaemon | UnknownEvent | null,
  nowMonoMs: number,
): void {
  try {
    client.onMessage(message, nowMonoMs);
  } catch (error) {
    throw asBrokenLimiterState(error);
  }
}

function orThrowBroken(step: () => void): void {
  try {
    step();
  } catch (error) {
    throw asBrokenLimiterState(error);
  }
}

/** The log of the link to the daemon. */
interface LinkLog {
  /** Returns false for a link that is closed on purpose. */
  onLinkChange(isLinked: boolean): boolean;
  /** `wasLinked`: the daemon had welcomed this proxy before it became silent. */
  onSilent(wasLinked: boolean): void;
  onAnswering(silentMs: number): void;
  onLate(): void;
  onRefused(message: string): void;
  onDropped(): void;
  onUnreadable(): void;
  onUnreachable(reason: string): void;
  /** Stops reporting the end of the link. */
  close(): void;
}

/**
 * `throttled` reports the first of events that may occur thousands of times a second immediately,
 * and later ones together.
 */
export function createLinkLog(
  { socket, failureMode }: Config["limiter"],
  log: Log,
  throttled: (report: (count: number) => void) => () => void,
): LinkLog {
  const context = { socket, failure_mode: failureMode };
  let isClosing = false;
  let lastError = "";
  /** Attempts run ten times a second: a reason is logged only if it differs from the last. */
  const logOnce = (reason: string, message: string): void => {
    if (reason === lastError || isClosing) return;
    lastError = reason;
    log.warn({ socket, reason }, message);
  };
  return {
    onLinkChange(isLinked) {
      if (isClosing) return false;
      lastError = "";
      if (isLinked) log.info({ socket }, "connected to the limiter daemon");
      else log.warn(context, "lost the limiter daemon");
      return true;
    },
    onSilent(wasLinked) {
      log.warn(
        context,
        wasLinked
          ? "the limiter daemon is silent: until it answers, requests don't wait for it"
          : "the limiter daemon takes the connection, but doesn't welcome this proxy",
      );
    },
    onAnswering(silentMs) {
      const seconds = Math.round(silentMs / 100) / 10;
      log.info({ socket, seconds }, "the limiter daemon answers again");
    },
    onLate: throttled((questions) =>
      log.warn({ ...context, questions }, "the limiter daemon doesn't answer in time"),
    ),
    onRefused(message) {
      logOnce(message, "the limiter daemon is of another release: it accepts only settle messages");
    },
    onDropped: throttled((settles) =>
      log.error(
        { settles },
        "too many settles wait for the limiter daemon: the oldest are dropped",
      ),
    ),
    onUnreadable: throttled((frames) =>
      log.error({ socket, frames }, "the limiter daemon sent a frame that can't be read"),
    ),
    onUnreachable(reason) {
      logOnce(reason, "the limiter daemon can't be reached");
    },
    close() {
      isClosing = true;
    },
  };
}
