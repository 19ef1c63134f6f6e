/** `sluice in-flight`: the requests that hold slots now. */
import type { Command } from "commander";
import type { LeaseItem } from "../../../shared/api/lease-item.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { filterInFlight, renderInFlight } from "../../live/in-flight-table.js";
import { readPages } from "../../live/read-pages.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  pathFromFlag,
  tableView,
} from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { readDuration } from "../../text/duration.js";

interface InFlightFlags extends CommandFlags {
  readonly path?: string;
  readonly older?: string;
}

/** Shows at most ten thousand requests, the longest running. */
const pagesMax = 50;

/** Adds `in-flight` to the program. */
export function addInFlight(program: Command, session: Session): void {
  program
    .command("in-flight")
    .description("list the requests in flight, the longest running first")
    .option("--path <path>", "on this user path and below it (default: /)")
    .option("--older <time>", "only those that have run this long, such as 10m")
    .addOption(jsonOption("print them as GET /admin/in-flight lists them"))
    .action((_options, command: Command) =>
      showInFlight(session, command.optsWithGlobals<InFlightFlags>()),
    );
}

async function showInFlight(session: Session, flags: InFlightFlags): Promise<void> {
  const path = pathFromFlag(flags.path);
  const olderSeconds = flags.older === undefined ? 0 : readDuration(flags.older);
  const problems: ArgumentProblem[] = path.ok ? [] : [...path.problems];
  if (olderSeconds === null)
    problems.push({
      message: `--older must be a length of time such as 10m (s, m, h, d or w), not ${JSON.stringify(flags.older)}`,
      param: "--older",
    });
  if (!path.ok || olderSeconds === null) throw usageFailure(problems);
  const { items, more } = await withDaemon(session, flags, (client) =>
    readPages(client, {
      op: "leases.list",
      items: "in_flight",
      body: { limit: itemsPerPage },
      pagesMax,
    }),
  );
  const leases = filterInFlight(items as readonly LeaseItem[], { path: path.value, olderSeconds });
  const { terminal } = session;
  terminal.out(
    flags.json === true
      ? JSON.stringify({ in_flight: leases })
      : renderInFlight(leases, tableView(session, flags)),
  );
  if (more) terminal.err(`more are in flight: these are among the ${items.length} longest`);
}
