/** The commander command that all three programs start from. */
import { Command } from "commander";
import { version } from "../../shared/version.js";
import type { Session } from "./terminal.js";

/** A command that prints through the session, and throws instead of ending the process. */
export function newCommand(name: string, session: Session): Command {
  const { terminal } = session;
  return new Command(name)
    .version(version, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .exitOverride()
    .configureOutput({
      // Commander ends the text with a line break, and the terminal adds one.
      writeOut: (text) => terminal.out(text.replace(/\n$/, "")),
      writeErr: (text) => terminal.err(text.replace(/\n$/, "")),
      outputError: () => {},
    });
}
