/**
 * Tells the supervisor again and again that the service lives, and how it is. A timer that runs
 * shows that the event loop turns; a service that knows of something else that is stuck is silent,
 * so that systemd's watchdog ends it and starts it again.
 */
import type { Notice, SupervisorNotices } from "../../shared/supervision/supervisor-notices.js";

/** How a service is, for people and for the watchdog. */
export interface ServiceHealth {
  /** One line, such as `ready: 3 proxies, 41 rules, store ok`. */
  readonly status: string;
  /** What has stopped for good, so that only a restart helps; null: nothing that is known. */
  readonly stuck: string | null;
}

interface HeartbeatOptions {
  readonly notices: SupervisorNotices;
  /** Null: no watchdog runs, and a status is sent when it has changed. */
  readonly watchdogMs: number | null;
  readonly health: () => ServiceHealth;
  /** Called with what is stuck, once. */
  readonly onStuck: (stuck: string) => void;
  /** Runs `run` every `ms`; returns what ends it. */
  readonly every: (ms: number, run: () => void) => () => void;
}

/** Three notices may be lost, such as for want of memory for another process. */
const beatsPerWatchdog = 4;
const statusMs = 10_000;

export interface Heartbeat {
  /** Says that the service stops; the signs of life go on, for as long as that takes. */
  stopping(): void;
  end(): void;
}

/** Says that the service is ready, and from then on how it is. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { notices, watchdogMs, health, onStuck, every } = options;
  if (!notices.taken) return { stopping() {}, end() {} };
  let toldStatus: string | null = null;
  let toldStuck: string | null = null;
  let stopping = false;
  let sending = false;
  const send = async (notice: Notice & { readonly status: string }): Promise<void> => {
    sending = true;
    const taken = await notices.send(notice);
    sending = false;
    toldStatus = taken ? notice.status : null;
  };
  const beat = (): void => {
    if (sending) return;
    const { status, stuck } = stopping ? { status: "stopping", stuck: null } : health();
    if (stuck !== null && toldStuck === null) onStuck(stuck);
    toldStuck = stuck;
    if (watchdogMs !== null && stuck === null) void send({ watchdog: true, status });
    else if ((stuck ?? status) !== toldStatus) void send({ status: stuck ?? status });
  };
  // A sign of life, too: services that replace each other quickly may never get to a beat.
  const alive = watchdogMs === null ? {} : { watchdog: true as const };
  void send({ ready: true, ...alive, status: health().status });
  const end = every(watchdogMs === null ? statusMs : watchdogMs / beatsPerWatchdog, beat);
  return {
    stopping() {
      stopping = true;
      void send({ stopping: true, status: "stopping" });
    },
    end,
  };
}
