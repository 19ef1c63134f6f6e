/** `sluice usage`: requests, tokens and costs of a user path; and its commands. */
import type { Command } from "commander";
import { hourlyDaysMax } from "../../../shared/bounds.js";
import { type Grouping, groupings } from "../../../shared/wire/admin-op.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  pathFromFlag,
  tableView,
} from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import { fromHelp, lastHelp, toHelp } from "../../session/range-flags.js";
import { type Session, showsUnicode } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { readSummary } from "../../usage/read-summary.js";
import { renderUsage } from "../../usage/usage-text.js";
import {
  daysOf,
  type ReportWindow,
  type WindowFlags,
  windowFromFlags,
  windowQuery,
} from "../../usage/window-flags.js";
import { type ExportFlags, exportUsageCommand } from "./usage-export.js";
import { type FollowFlags, followUsageCommand } from "./usage-follow.js";
import { type RepriceFlags, repriceUsageCommand } from "./usage-reprice.js";

interface UsageFlags extends CommandFlags, WindowFlags {
  readonly path?: string;
  readonly by?: string;
}

const choices = [...groupings, "hour"] as const;

/** The width of a chart where there is no terminal. */
const columnsDefault = 80;

/** Adds `usage` to the program. */
export function addUsage(program: Command, session: Session): void {
  const usage = program
    .command("usage")
    .description("show requests, tokens and costs of some days, or of a range with times")
    .option("--path <path>", "on this user path and below it (default: /)")
    .option("--days <n>", "the last n days, at most 365 (default: 30)")
    .option("--month [month]", "a calendar month such as 2026-02 (default: the current one)")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", lastHelp)
    .option(
      "--by <group>",
      `a table by ${choices.join(", ")}; path: each child of --path, and the path itself; hour: at most ${hourlyDaysMax} days (default: 2)`,
    )
    .addOption(jsonOption("print the daemon's answer, with unrounded numbers"))
    // The command has no arguments, so a word here is a misspelt command.
    .allowExcessArguments()
    .action((_options, command: Command) =>
      command.args.length > 0
        ? command.error(unknownCommand(command), { code: "commander.unknownCommand" })
        : showUsage(session, command.optsWithGlobals<UsageFlags>()),
    );
  usage
    .command("export")
    .description("export the usage records, oldest first")
    // The flags of `usage` aren't global, though commander accepts them here too:
    // `exportUsageCommand` refuses those that aren't for an export.
    .configureHelp({ showGlobalOptions: true, visibleGlobalOptions: () => [...program.options] })
    .requiredOption("--format <format>", "ndjson or csv")
    .option("--path <path>", "on this user path and below it (default: /)")
    .option("--days <n>", "the last n days, at most 365")
    .option("--from <time>", `${fromHelp} (default: the oldest record)`)
    .option("--to <time>", toHelp)
    .option("--last <time>", lastHelp)
    .option("--output <file>", "write to this file, which gets its name when it is complete")
    .action((_options, command: Command) =>
      exportUsageCommand(session, command.optsWithGlobals<ExportFlags>()),
    );
  addFollow(usage, program, session);
  usage
    .command("reprice")
    .description("reprice recorded requests by the present prices, in budgets too")
    .configureHelp({ showGlobalOptions: true, visibleGlobalOptions: () => [...program.options] })
    .option("--from <date>", "the first day, UTC, such as 2026-02-01")
    .option("--to <date>", "the last day, UTC (default: up to now)")
    .option("--model <model>", "only this model, such as gpt-4o or openai/gpt-4o")
    .option("--dry-run", "show the differences, and book nothing")
    .option("--reported", "replace also costs that providers reported")
    .addOption(jsonOption("print the result as an object"))
    .action((_options, command: Command) =>
      repriceUsageCommand(session, command.optsWithGlobals<RepriceFlags>()),
    );
}

function addFollow(usage: Command, program: Command, session: Session): void {
  usage
    .command("follow")
    .description("export usage records continuously to PostgreSQL, a file or an HTTPS address")
    .configureHelp({ showGlobalOptions: true, visibleGlobalOptions: () => [...program.options] })
    .option("--to <destination>", "postgres://…, ndjson or https://…")
    .option("--output <file>", "for ndjson: append to this file instead of standard output")
    .option("--cursor <file>", "the file that stores the position; PostgreSQL stores it itself")
    .option("--name <name>", "name of this follower, if a store has several", "default")
    .option(
      "--from-now",
      "if no position is stored, begin after the last record, not with the first",
    )
    .option("--batch <n>", "records in one transaction or request, at most 1000", "1000")
    .option("--once", "end when no record is left, for cron")
    .option("--host <name>", "host name in each record (default: the machine's)")
    .option(
      "--secret-file <file>",
      "file with the password of the database or the token of the address",
    )
    .option("--create-table", "create the tables of PostgreSQL, and add missing columns")
    .addOption(jsonOption("print progress as one object per line"))
    .action((_options, command: Command) =>
      followUsageCommand(session, command.optsWithGlobals<FollowFlags>()),
    );
}

function unknownCommand({ args, commands }: Command): string {
  const expected = commands.map((child) => child.name()).join(", ");
  return `error: unknown command '${args[0]}': expected ${expected}`;
}

async function showUsage(session: Session, flags: UsageFlags): Promise<void> {
  const { userPath, window, by } = checkFlags(flags, session.nowMs());
  // Without a table the days are still needed: they make the chart.
  const split = by === "hour" ? { by: "day", step: "hour" } : { by: by ?? "day" };
  const body = { user_path: userPath, ...windowQuery(window), ...split };
  const answer = await withDaemon(session, flags, async (client) =>
    bodyOrThrow(await client.call("usage.summary", body)),
  );
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify(answer));
  terminal.out(
    renderUsage(readSummary(answer), {
      userPath,
      ...window,
      by,
      columns: terminal.columns ?? columnsDefault,
      table: tableView(session, flags),
      unicode: showsUnicode(session.env),
    }),
  );
}

/** Throws all problems together. */
function checkFlags(
  flags: UsageFlags,
  nowMs: number,
): {
  readonly userPath: string;
  readonly window: ReportWindow;
  readonly by: Grouping | "hour" | null;
} {
  const path = pathFromFlag(flags.path);
  const by = choices.find(
    (candidate) => candidate === flags.by?.trim().toLowerCase().replace("-", "_"),
  );
  const { days, month, from, to, last } = flags;
  const isOpen = (days ?? month ?? from ?? to ?? last) === undefined;
  const windowFlags = by === "hour" && isOpen ? { ...flags, days: "2" } : flags;
  const window = windowFromFlags(windowFlags, nowMs, { takesTimes: true });
  const problems: ArgumentProblem[] = [
    ...(path.ok ? [] : path.problems),
    ...(window.ok ? [] : window.problems),
  ];
  if (flags.by !== undefined && by === undefined)
    problems.push({
      message: `--by must be one of ${choices.join(", ")}, not ${JSON.stringify(flags.by)}`,
      param: "--by",
    });
  const hasTimes = window.ok && window.value.range !== undefined;
  const dayCount = window.ok && !hasTimes ? daysOf(window.value).length : 0;
  if (by === "hour" && dayCount > hourlyDaysMax)
    problems.push({
      message: `--by hour needs at most ${hourlyDaysMax} days, not ${dayCount}`,
      param: "--by",
    });
  if (!path.ok || !window.ok || problems.length > 0) throw usageFailure(problems);
  return { userPath: path.value, window: window.value, by: by ?? (hasTimes ? "hour" : null) };
}
