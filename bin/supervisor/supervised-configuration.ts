/**
 * The configuration of a supervisor's processes, and its reload: it reads and checks all of it,
 * opens sockets for new addresses, then replaces the processes. Until all steps have succeeded, the
 * old configuration is in force.
 */
import type { Config } from "../../shared/config/config.js";
import { CommandFailure } from "../session/command-failure.js";
import { exitCodes } from "../session/exit-code.js";
import type { BoundSocket } from "./reload/bind-socket.js";
import { daemonNeedsRestart, fixedSettings } from "./reload/daemon-part.js";
import { closeSockets, type HeldSocket, holdSockets } from "./reload/held-sockets.js";
import type { ReloadOutcome } from "./reload/reload-outcome.js";
import { startErrorText } from "./start-error-text.js";
import type { Supervisor } from "./supervise-services.js";

interface ConfigurationPorts {
  /** Throws `CommandFailure`. */
  readonly read: () => Config;
  readonly bind: (host: string, port: number) => Promise<BoundSocket>;
  /** The part of a configuration with which the supervisor starts its proxies. */
  readonly proxiesOf: (
    config: Config,
    sockets: readonly HeldSocket[],
  ) => Parameters<Supervisor["reload"]>[0];
}

export class SupervisedConfiguration {
  #config: Config;
  #sockets: readonly HeldSocket[];
  readonly #ports: ConfigurationPorts;

  constructor(config: Config, sockets: readonly HeldSocket[], ports: ConfigurationPorts) {
    this.#config = config;
    this.#sockets = sockets;
    this.#ports = ports;
  }

  /** Never rejects. */
  async reload(supervisor: Pick<Supervisor, "reload">): Promise<ReloadOutcome> {
    let config: Config | null = null;
    try {
      config = this.#ports.read();
      return await this.#carryOut(config, supervisor);
    } catch (error) {
      if (error instanceof CommandFailure)
        return { ok: false, exitCode: error.exitCode, lines: error.lines };
      const lines = [`error: ${startErrorText(error, config)}`];
      return { ok: false, exitCode: exitCodes.failed, lines };
    }
  }

  async #carryOut(config: Config, supervisor: Pick<Supervisor, "reload">): Promise<ReloadOutcome> {
    const fixed = fixedSettings(this.#config, config);
    if (fixed.length > 0)
      return {
        ok: false,
        exitCode: exitCodes.configuration,
        lines: [`error: a reload can't change ${fixed.join(", ")}: stop Sluice and start it again`],
      };
    const sockets = await holdSockets(config.server, this.#sockets, this.#ports.bind);
    const outcome = await supervisor.reload(this.#ports.proxiesOf(config, sockets), {
      daemon: daemonNeedsRestart(this.#config, config),
    });
    if (!outcome.ok) {
      // One proxy may have been replaced before another failed: its sockets must stay open.
      this.#sockets = [...new Set([...this.#sockets, ...sockets])];
      return outcome;
    }
    closeSockets(this.#sockets, sockets);
    this.#config = config;
    this.#sockets = sockets;
    return outcome;
  }
}
