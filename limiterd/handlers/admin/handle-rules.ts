/**
 * The admin operations on rate-limit rules, for the HTTP API and the command line alike. Each
 * checks its whole body before it changes anything, and is answered once the change is committed.
 */
import { unreachable } from "../../../shared/assert.js";
import { parseConfirmation } from "../../../shared/checked.js";
import { inertRule } from "../../../shared/config/inert-rule.js";
import {
  isSameKey,
  parseRuleKey,
  parseRuleResetOne,
  parseRuleWrite,
  periodLabel,
  type RuleKey,
  ruleGrammar,
  ruleId,
} from "../../../shared/domain/rule.js";
import { type Failure, failure, invalid } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Rule } from "../../counters/counter.js";
import { listChildren } from "../../lists/list-children.js";
import { isByUse, parseChildrenQuery, parseListQuery } from "../../lists/list-query.js";
import { listFullestRules, listRules, ruleChoices } from "../../lists/list-rules.js";
import {
  resetAllChange,
  ruleChange,
  ruleRemovals,
  rulesNoteChange,
} from "../../rules/stored-rule.js";
import { type DaemonState, isLimited } from "../../state.js";
import type { Change } from "../../store/store.js";
import {
  type AdminPorts,
  type AdminRequest,
  checkedValue,
  writeChange,
} from "./admin-operation.js";
import { parseMove } from "./parse-move.js";

type RuleOp = Extract<AdminOp, `rate-limits.${string}`>;

export function handleRules(
  state: DaemonState,
  { op, body }: AdminRequest<RuleOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  if (!state.settings.rateLimitsEnabled)
    return ports.fail(
      failure("feature_unavailable", "rate limits are disabled: RATE_LIMITS_ENABLED is false"),
    );
  switch (op) {
    case "rate-limits.list":
      return list(state, body, nowMs, ports);
    case "rate-limits.children":
      return listTop(state, body, nowMs, ports);
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
  const query = checkedValue(parseListQuery(body, ruleChoices), ports);
  if (query === null) return;
  const { book, settings, yieldToEventLoop } = state;
  const { inertReason, configFile } = settings;
  const options = { nowMs, inertReason, configFile, query };
  if (isByUse(query))
    return void listFullestRules(book, options, yieldToEventLoop).then(ports.answer);
  ports.answer(listRules(book, options));
}

/** The body: a rule as in a reset of one, with `limit` and `search`. */
function listTop(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const asked = checkedValue(parseChildrenQuery(body), ports);
  if (asked === null) return;
  const named = checkedValue(parseRuleResetOne(asked.key), ports);
  if (named === null) return;
  const rule = state.book.find(named);
  if (rule === null) return ports.fail(unknownRule(named));
  if (rule.own !== null)
    return ports.fail(
      invalid(`the ${nameOf(named)} is no template: it has no children`, "subject"),
    );
  if (state.book.unread !== null)
    return ports.fail(
      failure(
        "overloaded",
        "the daemon has just started and still reads the children: try again in some seconds",
      ),
    );
  const { yieldToEventLoop } = state;
  void listChildren(rule, asked.query, { nowMs, yieldToEventLoop }).then(ports.answer);
}

function put(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const { book } = state;
  const move = checkedValue(parseMove(ruleGrammar, body), ports);
  if (move === null) return;
  const definition = checkedValue(
    parseRuleWrite(move.body, { perChildEntitled: state.settings.quotaTemplatesEntitled }),
    ports,
  );
  if (definition === null) return;
  const moved =
    move.replaced === null || ruleId(move.replaced) === ruleId(definition) ? null : move.replaced;
  if (moved !== null && book.find(moved) === null) return ports.fail(unknownRule(moved));
  if (moved !== null && book.find(definition) !== null)
    return ports.fail(
      invalid(`there is a ${nameOf(definition)} already: it can't replace another`, "replaces"),
    );
  const before = isLimited(state);
  const rule = book.put(definition, {
    source: "manual",
    nowMs,
    lsn: state.writer.closeBatch(),
  });
  const replaced = moved === null ? null : book.delete(moved);
  ports.limitedMayHaveChanged(before);
  if (replaced !== null) noteInert(state, replaced, false, ports);
  const inert = state.settings.inertReason(rule.definition);
  if (inert !== null) state.onInert(inertRule(rule.definition, inert));
  noteInert(state, rule, inert !== null, ports);
  const changes = [ruleChange(rule), ...(replaced === null ? [] : removalsOf(state, replaced))];
  writeChange(state, [...changes, noteChange(state)], ports, () =>
    ports.answer(inert === null ? {} : { inert }),
  );
}

function remove(state: DaemonState, body: unknown, ports: AdminPorts): void {
  const key = checkedValue(parseRuleKey(body), ports);
  if (key === null) return;
  const before = isLimited(state);
  const rule = state.book.delete(key);
  if (rule === null) return ports.fail(unknownRule(key));
  ports.limitedMayHaveChanged(before);
  noteInert(state, rule, false, ports);
  const removals = removalsOf(state, rule);
  writeChange(state, [...removals, noteChange(state)], ports, () => ports.answer({}));
}

function removalsOf({ configured }: DaemonState, { id, definition }: Rule): readonly Change[] {
  if (configured.rules.some((rule) => isSameKey(rule, definition))) configured.applied = "";
  return ruleRemovals(id);
}

/** What the next start must know of the rules as they are now. */
function noteChange({ book, configured, epochs }: DaemonState): Change {
  const { startLsn } = epochs;
  return rulesNoteChange(book.ruleSet, { startLsn, configured: configured.applied });
}

function unknownRule(key: RuleKey): Failure {
  return failure("rate_limit_not_found", `no ${nameOf(key)}`);
}

function nameOf({ scope, subject, periodSeconds }: RuleKey): string {
  return `${periodLabel(periodSeconds)} rule on ${scope} ${subject}`;
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
  const key = checkedValue(parseRuleResetOne(body), ports);
  if (key === null) return;
  const rule = state.book.find(key);
  if (rule === null) return ports.answer({});
  state.book.reset(rule, state.writer.closeBatch());
  writeChange(state, [ruleChange(rule), noteChange(state)], ports, () => ports.answer({}));
}

/** One number in the store, however many rules there are: windows up to it are stale. */
function resetAll(state: DaemonState, body: unknown, ports: AdminPorts): void {
  if (checkedValue(parseConfirmation(body), ports) === null) return;
  const lsn = state.writer.closeBatch();
  state.book.resetAll(lsn);
  writeChange(state, [resetAllChange(lsn)], ports, () => ports.answer({}));
}
