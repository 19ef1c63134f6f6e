/** The operations on requests in detail: proxies report them, the admin API reads them. */

import type { RecordItem } from "../../../shared/api/record-item.js";
import {
  type RequestDetail,
  requestKinds,
  type SessionItem,
  type SessionList,
  type TrafficReport,
} from "../../../shared/api/request-item.js";
import { unreachable } from "../../../shared/assert.js";
import { recordsPerTurn, requestIdCharsMax } from "../../../shared/bounds.js";
import {
  asQuery,
  bad,
  type Checked,
  good,
  isAbsent,
  isCount,
  isObject,
  show,
} from "../../../shared/checked.js";
import { parseUserPath } from "../../../shared/domain/limit-key.js";
import { keyNumber } from "../../../shared/domain/managed-key.js";
import { costUsd } from "../../../shared/domain/money.js";
import { type Target, targetName } from "../../../shared/domain/target-name.js";
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import { append, Turns } from "../../../shared/long-lists.js";
import { dayMs, dayOf, formatMillis } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { interimStatus } from "../../../shared/wire/execution.js";
import { parseRequestReport } from "../../../shared/wire/request-report.js";
import { sessionBudget } from "../../lists/list-budgets.js";
import { parseListQuery, parseMoment } from "../../lists/list-query.js";
import { listRecords } from "../../lists/list-records.js";
import { refusalItem } from "../../lists/list-refusals.js";
import { parseRecordQuery } from "../../lists/record-query.js";
import { isWithin } from "../../lists/show-record.js";
import { type Viewer, viewerAt } from "../../rules/limits-above.js";
import type { DaemonState } from "../../state.js";
import { shownTo } from "../../usage/request-book.js";
import { parseMoments } from "../../usage/usage-query.js";
import { newestBatches } from "../../usage/usage-reader.js";
import type { UsageRecord } from "../../usage/usage-records.js";
import { type AdminRequest, type ChangePorts, checkedValue, withinOf } from "./admin-operation.js";
import { explainNow } from "./handle-explain.js";
import { answerWithRead } from "./handle-usage.js";

type RequestOp = Extract<AdminOp, `requests.${string}` | `traffic.${string}`>;

export function handleRequests(
  state: DaemonState,
  { op, body }: AdminRequest<RequestOp>,
  nowMs: number,
  ports: ChangePorts,
): void {
  switch (op) {
    case "requests.report": {
      const report = checkedValue(parseRequestReport(body), ports);
      if (report === null) return;
      const { requests, traffic, store, writer } = state;
      for (const [session, agent, userPath] of report.agents)
        requests.noteAgent({ session, userPath }, agent);
      traffic.add(store, report, nowMs);
      const changes = report.requests.flatMap(([agoMs, request]) =>
        requests.add(request, Math.max(0, nowMs - agoMs)),
      );
      // A failing store must not get more waiting changes.
      if (changes.length > 0 && writer.failing === null) void writer.tryWrite(changes);
      return ports.answer({ status: "ok" });
    }
    case "requests.list": {
      const { start, end, ...listed } = isObject(body) ? body : {};
      const query = checkedValue(
        parseListQuery(isObject(body) ? listed : body, { kind: requestKinds }),
        ports,
      );
      const moments = query && checkedValue(parseMoments({ start, end }), ports);
      if (query === null || moments === null) return;
      const viewer = viewerAt(state, withinOf(ports));
      const page = state.requests.list({ ...query, ...moments }, nowMs, viewer);
      const wrong = bad("after must be the next of the previous page", "after");
      return page === null ? void checkedValue(wrong, ports) : ports.answer(page);
    }
    case "requests.show":
      return answerWithRead(state, detailOf(state, body, nowMs, withinOf(ports)), {
        fail: ports.fail,
        answer: (detail) =>
          isEmpty(detail as RequestDetail)
            ? ports.fail(unknownRequest(detail as RequestDetail, state.requests.max))
            : ports.answer(detail),
      });
    case "requests.sessions":
      return answerWithRead(state, sessions(state, body, nowMs, withinOf(ports)), ports);
    case "traffic.summary":
      return answerWithRead(state, summary(state, body, nowMs), ports);
    default:
      return unreachable(op);
  }
}

/** Pages of records that are searched for a request: about half a million records. */
const pagesMax = 25;

/** What is known of a request in a subtree. Callers elsewhere may have chosen the same id. */
function detailOf(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  within: string,
): Checked<Promise<RequestDetail>> {
  const fields = asQuery(body, ["request_id"]);
  if (!fields.ok) return fields;
  const { request_id: id } = fields.value;
  if (typeof id !== "string" || id === "" || id.length > requestIdCharsMax)
    return bad(`request_id must be the X-Request-ID of a request, not ${show(id)}`, "request_id");
  const request = state.requests.find(id, within, viewerAt(state, within));
  const refusal = state.refusals.find(id, within);
  const records = recordsOf(state, id, { request, isRefused: refusal !== null, within }, nowMs);
  return good(
    records.then((records): RequestDetail => {
      const first = records[0];
      const userPath = request?.user_path ?? refusal?.userPath ?? first?.user_path ?? null;
      const requestTarget = request?.target ?? null;
      const target =
        requestTarget !== null
          ? targetOf(requestTarget)
          : first === undefined
            ? null
            : { provider: first.provider, model: first.model ?? "" };
      const targets = refusal?.targets ?? (target === null ? [] : [target]);
      const keyId = request?.key_id ?? refusal?.keyId ?? first?.key_id ?? "";
      return {
        request_id: id,
        request,
        records,
        refusal: refusal === null ? null : refusalItem(refusal, viewerAt(state, within)),
        limits:
          userPath === null || targets.length === 0
            ? null
            : explainNow(state, { userPath, targets, submission: false }, { nowMs, within }, keyId),
        server_time: formatMillis(nowMs),
      };
    }),
  );
}

interface Sought {
  readonly request: RequestDetail["request"];
  readonly isRefused: boolean;
  readonly within: string;
}

/** The usage records of a request. If its time is known, only those of that day are searched. */
async function recordsOf(
  state: DaemonState,
  requestId: string,
  { request, isRefused, within }: Sought,
  nowMs: number,
): Promise<readonly RecordItem[]> {
  if (!state.settings.usageEnabled || (isRefused && request === null)) return [];
  const atMs = request === null ? null : Date.parse(request.time);
  const from = atMs === null ? {} : { start_date: dayOf(Math.max(0, atMs - dayMs)) };
  const records: RecordItem[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const query = parseRecordQuery({ request_id: requestId, user_path: within, after, ...from });
    if (!query.ok) return records;
    const page = await listRecords(state, query.value, nowMs);
    append(records, page.records);
    // The parts of a request are recorded one after another.
    if (page.next === null || (records.length > 0 && page.records.length === 0)) break;
    after = page.next;
  }
  return records;
}

/** The reverse of `targetName`: providers' names have no slash. */
function targetOf(name: string): Target {
  const slash = name.indexOf("/");
  return slash === -1
    ? { provider: name, model: "" }
    : { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}

function isEmpty({ request, records, refusal }: RequestDetail): boolean {
  return request === null && refusal === null && records.length === 0;
}

function unknownRequest({ request_id: id }: RequestDetail, keptCount: number): Failure {
  return plainFailure(
    404,
    "not_found_error",
    `no request ${show(id)} is known: the daemon has the usage records of requests that were sent to a provider, and the details of the last ${keptCount} that failed and the last ${keptCount} that were refused, invalid, canceled or took several attempts (usage.request_details)`,
  );
}

/** The most records that are read for a list of sessions. */
const sessionRecordsMax = 300_000;
const sessionsListed = 500;
const runningMs = 300_000;

function sessions(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  within: string,
): Checked<Promise<SessionList>> {
  const fields = asQuery(body, ["user_path", "start", "end", "session"]);
  if (!fields.ok) return fields;
  const path = parseUserPath(fields.value["user_path"] ?? "/", "user_path");
  if (!path.ok) return path;
  const { start, end, session } = fields.value;
  const moments = parseMoments({ start, end });
  if (!moments.ok) return moments;
  if (!isAbsent(session) && typeof session !== "string")
    return bad(`session must be the name of a session, not ${show(session)}`, "session");
  return good(
    readSessions(
      state,
      {
        fromMs: moments.value.fromMs ?? (moments.value.beforeMs ?? nowMs) - dayMs,
        beforeMs: moments.value.beforeMs,
        userPath: path.value,
        session: session ?? null,
        viewer: viewerAt(state, within),
      },
      nowMs,
    ),
  );
}

interface SessionQuery {
  readonly fromMs: number;
  readonly beforeMs: number | null;
  readonly userPath: string;
  readonly session: string | null;
  readonly viewer: Viewer;
}

type SessionSums = { -readonly [F in keyof SessionItem]: SessionItem[F] } & { cost: number };

async function readSessions(
  state: DaemonState,
  { fromMs, beforeMs, userPath, session, viewer }: SessionQuery,
  nowMs: number,
): Promise<SessionList> {
  const bySession = new Map<string, SessionSums>();
  let lookedBackTo: string | null = null;
  let examined = 0;
  const turns = new Turns(recordsPerTurn);
  const window = { fromMs, beforeMs, userPath };
  for (const { records } of newestBatches(state, window, Number.POSITIVE_INFINITY)) {
    for (const record of records) {
      if (record.session === "" || (session !== null && record.session !== session)) continue;
      if (!isWithin(record, window)) continue;
      const id = `${record.userPath}\n${record.session}`;
      let item = bySession.get(id);
      if (item === undefined) {
        item = newSession(state, record);
        bySession.set(id, item);
      }
      item.started_at = earlier(item.started_at, formatMillis(record.atMs - record.latencyMs));
      if (record.status !== interimStatus) item.requests++;
      item.input_tokens += record.inputTokens;
      item.output_tokens += record.outputTokens;
      if (record.totalCost === null) item.unpriced++;
      else item.cost += record.totalCost;
      const model = targetName(record);
      if (item.models.length < 10 && !item.models.includes(model))
        item.models = [...item.models, model];
    }
    examined += records.length + 4;
    lookedBackTo = records[0] === undefined ? lookedBackTo : formatMillis(records[0].atMs);
    if (examined >= sessionRecordsMax) break;
    if (turns.isOver(records.length + 4)) await state.yieldToEventLoop();
  }
  for (const batch of state.requests.since(fromMs)) {
    for (const request of batch) {
      const { report } = shownTo(viewer, request);
      const item = bySession.get(`${report.user_path ?? ""}\n${report.session ?? ""}`);
      if (item === undefined) continue;
      const { attempts = [] } = report;
      const targets = new Set(attempts.map(({ target }) => target));
      if (targets.size > 1) item.failovers++;
      if (attempts.length > targets.size) item.retried++;
      if (report.kind === "failed" || report.kind === "refused") {
        item.failures++;
        item.last_error ??= report.error_message ?? report.outcome;
      }
      item.agent ??= report.agent ?? null;
    }
    await state.yieldToEventLoop();
  }
  const all = [...bySession.values()].sort((a, b) => (a.ended_at < b.ended_at ? 1 : -1));
  return {
    sessions: all.slice(0, sessionsListed).map(({ cost, ...item }) => ({
      ...item,
      total_cost: costUsd(cost),
      running: nowMs - Date.parse(item.ended_at) < runningMs,
      ...sessionBudget(state, item, nowMs),
    })),
    looked_back_to: lookedBackTo,
    server_time: formatMillis(nowMs),
  };
}

function earlier(one: string, other: string): string {
  return one < other ? one : other;
}

/** `record`: its last one. */
function newSession(
  state: DaemonState,
  { session, userPath, keyId, atMs }: UsageRecord,
): SessionSums {
  return {
    session,
    user_path: userPath,
    key_id: keyId === "" ? null : keyId,
    key_name: state.keys.byNumber(keyNumber(keyId) ?? 0)?.name ?? null,
    agent: state.requests.agentOf({ session, userPath }),
    models: [],
    started_at: formatMillis(atMs),
    ended_at: formatMillis(atMs),
    running: false,
    requests: 0,
    input_tokens: 0,
    output_tokens: 0,
    total_cost: 0,
    unpriced: 0,
    failures: 0,
    failovers: 0,
    retried: 0,
    last_error: null,
    cost: 0,
  };
}

const defaultSeconds = 3600;

/** Ranges of traffic by minutes or hours; the default is the last hour. */
function summary(
  { traffic, store, yieldToEventLoop }: DaemonState,
  body: unknown,
  nowMs: number,
): Checked<Promise<TrafficReport>> {
  const fields = asQuery(body, ["start", "end", "seconds"]);
  if (!fields.ok) return fields;
  const before = parseMoment(fields.value["end"], "end");
  if (!before.ok) return before;
  const seconds = Number(fields.value["seconds"] ?? defaultSeconds);
  if (!isCount(seconds, 1)) return bad("seconds must be a number from 1", "seconds");
  if (!isAbsent(fields.value["seconds"]) && !isAbsent(fields.value["start"]))
    return bad("seconds and start exclude each other: both say where the range begins", "seconds");
  const from = parseMoment(fields.value["start"], "start");
  if (!from.ok) return from;
  const beforeMs = before.value ?? nowMs + 1;
  const fromMs = from.value ?? Math.max(0, beforeMs - seconds * 1000);
  if (fromMs >= beforeMs) return bad("start must be before end", "start");
  const range = { fromMs, beforeMs };
  return good(traffic.report({ store, yieldToEventLoop }, range, nowMs));
}
