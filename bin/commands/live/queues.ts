/** `sluice queues`: the requests that wait for room under their limits. */
import type { Command } from "commander";
import type { QueueList } from "../../../shared/api/queue-item.js";
import { renderQueues } from "../../live/queue-table.js";
import { type CommandFlags, jsonOption, tableView } from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";

/** Adds `queues` to the program. */
export function addQueues(program: Command, session: Session): void {
  program
    .command("queues")
    .description("list the requests that wait for room under their limits, the longest queue first")
    .addOption(jsonOption("print them as GET /admin/queues lists them"))
    .action((_options, command: Command) =>
      showQueues(session, command.optsWithGlobals<CommandFlags>()),
    );
}

async function showQueues(session: Session, flags: CommandFlags): Promise<void> {
  const answer = await withDaemon(session, flags, (client) => client.call("queues.list", null));
  const list = bodyOrThrow(answer) as QueueList;
  session.terminal.out(
    flags.json === true ? JSON.stringify(list) : renderQueues(list, tableView(session, flags)),
  );
}
