/** `sluice tail`: requests and refusals as they end, one line each, until Ctrl-C. */
import type { Command } from "commander";
import type { RecordItem } from "../../../shared/api/record-item.js";
import type { RefusalItem } from "../../../shared/api/refusal-item.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { escapeControls } from "../../../shared/logging/escape-controls.js";
import { append } from "../../../shared/long-lists.js";
import { readPages } from "../../live/read-pages.js";
import { eventsSince, type Newest, type TailCursor } from "../../live/tail-cursor.js";
import { isShown, type TailFilter, tailJson, tailLine } from "../../live/tail-line.js";
import { watchDaemon } from "../../live/watch-daemon.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption, pathFromFlag } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import type { AdminClient } from "../../session/with-daemon.js";
import { readDuration } from "../../text/duration.js";

interface TailFlags extends CommandFlags {
  readonly path?: string;
  readonly model?: string;
  readonly status?: string;
  readonly refused?: boolean;
  readonly slow?: string;
}

/** The polling interval. */
const everyMs = 1_000;
/** A poll shows at most 2,000 records and 2,000 refusals; of more, the newest. */
const pagesMax = 10;
const atTheBeginning: TailCursor = { recordId: null, refusedAt: "", refusalsThatTime: 0 };

/** Adds `tail` to the program. */
export function addTail(program: Command, session: Session): void {
  program
    .command("tail")
    .description("print requests and refusals as they end, until Ctrl-C")
    .option("--path <path>", "on this user path and below it (default: /)")
    .option("--model <text>", "only models whose names contain this")
    .option("--status <status>", "only this status, such as 429, or class, such as 5xx")
    .option("--refused", "only refusals by a rule or a budget")
    .option("--slow <time>", "only requests that took this long, such as 5s")
    .addOption(jsonOption("print one object per line"))
    .action((_options, command: Command) =>
      followRequests(session, command.optsWithGlobals<TailFlags>()),
    );
}

async function followRequests(session: Session, flags: TailFlags): Promise<void> {
  const filter = filterFromFlags(flags);
  const { terminal } = session;
  let cursor: TailCursor | null = null;
  await watchDaemon(session, flags, {
    everyMs,
    async refresh(client) {
      const newest = await readNewest(client, cursor);
      const { events, hasMissed, next } = eventsSince(cursor ?? atTheBeginning, newest);
      const isFirst = cursor === null;
      cursor = next;
      // Events from before the command began aren't shown.
      if (isFirst) return;
      if (hasMissed)
        terminal.err(`not all are shown: more than ${pagesMax * itemsPerPage} ended since`);
      for (const event of events)
        if (isShown(event, filter))
          await terminal.write(
            `${escapeControls(flags.json === true ? tailJson(event) : tailLine(event))}\n`,
          );
    },
  });
}

/** The events since the cursor; without a cursor the newest. */
async function readNewest(client: AdminClient, cursor: TailCursor | null): Promise<Newest> {
  const body = { limit: itemsPerPage };
  const records = await readPages(client, {
    op: "usage.records",
    items: "records",
    body,
    pagesMax: cursor === null ? 1 : pagesMax,
    needsNext: (items) =>
      !(items as readonly RecordItem[]).some(({ id }) => id === cursor?.recordId),
  });
  let since = cursor?.refusedAt ?? null;
  const refusals = await readPages(client, {
    op: "refusals.list",
    items: "refusals",
    body,
    pagesMax,
    // Reads every refusal with the cursor's time: the cursor stores only how many were shown.
    needsNext(items) {
      const all = items as readonly RefusalItem[];
      since ??= all[0]?.refused_at ?? "";
      return all.every(({ refused_at: time }) => time >= since!);
    },
  });
  return {
    records: records.items as readonly RecordItem[],
    hasMoreRecords: records.more,
    refusals: refusals.items as readonly RefusalItem[],
    hasMoreRefusals: refusals.more,
  };
}

/** Throws all problems together. */
function filterFromFlags(flags: TailFlags): TailFilter {
  const path = pathFromFlag(flags.path);
  const problems: ArgumentProblem[] = [];
  if (!path.ok) append(problems, path.problems);
  const status = flags.status?.trim().toLowerCase() ?? null;
  if (status !== null && !/^(?:[1-5]\d\d|[1-5]xx)$/.test(status))
    problems.push({
      message: `--status must be a status such as 429 or a class such as 5xx, not ${JSON.stringify(flags.status)}`,
      param: "--status",
    });
  const slow = flags.slow === undefined ? null : readDuration(flags.slow);
  if (flags.slow !== undefined && slow === null)
    problems.push({
      message: `--slow must be a length of time such as 5s (s, m, h, d or w), not ${JSON.stringify(flags.slow)}`,
      param: "--slow",
    });
  if (!path.ok || problems.length > 0) throw usageFailure(problems);
  return {
    path: path.value,
    model: flags.model?.trim().toLowerCase() ?? null,
    status,
    refusedOnly: flags.refused === true,
    slowMs: slow === null ? null : slow * 1000,
  };
}
