/** What the log says about the proxy's link to the daemon. */
import type { Config } from "../../../shared/config/config.js";
import type { Log } from "../../../shared/log.js";

interface LinkLog {
  /** Whether it is news: not that of a link which is closed on purpose. */
  onLinkChange(linked: boolean): boolean;
  /** `wasLinked`: the daemon has welcomed this proxy, and says nothing any more. */
  onSilent(wasLinked: boolean): void;
  onAnswering(silentMs: number): void;
  onLate(): void;
  onRefused(message: string): void;
  onDropped(): void;
  onUnreadable(): void;
  onUnreachable(reason: string): void;
  /** From now on the end of the link isn't reported. */
  close(): void;
}

/**
 * `throttled`: reports the first of what may happen thousands of times a second, and later ones
 * together.
 */
export function createLinkLog(
  { socket, failureMode }: Config["limiter"],
  log: Log,
  throttled: (report: (count: number) => void) => () => void,
): LinkLog {
  const seen = { socket, failure_mode: failureMode };
  let closing = false;
  let lastError = "";
  /** An attempt is made ten times a second: a reason is logged when it differs from the last. */
  const logOnce = (reason: string, message: string): void => {
    if (reason === lastError || closing) return;
    lastError = reason;
    log.warn({ socket, reason }, message);
  };
  return {
    onLinkChange(linked) {
      if (closing) return false;
      lastError = "";
      if (linked) log.info({ socket }, "connected to the limiter daemon");
      else log.warn(seen, "lost the limiter daemon");
      return true;
    },
    onSilent(wasLinked) {
      log.warn(
        seen,
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
      log.warn({ ...seen, questions }, "the limiter daemon doesn't answer in time"),
    ),
    onRefused(message) {
      logOnce(
        message,
        "the limiter daemon is of another release: it takes this proxy's settles alone",
      );
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
      closing = true;
    },
  };
}
