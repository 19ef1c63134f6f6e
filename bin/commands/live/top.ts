/** `sluice top`: the activity of the gateway, redrawn each second, until `q`. */
import type { Command } from "commander";
import { isObject } from "../../../shared/checked.js";
import { dayOf, formatMillis } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { keyOfItem, type ListedLimit } from "../../limits/list-limits.js";
import {
  type Counts,
  countLines,
  drawTop,
  selectedItem,
  type TopData,
} from "../../live/top-screen.js";
import { firstState, onKey, type Tab, type TopState } from "../../live/top-state.js";
import { CommandFailure, stoppedFailure, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";
import { readDuration } from "../../text/duration.js";

interface TopFlags extends CommandFlags {
  readonly interval?: string;
}

const everyMsDefault = 1_000;
/** Today's spend is a sum over records, so it is polled less often. */
const spentEveryMs = 15_000;
/** Likewise the sums by path and provider. */
const usageEveryMs = 5_000;

/** Adds `top` to the program. */
export function addTop(program: Command, session: Session): void {
  program
    .command("top")
    .description("show what the gateway does, updated each second")
    .option("--interval <time>", "how often, such as 5s (default: 1s)")
    .addOption(jsonOption("print one object per interval"))
    .action((_options, command: Command) => runTop(session, command.optsWithGlobals<TopFlags>()));
}

async function runTop(session: Session, flags: TopFlags): Promise<void> {
  const seconds = flags.interval === undefined ? null : readDuration(flags.interval);
  if (flags.interval !== undefined && seconds === null) {
    const message = `--interval must be a length of time such as 5s (s, m, h, d or w), not ${JSON.stringify(flags.interval)}`;
    throw usageFailure([{ message, param: "--interval" }]);
  }
  const everyMs = seconds === null ? everyMsDefault : seconds * 1000;
  const screen = flags.json === true ? null : session.terminal.openScreen();
  if (screen === null) return printAgain(session, flags, everyMs);
  try {
    let state = firstState;
    let data: TopData | null = null;
    const readAgain = createReader(session, flags);
    for (let dueMs = 0; ; ) {
      if (!state.isPaused && session.monoMs() >= dueMs) {
        data = await readAgain(state.tab);
        dueMs = session.monoMs() + everyMs;
      }
      screen.draw(drawTop(state, data!, screen.size()));
      const key = await screen.nextKey(Math.max(50, dueMs - session.monoMs()));
      if (key === null || key === "resize") continue;
      const pressed = onKey(state, key, countLines(state, data!));
      // Another table needs another request.
      if (pressed.state.tab !== state.tab) dueMs = 0;
      state = pressed.state;
      if (pressed.action === "suspend") screen.suspend();
      if (pressed.action === "explain") state = { ...state, message: explainCommand(state, data!) };
      if (pressed.action === "reset") {
        state = { ...state, message: await reset(session, flags, { state, data: data! }) };
        dueMs = 0;
      }
      if (key === "ctrl-c") throw stoppedFailure();
      if (pressed.action === "quit") break;
      if (pressed.state.tab !== state.tab) state = { ...state, selected: 0 };
    }
  } finally {
    screen.close();
  }
}

interface Question {
  readonly op: AdminOp;
  /** The name of the items in the answer. */
  readonly items: string;
  readonly body: object;
}

/** The request of a table. `today`: the day in UTC. */
function questionOf(tab: Tab, today: string): Question {
  const limit = 200;
  const usage = { user_path: "/", start_date: today, end_date: today };
  switch (tab) {
    case "rules":
      return { op: "rate-limits.list", items: "rate_limits", body: { limit, order: "use" } };
    case "budgets":
      return { op: "budgets.list", items: "budgets", body: { limit, order: "use" } };
    case "paths":
      return { op: "usage.summary", items: "groups", body: { ...usage, by: "path" } };
    case "providers":
      return { op: "usage.summary", items: "groups", body: { ...usage, by: "provider" } };
    case "in flight":
      return { op: "leases.list", items: "in_flight", body: { limit } };
    case "refusals":
      return { op: "refusals.list", items: "refusals", body: { limit } };
  }
}

/** Reads one page of a table, fullest items first, and the counts beside it. */
function createReader(session: Session, flags: TopFlags): (tab: Tab) => Promise<TopData> {
  let last: TopData | null = null;
  let spent: { readonly usd: number | null; readonly untilMs: number } = { usd: null, untilMs: 0 };
  let usage: { readonly tab: Tab; readonly page: Fields; readonly untilMs: number } | null = null;
  async function pageOf(client: AdminClient, tab: Tab): Promise<Fields> {
    if (usage?.tab === tab && session.monoMs() < usage.untilMs) return usage.page;
    const { op, body } = questionOf(tab, dayOf(session.nowMs()));
    const answer = await client.call(op, body);
    if (op !== "usage.summary") return fieldsOf(bodyOrThrow(answer));
    // Absent if usage isn't tracked.
    const isOff = !answer.ok && answer.failure.code === "feature_unavailable";
    const page = isOff ? {} : fieldsOf(bodyOrThrow(answer));
    usage = { tab, page, untilMs: session.monoMs() + usageEveryMs };
    return page;
  }
  return async (tab) => {
    try {
      last = await withDaemon(session, flags, async (client) => {
        if (session.monoMs() >= spent.untilMs)
          spent = {
            usd: await spentToday(client, session),
            untilMs: session.monoMs() + spentEveryMs,
          };
        const page = await pageOf(client, tab);
        const { items } = questionOf(tab, "");
        const before = last?.now ?? null;
        return readCounts(client, {
          session,
          before,
          spentTodayUsd: spent.usd,
          list: page[items],
          page,
        });
      });
    } catch (error) {
      // A failure of the first reading ends the command; a later one is shown on the screen.
      if (!(error instanceof CommandFailure) || last === null) throw error;
      last = { ...last, lost: error.message };
    }
    return last;
  };
}

async function readCounts(
  client: AdminClient,
  {
    session,
    before,
    spentTodayUsd,
    page,
    list,
  }: {
    readonly session: Session;
    readonly before: Counts | null;
    readonly spentTodayUsd: number | null;
    /** The answer to the table's request, and its items. */
    readonly page: Fields;
    readonly list: unknown;
  },
): Promise<TopData> {
  const status = fieldsOf(bodyOrThrow(await client.call("status", null)));
  const store = fieldsOf(status["store"]);
  const now: Counts = {
    atMs: session.monoMs(),
    admitted: count(status["admitted"]),
    refused: count(status["refused"]),
    tokens: count(status["tokens"]),
  };
  return {
    // Smaller counts come from a restarted daemon.
    before: before !== null && before.admitted <= now.admitted ? before : null,
    now,
    inFlight: count(status["in_flight"]),
    spentTodayUsd,
    storeFailing: typeof store["failing"] === "string" ? store["failing"] : null,
    lost: null,
    serverMs: Date.parse(String(page["server_time"])),
    items: Array.isArray(list) ? list.filter(isObject) : [],
  };
}

/** Null if usage isn't tracked. */
async function spentToday(client: AdminClient, { nowMs }: Session): Promise<number | null> {
  const today = dayOf(nowMs());
  const answer = await client.call("usage.summary", {
    user_path: "/",
    start_date: today,
    end_date: today,
    by: "day",
  });
  if (!answer.ok) return null;
  const cost = fieldsOf(fieldsOf(answer.body)["usage"])["total_cost"];
  return typeof cost === "number" ? cost : null;
}

/** The result of a reset, for the line below the table. */
async function reset(
  session: Session,
  flags: TopFlags,
  { state, data }: { readonly state: TopState; readonly data: TopData },
): Promise<string> {
  const item = selectedItem(state, data);
  if (item === undefined) return "there is nothing to reset";
  if (typeof item["template"] === "string")
    return `a child can't be reset alone; its template is ${item["template"]}`;
  const op = state.tab === "budgets" ? "budgets.reset-one" : "rate-limits.reset-one";
  try {
    await withDaemon(session, flags, async (client) =>
      bodyOrThrow(await client.call(op, keyOfItem(item))),
    );
    return `reset: ${String(item["subject"])} ${String(item["period_label"])}`;
  } catch (error) {
    if (error instanceof CommandFailure) return error.message;
    throw error;
  }
}

function explainCommand(state: TopState, data: TopData): string {
  const item: ListedLimit = selectedItem(state, data) ?? {};
  const { request_id: id, user_path: path, subject, target, key } = item;
  if (state.tab === "paths") return `sluice usage --path ${String(key ?? "/")} --by model`;
  if (state.tab === "providers") return "sluice usage --by model";
  if (typeof id === "string") return `sluice explain --request ${id}`;
  return `sluice explain --path ${String(path ?? subject ?? "/")} --model ${String(target ?? "MODEL")}`;
}

/** Without a terminal: prints a table or an object each time, until a signal. */
async function printAgain(session: Session, flags: TopFlags, everyMs: number): Promise<void> {
  const readAgain = createReader(session, flags);
  for (;;) {
    const data = await readAgain("rules");
    const { items } = data;
    const lines = drawTop(firstState, data, { columns: 10_000, rows: items.length + 5 });
    await session.terminal.write(
      flags.json === true
        ? `${topJson(data)}\n`
        : `${[lines[0], ...lines.slice(2, -1)].join("\n").trimEnd()}\n\n`,
    );
    await session.pause(everyMs);
  }
}

/** The daemon's counts since its start, and the rules as the admin API lists them. */
function topJson({
  now,
  inFlight,
  spentTodayUsd,
  storeFailing,
  lost,
  serverMs,
  items,
}: TopData): string {
  return JSON.stringify({
    server_time: formatMillis(serverMs),
    admitted: now.admitted,
    refused: now.refused,
    tokens: now.tokens,
    in_flight: inFlight,
    spent_today_usd: spentTodayUsd,
    store_failing: storeFailing,
    lost,
    rate_limits: items,
  });
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
