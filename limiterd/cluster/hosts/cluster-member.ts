/** This host as one of a cluster. */
import type { EngineCommands, EngineState, Reception } from "../engine/engine.js";
import type { HostBoard } from "./host-board.js";

export interface ClusterMember {
  /** The name of the cluster. */
  readonly name: string;
  /** `cluster.failure_mode`. */
  readonly failureMode: string;
  readonly board: HostBoard;
  readonly commands: EngineCommands;
  engineState(): EngineState;
  /** Whether changes to definitions arrive from other hosts. */
  reception(): Reception;
}
