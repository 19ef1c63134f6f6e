/**
 * The admin operations, for the HTTP API and the command line alike (CONTRACT section 6). Each
 * checks its body whole before it changes anything, and answers once the change is committed.
 */
import { unreachable } from "../../../shared/assert.js";
import { parseConfirmation } from "../../../shared/checked.js";
import { inertRule } from "../../../shared/config/inert-rule.js";
import {
  parseRuleKey,
  parseRuleResetOne,
  parseRuleWrite,
  periodLabel,
} from "../../../shared/domain/rule.js";
import { failure } from "../../../shared/error-code.js";
import type { Admin } from "../../../shared/wire/message.js";
import type { Rule } from "../../counters/counter.js";
import { resetAllChange, ruleChange, ruleRemovals } from "../../rules/stored-rule.js";
import { type DaemonState, isLimited } from "../../state.js";
import { pageAfter, valueOf, writeChange } from "./admin-body.js";
import { handleBudgets, isBudgetOp } from "./handle-budgets.js";
import { handleExplain } from "./handle-explain.js";
import { handleKeys, type KeyPorts } from "./handle-keys.js";
import { handleUsage } from "./handle-usage.js";
import { listRules } from "./list-rules.js";
import { daemonStatus } from "./status.js";

export interface AdminPorts extends KeyPorts {
  /** Called after a change of the set of rules, with what `isLimited` said before it. */
  limitedMayHaveChanged(before: boolean): void;
  /** Called after the number of inert rules, or that of inert budgets, has changed. */
  inertChanged(name: "inert_rules" | "inert_budgets", value: number): void;
}

export function handleAdmin(
  state: DaemonState,
  message: Admin,
  nowMs: number,
  ports: AdminPorts,
): void {
  const { op, body } = message;
  if (op === "status") {
    ports.answer(daemonStatus(state, nowMs));
    return;
  }
  if (op === "keys.issue" || op === "keys.list" || op === "keys.deactivate")
    return handleKeys(state, op, body, nowMs, ports);
  if (op === "usage.status" || op === "usage.summary" || op === "usage.export")
    return handleUsage(state, { op, body }, nowMs, ports);
  if (isBudgetOp(op)) return handleBudgets(state, { ...message, op }, nowMs, ports);
  if (op === "explain") {
    const answer = valueOf(handleExplain(state, body, nowMs), ports);
    return answer === null ? undefined : ports.answer(answer);
  }
  if (!state.settings.rateLimitsEnabled) {
    ports.fail(
      failure("feature_unavailable", "rate limits are disabled: RATE_LIMITS_ENABLED is false"),
    );
    return;
  }
  switch (op) {
    case "rate-limits.list":
      return list(state, body, nowMs, ports);
    case "rate-limits.put":
      return put(state, body, nowMs, ports);
    case "rate-limits.delete":
      return remove(state, body, ports);
    case "rate-limits.reset-one":
      return resetOne(state, body, ports);
    case "rate-limits.reset":
      return resetAll(state, body, ports);
    default:
      return unreachable(op);
  }
}

function list(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const after = pageAfter(body, ports);
  if (after !== undefined)
    ports.answer(listRules(state.book, { nowMs, inertReason: state.settings.inertReason, after }));
}

function put(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const definition = valueOf(
    parseRuleWrite(body, { perChildEntitled: state.settings.quotaTemplatesEntitled }),
    ports,
  );
  if (definition === null) return;
  const before = isLimited(state);
  const rule = state.book.put(definition, {
    source: "manual",
    nowMs,
    lsn: state.writer.closeBatch(),
  });
  ports.limitedMayHaveChanged(before);
  const inert = state.settings.inertReason(rule.definition);
  if (inert !== null) state.onInert(inertRule(rule.definition, inert));
  noteInert(state, rule, inert !== null, ports);
  writeChange(state, [ruleChange(rule)], ports, () =>
    ports.answer(inert === null ? {} : { inert }),
  );
}

function remove(state: DaemonState, body: unknown, ports: AdminPorts): void {
  const key = valueOf(parseRuleKey(body), ports);
  if (key === null) return;
  const before = isLimited(state);
  const rule = state.book.delete(key);
  if (rule === null)
    return ports.fail(
      failure(
        "rate_limit_not_found",
        `no ${periodLabel(key.periodSeconds)} rule on ${key.scope} ${key.subject}`,
      ),
    );
  ports.limitedMayHaveChanged(before);
  noteInert(state, rule, false, ports);
  writeChange(state, ruleRemovals(rule.id), ports, () => ports.answer({}));
}

function noteInert(
  { inertRules }: DaemonState,
  { id }: Rule,
  isInert: boolean,
  ports: AdminPorts,
): void {
  const { size } = inertRules;
  if (isInert) inertRules.add(id);
  else inertRules.delete(id);
  if (inertRules.size !== size) ports.inertChanged("inert_rules", inertRules.size);
}

function resetOne(state: DaemonState, body: unknown, ports: AdminPorts): void {
  const key = valueOf(parseRuleResetOne(body), ports);
  if (key === null) return;
  const rule = state.book.find(key);
  if (rule === null) return ports.answer({});
  state.book.reset(rule, state.writer.closeBatch());
  writeChange(state, [ruleChange(rule)], ports, () => ports.answer({}));
}

/** One number in the store, however many rules there are: windows up to it are void. */
function resetAll(state: DaemonState, body: unknown, ports: AdminPorts): void {
  if (valueOf(parseConfirmation(body), ports) === null) return;
  const lsn = state.writer.closeBatch();
  state.book.resetAll(lsn);
  writeChange(state, [resetAllChange(lsn)], ports, () => ports.answer({}));
}
