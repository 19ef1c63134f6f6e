/** Joins the limiter client to the daemon's socket: bytes to messages and back. */
import { randomUUID } from "node:crypto";
import { frameBytesMaxFromDaemon } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import type { Log } from "../../shared/log.js";
import { dial } from "../../shared/socket/ipc.js";
import { createFrameReader, encodeFrame } from "../../shared/wire/codec.js";
import type { FromDaemon } from "../../shared/wire/message-from-daemon.js";
import { parseFromDaemon } from "../../shared/wire/parse-from-daemon.js";
import { toWire } from "../../shared/wire/to-wire.js";
import { asBrokenLimiterState } from "./broken-limiter-state.js";
import type { Limiter } from "./limiter.js";
import { LimiterClient } from "./limiter-client.js";

interface ConnectedLimiter {
  readonly client: Limiter;
  close(): void;
}

/** Connects, and connects again whenever the connection is lost, until closed. */
export function connectLimiter(
  config: Config["limiter"],
  log: Log,
  onLinkChange: (linked: boolean) => void,
): ConnectedLimiter {
  let closing = false;
  let lastError = "";
  /** An attempt is made ten times a second: a reason is logged when it differs from the last. */
  const logOnce = (reason: string, message: string): void => {
    if (reason === lastError || closing) return;
    lastError = reason;
    log.warn({ socket: config.socket, reason }, message);
  };
  const client = new LimiterClient(
    {
      proxyId: randomUUID(),
      monoMs: () => performance.now(),
      schedule: (ms, run) => void setTimeout(orBroken, ms, run).unref(),
      afterTurn: (run) => void setImmediate(run),
      onLinkChange(linked) {
        if (closing) return;
        lastError = "";
        if (linked) log.info({ socket: config.socket }, "connected to the limiter daemon");
        else
          log.warn(
            { socket: config.socket, failure_mode: config.failureMode },
            "lost the limiter daemon",
          );
        onLinkChange(linked);
      },
      onTimedOut: () =>
        log.warn(
          { socket: config.socket, failure_mode: config.failureMode },
          "the limiter daemon doesn't answer in time",
        ),
      onDropped: (settles) =>
        log.error(
          { settles },
          "too many settles wait for the limiter daemon: the oldest was dropped",
        ),
    },
    config,
  );
  let reader = createFrameReader(frameBytesMaxFromDaemon);
  const link = dial({
    path: config.socket,
    retry: true,
    onConnect(peer) {
      reader = createFrameReader(frameBytesMaxFromDaemon);
      orBroken(() =>
        client.connected({
          send: (message) => peer.send(encodeFrame(toWire(message))),
          whenSent: (run) => peer.whenSent(() => orBroken(run)),
        }),
      );
    },
    onBytes(peer, bytes) {
      const valid = reader.feed(bytes, (frame) => {
        const message = parseFromDaemon(frame);
        if (message === null)
          log.error(
            { socket: config.socket },
            "the limiter daemon sent a frame that can't be read",
          );
        else if (message.kind === "failed" && !client.reachable)
          logOnce(message.failure.message, "the limiter daemon refuses this proxy");
        if (message !== null) receive(client, message);
      });
      if (!valid) peer.close();
    },
    onClose: () => orBroken(() => client.lost()),
    onError: (error) => logOnce(error.code ?? error.message, "the limiter daemon can't be reached"),
  });
  return {
    client,
    close() {
      closing = true;
      link.close();
    },
  };
}

function receive(client: LimiterClient, message: FromDaemon): void {
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
