/** `sluice audit`: which changes were made, when, by whom and from where. */

import type { Command } from "commander";
import type { AuditEntry } from "../../../shared/api/audit-entry.js";
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { readPages } from "../../live/read-pages.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  limitFromFlag,
  tableView,
} from "../../session/command-flags.js";
import {
  fromHelp,
  lastHelp,
  type RangeFlags,
  rangeFromFlags,
  rangeQuery,
  toHelp,
} from "../../session/range-flags.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { shortTime } from "../../text/duration.js";
import { type Column, renderTable } from "../../text/table.js";

interface AuditFlags extends CommandFlags, RangeFlags {
  readonly who?: string;
  readonly subject?: string;
  readonly operation?: string;
  readonly limit?: string;
}

const limitMax = 100_000;

/** Adds `audit` to the program. */
export function addAudit(program: Command, session: Session): void {
  program
    .command("audit")
    .description("list the changes that were made: when, by whom, from where, before and after")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", `${lastHelp} (default: 24h)`)
    .option("--who <text>", "only those by someone whose name contains this, such as key_7")
    .option("--subject <text>", "only those of subjects that contain this, such as /team")
    .option("--operation <text>", "only those of operations that contain this, such as budgets.")
    .option("--limit <n>", `at most this many, up to ${limitMax} (default: 100)`)
    .addOption(jsonOption("print them as GET /admin/audit lists them"))
    .action((_options, command: Command) =>
      listEntries(session, command.optsWithGlobals<AuditFlags>()),
    );
}

async function listEntries(session: Session, flags: AuditFlags): Promise<void> {
  const { who, subject, operation } = flags;
  const limit = limitFromFlag(flags.limit, { byDefault: 100, max: limitMax });
  const range = rangeFromFlags(flags, { nowMs: session.nowMs(), seconds: 86_400 });
  const problems: ArgumentProblem[] = [];
  if (!range.ok) append(problems, range.problems);
  if (!limit.ok) append(problems, limit.problems);
  if (!range.ok || !limit.ok) throw usageFailure(problems);
  const { items } = await withDaemon(session, flags, (client) => {
    let remaining = limit.value;
    return readPages(client, {
      op: "audit.list",
      items: "entries",
      body: {
        ...rangeQuery(range.value, ["from", "to"]),
        who,
        subject,
        operation,
        limit: Math.min(200, limit.value),
      },
      pagesMax: Number.POSITIVE_INFINITY,
      needsNext: (page) => {
        remaining -= page.length;
        return remaining > 0;
      },
    });
  });
  const entries = (items as readonly AuditEntry[]).slice(0, limit.value);
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify({ entries }));
  terminal.out(
    entries.length === 0
      ? "no changes"
      : renderTable(columnsAt(session.nowMs()), entries, tableView(session, flags)),
  );
}

const columnsAt = (nowMs: number): readonly Column<AuditEntry>[] => [
  { title: "TIME", align: "left", text: ({ time }) => shortTime(time, nowMs) },
  { title: "WHO", align: "left", text: ({ who }) => who },
  { title: "FROM", detail: true, align: "left", text: ({ from }) => from },
  { title: "OPERATION", detail: true, align: "left", text: ({ operation }) => operation },
  { title: "SUBJECT", align: "left", text: ({ subject }) => subject },
  { title: "CHANGE", wraps: true, align: "left", text: changeOf },
];

const changeCharsMax = 120;

/** The fields that differ. */
function changeOf({ before, after }: AuditEntry): string {
  if (!isObject(before) || !isObject(after)) {
    const values = [before, after].map((value) => (value === null ? "-" : JSON.stringify(value)));
    return before === null && after === null ? "-" : shorten(values.join(" → "));
  }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.flatMap((name) => {
    const [was, is] = [JSON.stringify(before[name]), JSON.stringify(after[name])];
    return was === is ? [] : [`${name}: ${was ?? "-"} → ${is ?? "-"}`];
  });
  return changed.length === 0 ? "unchanged" : shorten(changed.join(", "));
}

function shorten(text: string): string {
  return text.length > changeCharsMax ? `${text.slice(0, changeCharsMax - 1)}…` : text;
}
