/**
 * Sends the supervisor regular signs of life and the service's status. A running timer shows that
 * the event loop runs. A service that detects another stuck part sends nothing, so that systemd's
 * watchdog restarts it.
 */
import type { Notice, SupervisorNotices } from "../../shared/supervision/supervisor-notices.js";

/** The health of a service, for people and for the watchdog. */
export interface ServiceHealth {
  /** One line, such as `ready: 3 proxies, 41 rules, store ok`. */
  readonly status: string;
  /** What has stopped for good, so that only a restart helps; null if nothing has. */
  readonly stuck: string | null;
}

interface HeartbeatOptions {
  readonly notices: SupervisorNotices;
  /** Null if there is no watchdog; then a status is sent when it has changed. */
  readonly watchdogMs: number | null;
  readonly health: () => ServiceHealth;
  /** Called once, with what is stuck. */
  readonly onStuck: (stuck: string) => void;
  /** Runs `run` every `ms`; returns a function that stops it. */
  readonly every: (ms: number, run: () => void) => () => void;
}

/** Up to three consecutive notices may be lost, such as for lack of memory for a process. */
const beatsPerWatchdog = 4;
const statusMs = 10_000;

export interface Heartbeat {
  /** Reports that the service is stopping; signs of life continue meanwhile. */
  stopping(): void;
  end(): void;
}

/** Reports that the service is ready, and its health from then on. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { notices, watchdogMs, health, onStuck, every } = options;
  if (!notices.accepted) return { stopping() {}, end() {} };
  let sentStatus: string | null = null;
  let sentStuck: string | null = null;
  let isStopping = false;
  let sending = false;
  const send = async (notice: Notice & { readonly status: string }): Promise<void> => {
    sending = true;
    const isSent = await notices.send(notice);
    sending = false;
    sentStatus = isSent ? notice.status : null;
  };
  const beat = (): void => {
    if (sending) return;
    const { status, stuck } = isStopping ? { status: "stopping", stuck: null } : health();
    if (stuck !== null && sentStuck === null) onStuck(stuck);
    sentStuck = stuck;
    if (watchdogMs !== null && stuck === null) void send({ watchdog: true, status });
    else if ((stuck ?? status) !== sentStatus) void send({ status: stuck ?? status });
  };
  // Also a sign of life: services that replace each other quickly may never reach a beat.
  const alive = watchdogMs === null ? {} : { watchdog: true as const };
  void send({ ready: true, ...alive, status: health().status });
  const end = every(watchdogMs === null ? statusMs : watchdogMs / beatsPerWatchdog, beat);
  return {
    stopping() {
      isStopping = true;
      void send({ stopping: true, status: "stopping" });
    },
    end,
  };
}
