/**
 * `sluice requests`, `sluice request ID` and `sluice sessions`: why a request failed, which ones
 * did, and what the sessions of agents have used.
 */

import type { Command } from "commander";
import {
  type RequestDetail,
  type RequestItem,
  requestKinds,
  type SessionItem,
  type SessionList,
} from "../../../shared/api/request-item.js";
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { renderExplanation } from "../../limits/explanation-text.js";
import { readPages } from "../../live/read-pages.js";
import { attemptColumns, renderRequest } from "../../live/request-text.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  limitFromFlag,
  pathFromFlag,
  tableView,
} from "../../session/command-flags.js";
import { bodyOrThrow, unreadableAnswer } from "../../session/daemon-answer.js";
import {
  fromHelp,
  lastHelp,
  optionalRange,
  type RangeFlags,
  rangeFromFlags,
  rangeQuery,
  toHelp,
} from "../../session/range-flags.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { shortTime } from "../../text/duration.js";
import { formatCount, plainUsd, withCurrency } from "../../text/number-text.js";
import { type Column, renderTable } from "../../text/table.js";
import { toneOfShare } from "../../text/tone.js";

interface RequestFlags extends CommandFlags, RangeFlags {
  readonly path?: string;
  readonly kind?: string;
  readonly search?: string;
  readonly limit?: string;
}

interface SessionFlags extends CommandFlags, RangeFlags {
  readonly path?: string;
}

/** Adds `requests` and `request` to the program. */
export function addRequests(program: Command, session: Session): void {
  program
    .command("requests")
    .description(
      "list the last requests that failed, were refused or took several attempts, newest first",
    )
    .option("--kind <kind>", `only these: ${requestKinds.join(", ")}`)
    .option("--path <path>", "on this user path and below it (default: /)")
    .option("--search <text>", "only those with this in path, key, model, target or error")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", lastHelp)
    .option("--limit <n>", "at most this many, up to 1000 (default: 20)")
    .addOption(jsonOption("print them as GET /admin/requests lists them"))
    .action((_options, command: Command) =>
      listRequests(session, command.optsWithGlobals<RequestFlags>()),
    );
  program
    .command("request")
    .description("show one request: its attempts, error, usage, cost and limits")
    .argument("<id>", "its X-Request-ID, as in the log and in the response")
    .addOption(jsonOption("print the response of GET /admin/requests/{id}"))
    .action((id: string, _options, command: Command) =>
      showRequest(session, id, command.optsWithGlobals<CommandFlags>()),
    );
}

/** Adds the command to the program. */
export function addSessions(program: Command, session: Session): void {
  program
    .command("sessions")
    .description("list the sessions of agents: who, models, tokens, cost, failures, the last error")
    .option("--path <path>", "on this user path and below it (default: /)")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", `${lastHelp} (default: 24h)`)
    .addOption(jsonOption("print the response of GET /admin/sessions"))
    .action((_options, command: Command) =>
      listSessions(session, command.optsWithGlobals<SessionFlags>()),
    );
}

async function showRequest(session: Session, id: string, flags: CommandFlags): Promise<void> {
  const detail = await withDaemon(session, flags, async (client) =>
    bodyOrThrow(await client.call("requests.show", { request_id: id })),
  );
  if (!isObject(detail) || !Array.isArray(detail["records"])) throw unreadableAnswer("request");
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify(detail));
  const details = detail as unknown as RequestDetail;
  const view = tableView(session, flags);
  terminal.out(renderRequest(details));
  const { request } = details;
  if (request !== null && request.attempts.length > 0)
    terminal.out(`\nATTEMPTS\n${renderTable(attemptColumns, request.attempts, view)}`);
  if (details.limits !== null)
    terminal.out(
      `\nLIMITS\n${renderExplanation(details.limits as unknown as Record<string, unknown>, view)}`,
    );
}

async function listRequests(session: Session, flags: RequestFlags): Promise<void> {
  const { kind, search } = flags;
  const limit = limitFromFlag(flags.limit, { byDefault: 20, max: 1000 });
  const problems: ArgumentProblem[] = [];
  if (kind !== undefined && !requestKinds.some((candidate) => candidate === kind))
    problems.push({
      message: `--kind must be one of ${requestKinds.join(", ")}, not ${JSON.stringify(kind)}`,
      param: "--kind",
    });
  const path = pathFromFlag(flags.path);
  const range = optionalRange(flags, session.nowMs());
  if (!path.ok) append(problems, path.problems);
  if (!range.ok) append(problems, range.problems);
  if (!limit.ok) append(problems, limit.problems);
  if (!path.ok || !range.ok || !limit.ok || problems.length > 0) throw usageFailure(problems);
  const { items } = await withDaemon(session, flags, (client) => {
    let remaining = limit.value;
    return readPages(client, {
      op: "requests.list",
      items: "requests",
      body: {
        limit: Math.min(200, limit.value),
        user_path: path.value,
        ...(range.value === null ? {} : rangeQuery(range.value, ["start", "end"])),
        ...(kind === undefined ? {} : { kind }),
        ...(search === undefined ? {} : { search }),
      },
      pagesMax: 50,
      needsNext: (page) => {
        remaining -= page.length;
        return remaining > 0;
      },
    });
  });
  const requests = (items as readonly RequestItem[]).slice(0, limit.value);
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify({ requests: requests }));
  terminal.out(
    requests.length === 0
      ? "no such requests"
      : renderTable(requestColumns(session.nowMs()), requests, tableView(session, flags)),
  );
}

const requestColumns = (nowMs: number): readonly Column<RequestItem>[] => [
  { title: "TIME", align: "left", text: ({ time }) => shortTime(time, nowMs) },
  {
    title: "STATUS",
    align: "right",
    text: ({ status }) => String(status),
    tone: ({ status }) => (status >= 500 ? "bad" : status >= 400 ? "warn" : null),
  },
  { title: "PATH", detail: true, align: "left", text: ({ user_path }) => user_path ?? "-" },
  {
    title: "MODEL",
    detail: true,
    align: "left",
    text: ({ target, model }) => target ?? model ?? "-",
  },
  { title: "KIND", detail: true, align: "left", text: ({ kind }) => kind },
  { title: "REQUEST", align: "left", text: ({ request_id }) => request_id },
  { title: "WHY", wraps: true, align: "left", text: whyOf },
];

const whyCharsMax = 160;

function whyOf({ error_message: message, note, attempts, outcome }: RequestItem): string {
  const tries = attempts.length > 1 ? `${attempts.length} attempts` : outcome;
  const why = withCurrency(message ?? note ?? tries);
  return why.length > whyCharsMax ? `${why.slice(0, whyCharsMax - 1)}…` : why;
}

async function listSessions(session: Session, flags: SessionFlags): Promise<void> {
  const path = pathFromFlag(flags.path);
  const range = rangeFromFlags(flags, { nowMs: session.nowMs(), seconds: 86_400 });
  if (!path.ok || !range.ok)
    throw usageFailure([...(path.ok ? [] : path.problems), ...(range.ok ? [] : range.problems)]);
  const body = { user_path: path.value, ...rangeQuery(range.value, ["start", "end"]) };
  const list = await withDaemon(session, flags, async (client) =>
    bodyOrThrow(await client.call("requests.sessions", body)),
  );
  if (!isObject(list) || !Array.isArray(list["sessions"]))
    throw unreadableAnswer("list of sessions");
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify(list));
  const { sessions } = list as unknown as SessionList;
  terminal.out(
    sessions.length === 0
      ? "no sessions"
      : renderTable(sessionColumns(session.nowMs()), sessions, tableView(session, flags)),
  );
}

const sessionColumns = (nowMs: number): readonly Column<SessionItem>[] => [
  { title: "SESSION", align: "left", text: (item) => item.session },
  { title: "PATH", align: "left", text: (item) => item.user_path },
  {
    title: "KEY",
    detail: true,
    align: "left",
    text: (item) => item.key_name ?? item.key_id ?? "-",
  },
  { title: "AGENT", detail: true, align: "left", text: (item) => item.agent?.slice(0, 30) ?? "-" },
  { title: "MODELS", detail: true, align: "left", text: (item) => item.models.join(", ") },
  { title: "LAST", align: "left", text: (item) => shortTime(item.ended_at, nowMs) },
  { title: "RUNS", detail: true, align: "left", text: (item) => (item.running ? "yes" : "no") },
  { title: "REQUESTS", detail: true, align: "right", text: (item) => formatCount(item.requests) },
  {
    title: "TOKENS",
    align: "right",
    text: (item) => formatCount(item.input_tokens + item.output_tokens),
  },
  {
    title: "COST",
    align: "right",
    text: (item) => plainUsd(Math.round(item.total_cost * 1e6) / 1e6),
  },
  {
    title: "LEFT",
    align: "right",
    text: ({ budget }) =>
      budget === undefined ? "-" : `${plainUsd(budget.remaining)} of ${plainUsd(budget.amount)}`,
    tone: ({ budget }) => (budget === undefined ? null : toneOfShare(budget.spent / budget.amount)),
  },
  { title: "FAILOVERS", detail: true, align: "right", text: (item) => formatCount(item.failovers) },
  { title: "RETRIED", detail: true, align: "right", text: (item) => formatCount(item.retried) },
  { title: "FAILURES", align: "right", text: (item) => formatCount(item.failures) },
  {
    title: "LAST ERROR",
    wraps: true,
    align: "left",
    text: (item) => item.last_error?.slice(0, whyCharsMax) ?? "-",
  },
];
