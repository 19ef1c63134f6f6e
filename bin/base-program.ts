/**
 * The parts of the command line `sluice` that all commands share: global flags, aliases and error
 * handling. The commands are in `program.ts`; `up`, which starts alone, is in `up-program.ts`.
 */
import type { Command } from "commander";
import { addExamples } from "./examples.js";
import { DifferencesFound, usageFailure } from "./session/command-failure.js";
import type { CommandFlags } from "./session/command-flags.js";
import { exitCodes } from "./session/exit-code.js";
import { newCommand } from "./session/new-command.js";
import { helpLine, otherWord } from "./session/other-words.js";
import { printFailure } from "./session/print-failure.js";
import type { Session } from "./session/terminal.js";

/**
 * Runs a command line without the program's name; returns the exit code. Rejects only because of a
 * bug in Sluice.
 */
export async function runProgram(
  program: Command,
  argv: readonly string[],
  session: Session,
): Promise<number> {
  try {
    await program.parseAsync([...helpLine(program, argv)], { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    const exitCode = printFailure(error, {
      terminal: session.terminal,
      json: argv.includes("--json"),
      advice: () => otherWord(program, argv),
    });
    // With --exit-code, 2 means only that differences were found.
    const isError = exitCode !== exitCodes.ok && !(error instanceof DifferencesFound);
    return isError && argv.includes("--exit-code") ? exitCodes.failed : exitCode;
  }
}

/** The program without its commands. */
export function newProgram(session: Session): Command {
  const program = newCommand("sluice", session)
    .description("An LLM gateway with exact limits: a proxy, and a limiter daemon beside it.")
    .option(
      "--config <file>",
      "the configuration file (default: SLUICE_CONFIG, ./sluice.yaml, /etc/sluice/sluice.yaml)",
    )
    .option(
      "--socket <path>",
      "the daemon's Unix socket; then the command doesn't read the configuration",
    )
    .option(
      "--url <url>",
      "another host's gateway, by its admin API, with the key of SLUICE_API_KEY or SLUICE_MASTER_KEY (default: SLUICE_URL)",
    )
    .option("--key-file <file>", "the file with the key for --url")
    .option("--wide", "print tables as wide as they need, not as the terminal")
    .configureHelp({
      showGlobalOptions: true,
      commandUsage: (command) => `${usageName(command)} ${command.usage()}`,
    })
    .commandsGroup("The command line:")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("afterAll", "\nWhat the exit codes mean: sluice exit-codes");
  program.hook("preAction", (_program, command) => refuseUnusedUrl(command));
  return program;
}

/** Adds the examples and the other names of its commands. */
export function completeProgram(program: Command): void {
  addExamples(program);
  addAliases(program);
}

/** Names that other programs use for such commands; the help shows the first. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  budgets: ["budget"],
  check: ["validate", "lint", "test"],
  deactivate: ["revoke"],
  delete: ["rm", "remove"],
  deny: ["add"],
  export: ["dump"],
  apply: ["import"],
  explain: ["why"],
  "in-flight": ["ps"],
  issue: ["create", "new"],
  jwts: ["jwt"],
  keys: ["key", "tokens"],
  limits: ["limit", "rules", "rate-limits"],
  list: ["ls"],
  set: ["add", "put"],
  tail: ["logs"],
  top: ["watch", "monitor"],
  up: ["start", "run"],
};

function addAliases(command: Command): void {
  for (const child of command.commands) {
    child.aliases(aliases[child.name()] ?? []);
    addAliases(child);
  }
}

/** The commands that concern only this host's own files and processes. */
const onlyHere: readonly string[] = [
  "up",
  "reload",
  "init",
  "config check",
  "config schema",
  "providers check",
  "prices update",
  "backup",
  "restore",
  "verify-store",
  "doctor",
  "verify",
  "completion",
  "man",
  "exit-codes",
];

/** A command that ignored `--url` would be misleading: it is a usage error. */
function refuseUnusedUrl(command: Command): void {
  const name = fullName(command);
  if (!onlyHere.includes(name) || command.optsWithGlobals<CommandFlags>().url === undefined) return;
  const message = `sluice ${name} is about this host: --url is for a gateway elsewhere`;
  throw usageFailure([{ message, param: "--url" }]);
}

/** The command after the program's name: `sluice limits set`. */
function usageName(command: Command): string {
  return command.parent === null
    ? command.name()
    : `${usageName(command.parent)} ${command.name()}`;
}

/** The name without the program's: `limits set`. */
function fullName(command: Command): string {
  const { parent } = command;
  return parent?.parent == null ? command.name() : `${fullName(parent)} ${command.name()}`;
}
