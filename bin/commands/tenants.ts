/**
 * `sluice tenants`: the paths below another one with their spend, their fullest limit, when it runs
 * out, refusals and the last error. `sluice tenant PATH` shows one.
 */

import type { Command } from "commander";
import {
  type TenantItem,
  type TenantLimit,
  type TenantList,
  tenantSorts,
} from "../../shared/api/tenant-item.js";
import { isObject } from "../../shared/checked.js";
import { append } from "../../shared/long-lists.js";
import { formatShare } from "../../shared/text/percent.js";
import { toneOfEnd, untilExhausted } from "../limits/rule-table.js";
import { type ArgumentProblem, usageFailure } from "../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  limitFromFlag,
  pathFromFlag,
  tableView,
} from "../session/command-flags.js";
import { bodyOrThrow, unreadableAnswer } from "../session/daemon-answer.js";
import { fromHelp, lastHelp, toHelp } from "../session/range-flags.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";
import { shortTime } from "../text/duration.js";
import { formatCount, formatUsd } from "../text/number-text.js";
import { type Column, renderSentence, renderTable } from "../text/table.js";
import { toneOfShare } from "../text/tone.js";
import {
  type WindowFlags,
  windowFromFlags,
  windowQuery,
  windowText,
} from "../usage/window-flags.js";

interface TenantsFlags extends CommandFlags, WindowFlags {
  readonly path?: string;
  readonly sort?: string;
  readonly search?: string;
  readonly tree?: boolean;
  readonly limit?: string;
}

const listedMax = 200;
const listedDefault = 30;
const sortNames = tenantSorts.map((sort) => sort.replace("_", "-"));

/** Adds `tenants` to the program. */
export function addTenants(program: Command, session: Session): void {
  program
    .command("tenants")
    .description("list tenants: spend, the fullest limit, when it runs out, refusals, errors")
    .option("--path <path>", "below this user path (default: /)")
    .option("--sort <order>", `${sortNames.join(", ")} (default: used)`)
    .option("--search <text>", "only those with this in their path")
    .option("--tree", "direct children only, with the figures of all below them")
    .option("--limit <n>", `at most this many, up to ${listedMax} (default: ${listedDefault})`)
    .option("--days <n>", "the last n days, at most 365 (default: 30)")
    .option("--month [month]", "a calendar month such as 2026-02 (default: the current one)")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", lastHelp)
    .addOption(jsonOption("print the response of GET /admin/tenants"))
    .action((_options, command: Command) =>
      showTenants(session, command.optsWithGlobals<TenantsFlags>()),
    );
}

async function showTenants(session: Session, flags: TenantsFlags): Promise<void> {
  const path = pathFromFlag(flags.path);
  const window = windowFromFlags(flags, session.nowMs(), { takesTimes: true });
  const sort = (flags.sort ?? "used").replace("-", "_");
  const limit = limitFromFlag(flags.limit, { byDefault: listedDefault, max: listedMax });
  const problems: ArgumentProblem[] = [
    ...(path.ok ? [] : path.problems),
    ...(window.ok ? [] : window.problems),
  ];
  if (!tenantSorts.some((candidate) => candidate === sort))
    problems.push({
      message: `--sort must be one of ${sortNames.join(", ")}, not ${JSON.stringify(flags.sort)}`,
      param: "--sort",
    });
  if (!limit.ok) append(problems, limit.problems);
  if (!path.ok || !window.ok || !limit.ok || problems.length > 0) throw usageFailure(problems);
  const list = await withDaemon(session, flags, async (client) =>
    bodyOrThrow(
      await client.call("tenants.list", {
        under: path.value,
        sort,
        limit: limit.value,
        flat: String(flags.tree !== true),
        ...windowQuery(window.value),
        ...(flags.search === undefined ? {} : { search: flags.search }),
      }),
    ),
  );
  if (!isObject(list) || !Array.isArray(list["tenants"])) throw unreadableAnswer("list of tenants");
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify(list));
  const { tenants, more, server_time } = list as unknown as TenantList;
  if (tenants.length === 0) return terminal.out(`no tenants below ${path.value}`);
  const view = tableView(session, flags);
  terminal.out(renderTable(columnsAt(Date.parse(server_time)), tenants, view));
  const note = more ? `; only the first ${limit.value} are shown: --limit shows more` : "";
  terminal.err(renderSentence(`spend of ${windowText(window.value)}${note}`, view));
}

function columnsAt(nowMs: number): readonly Column<TenantItem>[] {
  return [
    { title: "TENANT", align: "left", text: (item) => item.user_path },
    {
      title: "SPENT",
      align: "right",
      text: ({ usage }) => (usage === null ? "-" : formatUsd(usage.total_cost, 2)),
    },
    {
      title: "USED",
      align: "right",
      text: ({ nearest }) => percentOf(nearest),
      tone: ({ nearest }) => toneOfShare(nearest?.used_ratio ?? 0),
    },
    { title: "OF", detail: true, align: "left", text: ({ nearest }) => nameOf(nearest) },
    {
      title: "RUNS OUT",
      align: "left",
      text: ({ runs_out }) => runsOutText(runs_out, nowMs),
      tone: ({ runs_out }) => toneOfEnd(runs_out?.exhausts_at, nowMs),
    },
    { title: "KEYS", detail: true, align: "right", text: (item) => formatCount(item.keys) },
    { title: "REFUSED", align: "right", text: (item) => formatCount(item.refusals) },
    { title: "FAILED", align: "right", text: (item) => formatCount(item.failures) },
    {
      title: "LAST ERROR",
      detail: true,
      align: "left",
      text: ({ last_error: last }) => (last === null ? "-" : shortTime(last.at, nowMs)),
    },
  ];
}

function percentOf(limit: TenantLimit | null): string {
  return limit === null ? "-" : formatShare(limit.used_ratio);
}

function nameOf(limit: TenantLimit | null): string {
  return limit === null ? "-" : `${limit.period_label} ${limit.kind}`;
}

/** `3h 20m (daily budget)`. */
function runsOutText(limit: TenantLimit | null, nowMs: number): string {
  const when = untilExhausted(limit?.exhausts_at, nowMs);
  return when === "-" ? when : `${when} (${nameOf(limit)})`;
}
