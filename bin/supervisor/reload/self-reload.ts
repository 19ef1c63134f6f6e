/**
 * How a service under systemd reloads, without a supervisor of Sluice, on sockets that systemd
 * holds. A proxy hands over to a successor. The daemon ends, and its supervisor restarts it within
 * a moment, while connections wait. Both check the configuration first.
 */
import type { Config } from "../../../shared/config/config.js";
import type { Log } from "../../../shared/log.js";
import type { InheritedSockets } from "../../../shared/supervision/inherited-sockets.js";
import type { SupervisorNotices } from "../../../shared/supervision/supervisor-notices.js";
import { CommandFailure } from "../../session/command-failure.js";
import type { Session } from "../../session/terminal.js";
import { controlSocketPath, listenForReloads } from "./control-socket.js";
import { handOver } from "./hand-over.js";
import type { Predecessor } from "./predecessors.js";
import type { ReloadOutcome } from "./reload-outcome.js";
import { Reloads } from "./reloads.js";
import type { ServiceRequests } from "./service-requests.js";

interface SelfReloadOptions {
  readonly process: "proxy" | "limiterd";
  readonly config: Config;
  /** Reads and checks the configuration as it is now. Throws `CommandFailure`. */
  readonly check: () => void;
  /** Called if the reload fails; the service keeps running as before. */
  readonly onFailed: () => void;
  readonly sockets: InheritedSockets;
  readonly predecessors: readonly Predecessor[];
  readonly notices: SupervisorNotices;
  readonly requests: ServiceRequests;
  readonly session: Session;
  readonly log: Log;
}

interface SelfReload {
  /** Starts no further reload. */
  stop(): void;
}

/**
 * For a service that can't reload: its supervisor wouldn't follow a successor, or holds no sockets.
 */
const never: SelfReload = { stop() {} };

export async function startSelfReload(options: SelfReloadOptions): Promise<SelfReload> {
  const { sockets, notices, requests, config, session, log, onFailed } = options;
  if (!notices.accepted || sockets.from === "none") return never;
  let isAskedAgain = false;
  const reloads = new Reloads(
    async () => {
      isAskedAgain = false;
      const outcome = await reloadOnce(options, () => isAskedAgain);
      if (outcome.ok) requests.markReplaced();
      return outcome;
    },
    ({ ok, lines }) => {
      if (ok) log.info({ lines }, "reloaded");
      else {
        onFailed();
        log.error({ lines }, "the reload failed: what ran before runs on");
      }
    },
  );
  requests.onHangUp(() => {
    isAskedAgain = true;
    reloads.signal();
  });
  const path = controlSocketPath(config.limiter.socket, process.pid, session.env);
  const control = await listenForReloads(path, () => reloads.request()).catch((error: Error) => {
    log.warn({ reason: error.message }, "sluice reload won't find this process: SIGHUP reloads");
    return null;
  });
  return {
    stop() {
      reloads.stop();
      control?.close();
    },
  };
}

async function reloadOnce(
  { check, sockets, predecessors, notices, requests, ...service }: SelfReloadOptions,
  isAskedAgain: () => boolean,
): Promise<ReloadOutcome> {
  try {
    check();
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { ok: false, exitCode: error.exitCode, lines: error.lines };
  }
  if (service.process === "limiterd")
    return { ok: true, lines: ["the daemon ends, and is started again"] };
  const [script, ...args] = process.argv.slice(1);
  return handOver({
    script: script!,
    args,
    sockets,
    predecessors,
    notices,
    untilStopped: requests.stop,
    isAskedAgain,
  });
}
