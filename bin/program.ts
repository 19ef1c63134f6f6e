/**
 * The command line `sluice` with its commands. Each command is a file in `commands/`.
 */
import type { Command } from "commander";
import { assert } from "../shared/assert.js";
import { completeProgram, newProgram, runProgram } from "./base-program.js";
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
import type { Session } from "./session/terminal.js";

/** Runs a command line, as `runProgram`. */
export function runCommandLine(argv: readonly string[], session: Session): Promise<number> {
  return runProgram(createProgram(session), argv, session);
}

/** The commands and their flags; parsing a command line runs its command. */
export function createProgram(session: Session): Command {
  const program = newProgram(session);
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
  completeProgram(program);
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
      const command = program.commands.find((candidate) => candidate.name() === name);
      assert(command !== undefined, `a group of the help names the command ${name}`);
      command.helpGroup(heading);
    }
}
