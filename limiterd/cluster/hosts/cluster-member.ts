/** This host as one of a cluster. */
import type { EngineCommands, EngineState, Reception } from "../engine/engine.js";
import type { HostBoard } from "./host-board.js";

export interface ClusterMember {
  /** Of the cluster. */
  readonly name: string;
  /** `cluster.failure_mode`. */
  readonly failureMode: string;
  readonly board: HostBoard;
  readonly commands: EngineCommands;
  engineState(): EngineState;
  /** Of changes to definitions. */
  reception(): Reception;
}
