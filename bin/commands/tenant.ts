/**
 * `sluice tenant PATH`: what an operator asks about one tenant, on one screen: its usage and spend,
 * the limits and budgets that it meets with what it has used of them, its keys, and what was
 * refused or failed last.
 */

import type { Command } from "commander";
import { isObject } from "../../shared/checked.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { append } from "../../shared/long-lists.js";
import type { DaemonAnswer } from "../../shared/wire/admin-op.js";
import { renderKeys } from "../keys/key-table.js";
import { type ListedKey, listKeys } from "../keys/list-keys.js";
import { renderBudgets } from "../limits/budget-table.js";
import { budgetKind, type LimitKind, ruleKind } from "../limits/limit-kind.js";
import type { LimitList, ListedLimit } from "../limits/list-limits.js";
import { renderRules } from "../limits/rule-table.js";
import { usageFailure } from "../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  pathFromFlag,
  tableView,
} from "../session/command-flags.js";
import { bodyOrThrow, unreadableAnswer } from "../session/daemon-answer.js";
import { fromHelp, lastHelp, toHelp } from "../session/range-flags.js";
import type { Session } from "../session/terminal.js";
import { type AdminClient, withDaemon } from "../session/with-daemon.js";
import { shortTime } from "../text/duration.js";
import { formatCount, formatUsd, withCurrency } from "../text/number-text.js";
import { type Column, renderSentence, renderTable, type TableView } from "../text/table.js";
import { readSummary } from "../usage/read-summary.js";
import { renderGroups } from "../usage/usage-table.js";
import {
  type ReportWindow,
  type WindowFlags,
  windowFromFlags,
  windowQuery,
  windowText,
} from "../usage/window-flags.js";
import { limitsOnPath } from "./limits/run-limits.js";

type TenantFlags = CommandFlags & WindowFlags;

/** The refusals and failures that are shown, the newest. */
const eventsMax = 5;

/** Adds `tenant` to the program. */
export function addTenant(program: Command, session: Session): void {
  program
    .command("tenant")
    .description("show one tenant: usage, limits, budgets, keys, the last refusals and failures")
    .argument("<path>", "its user path, such as /customers/acme")
    .option("--days <n>", "the last n days, at most 365 (default: 30)")
    .option("--month [month]", "a calendar month such as 2026-02 (default: the current one)")
    .option("--from <time>", fromHelp)
    .option("--to <time>", toHelp)
    .option("--last <time>", lastHelp)
    .addOption(jsonOption("print one object with the answers of the admin API"))
    .action((path: string, _options, command: Command) =>
      showTenant(session, path, command.optsWithGlobals<TenantFlags>()),
    );
}

async function showTenant(session: Session, text: string, flags: TenantFlags): Promise<void> {
  const path = pathFromFlag(text);
  const window = windowFromFlags(flags, session.nowMs(), { takesTimes: true });
  if (!path.ok || !window.ok)
    throw usageFailure([...(path.ok ? [] : path.problems), ...(window.ok ? [] : window.problems)]);
  const query = { path: path.value, window: window.value };
  const tenant = await withDaemon(session, flags, (client) => readTenant(client, query));
  const { terminal } = session;
  if (flags.json === true) return terminal.out(JSON.stringify(tenant));
  terminal.out(render(tenant, { ...query, nowMs: session.nowMs() }, tableView(session, flags)));
}

interface TenantQuery {
  readonly path: string;
  readonly window: ReportWindow;
}

interface Tenant {
  /** As GET /admin/usage/summary by model; null if usage isn't tracked. */
  readonly usage: unknown;
  readonly rate_limits: readonly ListedLimit[];
  readonly budgets: readonly ListedLimit[];
  readonly keys: readonly ListedKey[];
  readonly refusals: readonly ListedLimit[];
  /**
   * Failed requests with kept details, whose `error` is the reason, and usage records of others.
   */
  readonly failures: readonly ListedLimit[];
  /** Null if neither rules nor budgets are on. */
  readonly server_time: string | null;
}

async function readTenant(client: AdminClient, { path, window }: TenantQuery): Promise<Tenant> {
  const body = { user_path: path, ...windowQuery(window), by: "model" };
  const usage = bodyIfOn(await client.call("usage.summary", body));
  const rules = await limitsIfOn(client, ruleKind, path);
  const budgets = await limitsIfOn(client, budgetKind, path);
  const isOf = ({ user_path: userPath }: ListedLimit): boolean =>
    typeof userPath === "string" && isPathWithin(userPath, path);
  const newest = { user_path: path, limit: eventsMax };
  const refusals = itemsOf(await client.call("refusals.list", newest), "refusals");
  const failed = await client.call("requests.list", { ...newest, kind: "failed" });
  const failedItems = itemsOf(failed, "requests");
  const failures = failedItems.map((item): ListedLimit => {
    const [provider, ...model] = String(item["target"] ?? "").split("/");
    const error = item["error_message"] ?? item["error_code"] ?? item["note"];
    return { ...item, provider: provider || null, model: model.join("/") || item["model"], error };
  });
  const ids = new Set(failedItems.map((item) => item["request_id"]));
  for (const status of ["5xx", "4xx"]) {
    const records = itemsOf(await client.call("usage.records", { ...newest, status }), "records");
    append(
      failures,
      records.filter((record) => !ids.has(record["request_id"])),
    );
  }
  return {
    usage,
    rate_limits: rules?.items ?? [],
    budgets: budgets?.items ?? [],
    keys: (await listKeys(client, { user_path: path })).filter(isOf),
    refusals,
    failures: failures
      .sort((a, b) => (String(a["time"]) < String(b["time"]) ? 1 : -1))
      .slice(0, eventsMax)
      .map((failure) => ({ ...failure, error: failure["error"] ?? null })),
    server_time: rules?.serverTime ?? budgets?.serverTime ?? null,
  };
}

/** The body; null if the configuration has switched the feature off. */
function bodyIfOn(answer: DaemonAnswer): unknown {
  const isOff = !answer.ok && answer.failure.code === "feature_unavailable";
  return isOff ? null : bodyOrThrow(answer);
}

function itemsOf(answer: DaemonAnswer, name: string): readonly ListedLimit[] {
  const body = bodyIfOn(answer);
  if (body === null) return [];
  const { [name]: items } = isObject(body) ? body : {};
  if (!Array.isArray(items) || !items.every(isObject)) throw unreadableAnswer(`list of ${name}`);
  return items;
}

async function limitsIfOn<S extends string>(
  client: AdminClient,
  kind: LimitKind<S>,
  path: string,
): Promise<LimitList | null> {
  const isOff = bodyIfOn(await client.call(kind.list, { limit: 1 })) === null;
  return isOff ? null : limitsOnPath(client, kind, path);
}

function render(
  tenant: Tenant,
  { path, window, nowMs }: TenantQuery & { readonly nowMs: number },
  view: TableView,
): string {
  const { usage, rate_limits, budgets, keys, refusals, failures, server_time } = tenant;
  const serverTime = server_time ?? "";
  const part = (title: string, text: string): string => `${title}\n${text}`;
  const summary = usage === null ? null : readSummary(usage);
  return [
    summary === null
      ? part(path, "usage isn't tracked")
      : part(
          renderSentence(
            `${path}, ${windowText(window)}: ${formatCount(summary.usage.total_requests)} requests, ${formatCount(summary.usage.total_tokens)} tokens, ${formatUsd(summary.usage.total_cost, 2)}`,
            view,
          ),
          summary.groups.length === 0
            ? "no requests"
            : renderGroups(summary.groups, { by: "model", userPath: path, view }),
        ),
    ...(isUnknown(tenant, path) ? [`no request, key, rule or budget names ${path}`] : []),
    part("BUDGETS", renderBudgets({ items: budgets, serverTime }, view)),
    part("LIMITS", renderRules({ items: rate_limits, serverTime }, view)),
    part("KEYS", renderKeys(keys, view)),
    part("LAST REFUSALS", eventTable(refusals, refusalColumns(nowMs), view)),
    part("LAST FAILURES", eventTable(failures, failureColumns(nowMs), view)),
  ].join("\n\n");
}

/** Whether nothing has this path: it may be mistyped. */
function isUnknown({ usage, rate_limits, budgets, keys, refusals }: Tenant, path: string): boolean {
  const isNamed = ({ user_path, subject }: ListedLimit): boolean => (user_path ?? subject) === path;
  return (
    (usage === null || readSummary(usage).usage.total_requests === 0) &&
    keys.length === 0 &&
    refusals.length === 0 &&
    ![...rate_limits, ...budgets].some(isNamed)
  );
}

function eventTable(
  events: readonly ListedLimit[],
  columns: readonly Column<ListedLimit>[],
  view: TableView,
): string {
  return events.length === 0 ? "none" : renderTable(columns, events, view);
}

const column = (title: string, field: string): Column<ListedLimit> => ({
  title,
  align: "left",
  text: (item) => String(item[field] ?? "-"),
});

const timeColumn = (field: string, nowMs: number): Column<ListedLimit> => ({
  ...column("AT", field),
  text: ({ [field]: time }) => (typeof time === "string" ? shortTime(time, nowMs) : "-"),
});

const refusalColumns = (nowMs: number): readonly Column<ListedLimit>[] => [
  timeColumn("refused_at", nowMs),
  { ...column("PATH", "user_path"), detail: true },
  { ...column("MODEL", "model"), detail: true },
  { ...column("REQUEST", "request_id"), detail: true },
  {
    title: "WHY",
    wraps: true,
    align: "left",
    text: ({ message }) => withCurrency(String(message ?? "-")),
  },
];

const failureColumns = (nowMs: number): readonly Column<ListedLimit>[] => [
  timeColumn("time", nowMs),
  { ...column("PATH", "user_path"), detail: true },
  column("STATUS", "status"),
  { ...column("PROVIDER", "provider"), detail: true },
  { ...column("MODEL", "model"), detail: true },
  { ...column("REQUEST", "request_id"), detail: true },
  { ...column("WHY", "error"), wraps: true },
];
