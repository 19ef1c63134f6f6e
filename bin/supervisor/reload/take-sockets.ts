/** Takes the listening sockets that this process inherited at its start. */
import {
  type InheritedSockets,
  InheritedSocketsError,
  takeInheritedSockets,
} from "../../../shared/supervision/inherited-sockets.js";
import { CommandFailure } from "../../session/command-failure.js";
import { exitCodes } from "../../session/exit-code.js";

/** Removes their variables from the process's environment. Throws `CommandFailure`. */
export function takeSockets(names: readonly string[]): InheritedSockets {
  try {
    return takeInheritedSockets(process.env, process.pid, names);
  } catch (error) {
    if (!(error instanceof InheritedSocketsError)) throw error;
    throw new CommandFailure({
      exitCode: exitCodes.configuration,
      lines: [`error: ${error.message}`],
      error: {},
    });
  }
}
