#!/usr/bin/env node
import { runCommandLine } from "./program.js";
/**
 * The command line for people and scripts: `sluice up`, `limits`, `explain`, `usage`, `status`,
 * `config`. docs/command-line.md describes it.
 */
import { exitCodes } from "./session/exit-code.js";
import { drainOutput, processSession } from "./session/terminal.js";

const session = processSession();
const exitCode = await runCommandLine(process.argv.slice(2), session).catch((error: unknown) => {
  session.terminal.err(
    `sluice made a mistake: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  );
  return exitCodes.bug;
});
await drainOutput();
// A socket to a daemon that doesn't answer may still be open: it must not hold the terminal.
process.exit(exitCode);
