/** `sluice completion`, the values that its scripts ask for, `man` and `exit-codes`. */
import type { Command } from "commander";
import { version } from "../../shared/version.js";
import { treeOf, type ValueKind, valuesCommand } from "../completion/command-tree.js";
import { manualPage } from "../completion/manual.js";
import { completionScript, shells } from "../completion/shell-scripts.js";
import { listKeys } from "../keys/list-keys.js";
import { budgetKind, ruleKind } from "../limits/limit-kind.js";
import { listLimits } from "../limits/list-limits.js";
import { CommandFailure, usageFailure } from "../session/command-failure.js";
import type { CommandFlags } from "../session/command-flags.js";
import { readConfiguration } from "../session/configuration.js";
import { exitCodeHelp } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";

/** How long a completion may take after Tab is pressed. */
const patienceMs = 300;

/** Adds the commands to the program. */
export function addCompletion(program: Command, session: Session): void {
  const { terminal } = session;
  program
    .command("completion")
    .description("print a script that completes commands, flags and values in a shell")
    .argument("<shell>", shells.join(", "))
    .action((text: string) => {
      const shell = shells.find((candidate) => candidate === text.trim().toLowerCase());
      if (shell === undefined) {
        const message = `shell must be ${shells.join(", ")}, not ${JSON.stringify(text)}`;
        throw usageFailure([{ message, param: "shell" }]);
      }
      terminal.out(completionScript(shell, treeOf(program)));
    });
  program
    .command(valuesCommand, { hidden: true })
    .argument("<kind>")
    .action((kind: string, _options, command: Command) =>
      printValues(session, kind as ValueKind, command.optsWithGlobals<CommandFlags>()),
    );
  program
    .command("man")
    .description("print the manual page, for man -l -")
    .action(() => terminal.out(manualPage(treeOf(program), version).trimEnd()));
  program
    .command("exit-codes")
    .description("list the exit codes of all three programs")
    .action(() => terminal.out(exitCodeHelp().trimStart()));
}

/** One value per line. Silent if the gateway is away or slow: a shell can't show an error here. */
async function printValues(session: Session, kind: ValueKind, flags: CommandFlags): Promise<void> {
  const values = await Promise.race([
    readValues(session, kind, flags).catch((error: unknown) => {
      if (error instanceof CommandFailure) return [];
      throw error;
    }),
    session.pause(patienceMs).then((): readonly string[] => []),
  ]);
  // A value with a line break would count as two.
  const printable = [...new Set(values)].filter((value) => !/\p{Cc}/u.test(value));
  if (printable.length > 0) session.terminal.out(printable.join("\n"));
}

async function readValues(
  session: Session,
  kind: ValueKind,
  flags: CommandFlags,
): Promise<readonly string[]> {
  if (kind === "models") {
    const loaded = readConfiguration(session, flags);
    if (!loaded.ok) return [];
    const { providers, virtualModels } = loaded.config;
    return [
      ...virtualModels.map(({ source }) => source),
      ...providers.flatMap(({ name, models }) =>
        (models ?? []).filter((id) => id !== "*").map((id) => `${name}/${id}`),
      ),
    ];
  }
  return withDaemon(session, flags, async (client) => {
    if (kind === "keys") return (await listKeys(client)).map(({ id }) => String(id));
    const lists = [await listLimits(client, ruleKind), await listLimits(client, budgetKind)];
    return lists.flatMap(({ items }) => items.map(({ subject }) => String(subject)));
  });
}
