/** The admin operations on usage. They work in slices, so that no admission waits for them. */
import type { UsageStatus } from "../../../shared/api/usage-report.js";
import { unreachable } from "../../../shared/assert.js";
import { type Checked, isObject } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import type { AdminOp, Grouping } from "../../../shared/wire/admin-op.js";
import { isSession } from "../../../shared/wire/execution.js";
import { parseFollowQuery } from "../../lists/follow-query.js";
import { followRecords } from "../../lists/follow-records.js";
import { listRecords } from "../../lists/list-records.js";
import { parseRecordQuery } from "../../lists/record-query.js";
import type { DaemonState } from "../../state.js";
import { StoreFailingError, StoreUnreadableError } from "../../store/store.js";
import { summarizeUsage } from "../../usage/reports/summarize-usage.js";
import { forCallers } from "../../usage/reports/usage-totals.js";
import { parseAdjustments } from "../../usage/repricing.js";
import {
  parseExportPage,
  parseGrouping,
  parseSplit,
  parseSummaryWindow,
  parseUsageWindow,
  type UsageWindow,
} from "../../usage/usage-query.js";
import { adjustUsage } from "./adjust-usage.js";
import type { AdminRequest, AnswerPorts } from "./admin-operation.js";
import { exportRecords } from "./export-records.js";
import { type StatusAsker, usageStatus } from "./usage-status.js";

type UsageOp = Extract<AdminOp, `usage.${string}`>;

export function handleUsage(
  state: DaemonState,
  request: AdminRequest<UsageOp>,
  nowMs: number,
  ports: AnswerPorts,
): void {
  answerWithRead(state, answerOf(state, request, nowMs), ports);
}

/** Answers with the result of a read, or with the reason why it failed. */
export function answerWithRead(
  state: Pick<DaemonState, "onUnreadable">,
  answer: Checked<Promise<unknown>>,
  ports: AnswerPorts,
): void {
  if (!answer.ok) return ports.fail(answer.failure);
  void answer.value.then(ports.answer, (error: unknown) => {
    if (error instanceof StoreFailingError)
      return ports.fail(failure("usage_status_failed", error.message));
    failUnreadable(state, error, ports, "recorded usage");
  });
}

/** Answers with a list that is in the store alone, or says that it can't be read. */
export function answerList(
  state: Pick<DaemonState, "onUnreadable">,
  subject: string,
  list: () => unknown,
  ports: AnswerPorts,
): void {
  let answer: unknown;
  try {
    answer = list();
  } catch (error) {
    return failUnreadable(state, error, ports, subject);
  }
  ports.answer(answer);
}

function failUnreadable(
  state: Pick<DaemonState, "onUnreadable">,
  error: unknown,
  ports: AnswerPorts,
  subject: string,
): void {
  if (!(error instanceof StoreUnreadableError)) throw error;
  state.onUnreadable(error);
  ports.fail(
    failure("usage_status_failed", `the ${subject} can't be read: the daemon's log says why`),
  );
}

function answerOf(
  state: DaemonState,
  { op, body, by: asker }: AdminRequest<UsageOp>,
  nowMs: number,
): Checked<Promise<unknown>> {
  if (op === "usage.export") {
    if (!state.settings.usageEnabled) return usageIsOff(state);
    const page = parseExportPage(body);
    return page.ok ? { ok: true, value: exportRecords(state, page.value, nowMs) } : page;
  }
  if (op === "usage.follow") {
    if (!state.settings.usageEnabled) return usageIsOff(state);
    const query = parseFollowQuery(body);
    return query.ok ? followRecords(state, query.value, nowMs) : query;
  }
  if (op === "usage.records") {
    if (!state.settings.usageEnabled) return usageIsOff(state);
    const query = parseRecordQuery(body);
    return query.ok ? { ok: true, value: listRecords(state, query.value, nowMs) } : query;
  }
  if (op === "usage.adjust") {
    if (!state.settings.usageEnabled) return usageIsOff(state);
    const adjustments = parseAdjustments(body);
    return adjustments.ok
      ? { ok: true, value: adjustUsage(state, adjustments.value, { op, by: asker }, nowMs) }
      : adjustments;
  }
  const window = op === "usage.summary" ? parseSummaryWindow(body, nowMs) : parseUsageWindow(body);
  if (!window.ok) return window;
  if (op === "usage.status") {
    const by = parseGrouping(body);
    return by.ok
      ? { ok: true, value: statusWithGroups(state, window.value, { by: by.value, body }, nowMs) }
      : by;
  }
  if (op !== "usage.summary") return unreachable(op);
  if (!state.settings.usageEnabled) return usageIsOff(state);
  const split = parseSplit(body, window.value);
  return split.ok
    ? { ok: true, value: summarizeUsage(state, window.value, split.value, nowMs) }
    : split;
}

/** The status of a path, with a summary's groups if the body asks for them and usage is tracked. */
async function statusWithGroups(
  state: DaemonState,
  window: UsageWindow,
  { by, body }: { readonly by: Grouping | null; readonly body: unknown },
  nowMs: number,
): Promise<UsageStatus> {
  const status = await usageStatus(state, window, askerOf(body), nowMs);
  if (by === null || !state.settings.usageEnabled) return status;
  const { usage, groups, hosts } = await summarizeUsage(state, window, { by, step: null }, nowMs);
  return { ...status, usage, groups, ...(hosts === undefined ? {} : { hosts: forCallers(hosts) }) };
}

/** The `key_id` and `session` of a body: those that ask about themselves. */
function askerOf(body: unknown): StatusAsker {
  const { key_id: keyId, session } = isObject(body) ? body : {};
  return {
    keyId: typeof keyId === "string" ? keyId : "",
    session: isSession(session) ? session : "",
  };
}

export function usageIsOff({ settings }: Pick<DaemonState, "settings">): Checked<never> {
  const why = settings.settingText("usage.enabled");
  return {
    ok: false,
    failure: failure("feature_unavailable", `usage isn't tracked: ${why}`),
  };
}
