/**
 * The admin operations on usage: they read alone, in slices, so they never keep an admission
 * waiting.
 */
import { unreachable } from "../../../shared/assert.js";
import type { Checked } from "../../../shared/checked.js";
import { type Failure, failure } from "../../../shared/error-code.js";
import type { DaemonState } from "../../state.js";
import { StoreFailingError, StoreUnreadableError } from "../../store/store.js";
import { exportUsage } from "./export-usage.js";
import { usageStatus } from "./usage-status.js";
import { summarizeUsage } from "./usage-summary.js";
import { parseExportPage, parseGrouping, parseUsageWindow } from "./usage-window.js";

export const usageOps = ["usage.status", "usage.summary", "usage.export"] as const;
export type UsageOp = (typeof usageOps)[number];

export interface UsagePorts {
  answer(body: unknown): void;
  fail(failure: Failure): void;
}

export function handleUsage(
  state: DaemonState,
  { op, body }: { readonly op: UsageOp; readonly body: unknown },
  nowMs: number,
  ports: UsagePorts,
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
    return page.ok ? { ok: true, value: exportUsage(state, page.value, nowMs) } : page;
  }
  const window = parseUsageWindow(body);
  if (!window.ok) return window;
  if (op === "usage.status") return { ok: true, value: usageStatus(state, window.value, nowMs) };
  if (op !== "usage.summary") return unreachable(op);
  if (!state.settings.usageEnabled) return usageIsOff();
  const by = parseGrouping(body);
  return by.ok ? { ok: true, value: summarizeUsage(state, window.value, by.value, nowMs) } : by;
}

function usageIsOff(): Checked<never> {
  return {
    ok: false,
    failure: failure("feature_unavailable", "usage isn't tracked: USAGE_ENABLED is false"),
  };
}
