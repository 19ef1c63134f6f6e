/**
 * The command line `sluice`: its commands and the flags that all of them accept. Each command is a
 * file in `commands/`.
 */
import type { Command } from "commander";
import { assert } from "../shared/assert.js";
import { addAlerts } from "./commands/alerts.js";
import { addCompletion } from "./commands/completion.js";
import { addConfig } from "./commands/config/config-check.js";
import { addInit } from "./commands/config/init.js";
import { addDoctor } from "./commands/doctor.js";
import { addExplain } from "./commands/explain.js";
import { addImport } from "./commands/import.js";
import { addJwts } from "./commands/keys/jwts.js";
import { addKeys } from "./commands/keys/keys.js";
import { addBudgets } from "./commands/limits/budgets.js";
import { addLimits } from "./commands/limits/limits.js";
import { addAudit } from "./commands/live/audit.js";
import { addInFlight } from "./commands/live/in-flight.js";
import { addQueues } from "./commands/live/queues.js";
import { addRequests, addSessions } from "./commands/live/requests.js";
import { addTail } from "./commands/live/tail.js";
import { addTop } from "./commands/live/top.js";
import { addPrices } from "./commands/prices/prices-update.js";
import { addProviders } from "./commands/providers/providers.js";
import { addReconcile } from "./commands/reconcile.js";
import { addReload } from "./commands/reload.js";
import { addStatus } from "./commands/status.js";
import { addBackup } from "./commands/store/backup.js";
import { addRestore } from "./commands/store/restore-command.js";
import { addVerifyStore } from "./commands/store/verify-command.js";
import { addTenant } from "./commands/tenant.js";
import { addTenants } from "./commands/tenants.js";
import { addUp } from "./commands/up.js";
import { addUsage } from "./commands/usage/usage.js";
import { addVerify } from "./commands/verify.js";
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
export async function runCommandLine(argv: readonly string[], session: Session): Promise<number> {
  const program = createProgram(session);
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
  // The help lists commands in this order, and each group at the place of its first command.
  addUp(program, session);
  addReload(program, session);
  addInit(program, session);
  addConfig(program, session);
  addImport(program, session);
  addDoctor(program, session);
  addVerify(program, session);
  addLimits(program, session);
  addBudgets(program, session);
  addKeys(program, session);
  addJwts(program, session);
  addExplain(program, session);
  addTenants(program, session);
  addTenant(program, session);
  addUsage(program, session);
  addSessions(program, session);
  addReconcile(program, session);
  addStatus(program, session);
  addTop(program, session);
  addTail(program, session);
  addInFlight(program, session);
  addQueues(program, session);
  addRequests(program, session);
  addAudit(program, session);
  addProviders(program, session);
  addPrices(program, session);
  addAlerts(program, session);
  addBackup(program, session);
  addRestore(program, session);
  addVerifyStore(program, session);
  addCompletion(program, session);
  addExamples(program);
  addAliases(program);
  addGroups(program);
  return program;
}

/** The commands under each heading of the help; `help` itself is under the last. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "The gateway:": ["up", "reload", "init", "config", "import", "doctor", "verify"],
  "Limits, budgets and keys:": ["limits", "budgets", "keys", "jwts", "explain"],
  "Who uses what:": ["tenants", "tenant", "usage", "sessions", "reconcile"],
  "What is going on:": [
    "status",
    "top",
    "tail",
    "in-flight",
    "queues",
    "requests",
    "request",
    "audit",
  ],
  "Providers:": ["providers", "prices", "alerts"],
  "The store:": ["backup", "restore", "verify-store"],
  "The command line:": ["completion", "man", "exit-codes"],
};

function addGroups(program: Command): void {
  for (const [heading, names] of Object.entries(groups))
    for (const name of names) {
      const command = program.commands.find((each) => each.name() === name);
      assert(command !== undefined, `a group of the help names the command ${name}`);
      command.helpGroup(heading);
    }
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
