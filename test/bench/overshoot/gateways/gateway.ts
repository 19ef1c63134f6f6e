/** What the benchmark needs of a gateway: to start it with caps, to kill it, to start it again. */
import type { Processes, Running } from "../../measure/processes.js";
import type { Target } from "../clients.js";
import type { Cap, Unit } from "../work.js";

/** A cap of its own for each run: none sees what another has used. */
export interface NamedCap {
  /** Lower-case letters, digits and hyphens. */
  readonly name: string;
  readonly cap: Cap;
}

export interface Setting {
  readonly caps: readonly NamedCap[];
  /** Empty, and the gateway's own. */
  readonly home: string;
  /** Without a path. */
  readonly providerUrl: string;
  readonly processes: Processes;
  /** The program, if it was named or found. */
  readonly program: string;
}

export interface RunningGateway {
  /** Where a client sends requests that count against this cap. */
  target(cap: string): Target;
  /** Its process. */
  running(): Running;
  /** Ends all processes of the gateway by SIGKILL and starts it again with what it has stored. */
  crash(): Promise<void>;
}

export interface GatewaySetUp {
  readonly name: string;
  readonly units: readonly Unit[];
  /** How it is configured, for readers of the results. */
  readonly configured: string;
  /** Its program, or null when it isn't installed. */
  find(): string | null;
  version(program: string): string;
  start(setting: Setting): Promise<RunningGateway>;
}
