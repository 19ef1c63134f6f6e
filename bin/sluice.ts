#!/usr/bin/env node
/**
 * The entry point of the command line `sluice`: arguments in, exit code out. Its commands are in
 * `program.ts` and `commands/`; docs/command-line.md describes them.
 */
import { runCommandLine } from "./program.js";
import { exitCodes } from "./session/exit-code.js";
import { drainOutput, processSession } from "./session/terminal.js";

const session = processSession();
const exitCode = await runCommandLine(process.argv.slice(2), session).catch((error: unknown) => {
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  session.terminal.err(`unexpected error, a bug in Sluice: ${details}`);
  return exitCodes.bug;
});
await drainOutput();
// A socket to a daemon that doesn't answer may still be open: it must not hold the terminal.
process.exit(exitCode);
