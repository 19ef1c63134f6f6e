/**
 * The entry point of the command line `sluice`: arguments in, exit code out. Its commands are in
 * `program.ts` and `commands/`; docs/reference/command-line.md describes them.
 */
import { version } from "../shared/version.js";
import { exitCodes } from "./session/exit-code.js";
import { drainOutput, processSession } from "./session/terminal.js";

const session = processSession();
void run(process.argv.slice(2))
  .catch((error: unknown) => {
    const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
    session.terminal.err(`unexpected error, a bug in Sluice: ${details}`);
    return exitCodes.bug;
  })
  .then(async (exitCode) => {
    await drainOutput();
    // A socket to a silent daemon may still be open: it must not keep the process alive.
    process.exit(exitCode);
  });

/** Scripts ask for the version alone, which needs none of the commands. */
async function run(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && argv[0] === "--version") {
    session.terminal.out(version);
    return exitCodes.ok;
  }
  const { runUpAlone } = await import("./up-program.js");
  const exitCode = await runUpAlone(argv, session);
  if (exitCode !== null) return exitCode;
  const { runCommandLine } = await import("./program.js");
  return runCommandLine(argv, session);
}
