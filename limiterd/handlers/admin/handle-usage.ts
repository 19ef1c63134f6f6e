/**
 * The admin operations on usage: they only read, in slices, so that no admission waits for them.
 */
import { unreachable } from "../../../shared/assert.js";
import { type Checked, isObject } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { DaemonState } from "../../state.js";
import { StoreFailingError, StoreUnreadableError } from "../../store/store.js";
import { parseExportPage, parseGrouping, parseUsageWindow } from "../../usage/usage-query.js";
import type { AdminRequest, AnswerPorts } from "./admin-operation.js";
import { exportRecords } from "./export-records.js";
import { summarizeUsage } from "./summarize-usage.js";
import { usageStatus } from "./usage-status.js";

type UsageOp = Extract<AdminOp, `usage.${string}`>;

export function handleUsage(
  state: DaemonState,
  { op, body }: AdminRequest<UsageOp>,
  nowMs: number,
  ports: AnswerPorts,
): void {
  const answered = answerOf(state, op, body, nowMs);
  if (!answered.ok) return ports.fail(answered.failure);
  void answered.value.then(ports.answer, (error: unknown) => {
    if (error instanceof StoreFailingError)
      return ports.fail(failure("usage_status_failed", error.message));
    if (!(error instanceof StoreUnreadableError)) throw error;
    state.onUnreadable(error);
    ports.fail(
      failure("usage_status_failed", "the recorded usage can't be read: the daemon's log says why"),
    );
  });
}

function answerOf(
  state: DaemonState,
  op: UsageOp,
  body: unknown,
  nowMs: number,
): Checked<Promise<unknown>> {
  if (op === "usage.export") {
    if (!state.settings.usageEnabled) return usageIsOff();
    const page = parseExportPage(body);
    return page.ok ? { ok: true, value: exportRecords(state, page.value, nowMs) } : page;
  }
  const window = parseUsageWindow(body);
  if (!window.ok) return window;
  if (op === "usage.status")
    return { ok: true, value: usageStatus(state, window.value, keyIdOf(body), nowMs) };
  if (op !== "usage.summary") return unreachable(op);
  if (!state.settings.usageEnabled) return usageIsOff();
  const by = parseGrouping(body);
  return by.ok ? { ok: true, value: summarizeUsage(state, window.value, by.value, nowMs) } : by;
}

/** The `key_id` of a body: of the managed key that asks about itself; empty without one. */
function keyIdOf(body: unknown): string {
  const keyId = isObject(body) ? body["key_id"] : "";
  return typeof keyId === "string" ? keyId : "";
}

function usageIsOff(): Checked<never> {
  return {
    ok: false,
    failure: failure("feature_unavailable", "usage isn't tracked: USAGE_ENABLED is false"),
  };
}
