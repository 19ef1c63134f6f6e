/**
 * The command line `sluice`: its commands and the flags that all of them accept. Each command is a
 * file in `commands/`.
 */
import type { Command } from "commander";
import { addBudgets } from "./commands/budgets.js";
import { addConfig } from "./commands/config-check.js";
import { addExplain } from "./commands/explain.js";
import { addJwts } from "./commands/jwts.js";
import { addKeys } from "./commands/keys.js";
import { addLimits } from "./commands/limits.js";
import { addStatus } from "./commands/status.js";
import { addUp } from "./commands/up.js";
import { addUsage } from "./commands/usage.js";
import { exitCodeHelp, exitCodes } from "./session/exit-code.js";
import { newCommand } from "./session/new-command.js";
import { printFailure } from "./session/print-failure.js";
import type { Session } from "./session/terminal.js";

/**
 * Runs one command line, without the program's name; returns the exit code. Rejects only if there
 * is a bug in Sluice.
 */
export async function runCommandLine(argv: readonly string[], session: Session): Promise<number> {
  try {
    await createProgram(session).parseAsync([...argv], { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    return printFailure(error, { terminal: session.terminal, json: argv.includes("--json") });
  }
}

/** The commands and their flags; parsing a command line runs its command. */
export function createProgram(session: Session): Command {
  const program = newCommand("sluice", session)
    .description("An LLM gateway with exact limits: a proxy, and a limiter daemon beside it.")
    .option(
      "--config <file>",
      "the configuration file (default: SLUICE_CONFIG, ./sluice.yaml, /etc/sluice/sluice.yaml)",
    )
    .option(
      "--socket <path>",
      "the daemon's Unix socket; no configuration is needed to reach it then",
    )
    .configureHelp({ showGlobalOptions: true })
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("afterAll", exitCodeHelp());
  addUp(program, session);
  addLimits(program, session);
  addKeys(program, session);
  addJwts(program, session);
  addBudgets(program, session);
  addExplain(program, session);
  addUsage(program, session);
  addStatus(program, session);
  addConfig(program, session);
  return program;
}
