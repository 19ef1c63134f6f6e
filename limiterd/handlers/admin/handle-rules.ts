/**
 * The admin operations on rate-limit rules, for the HTTP API and the command line. Each checks its
 * whole body before it changes anything, and is answered once the change is committed.
 */

import type { RulePage } from "../../../shared/api/rule-item.js";
import { unreachable } from "../../../shared/assert.js";
import { bad, type Checked, good, isObject, parseConfirmation } from "../../../shared/checked.js";
import type { Shareable } from "../../../shared/domain/child-shares.js";
import type { Holdable } from "../../../shared/domain/hold.js";
import { modelsField } from "../../../shared/domain/limited-models.js";
import { isSameLoops, type LoopsField } from "../../../shared/domain/loop-rule.js";
import type { Exhaustible } from "../../../shared/domain/on-exhausted.js";
import {
  hasHeldCap,
  parseRuleKey,
  parseRuleResetOne,
  parseRuleWrite,
  type RuleDefinition,
  type RuleKey,
  ruleGrammar,
  ruleId,
} from "../../../shared/domain/rule.js";
import { hoursOf } from "../../../shared/domain/rule-hours.js";
import { isNormalUserPath } from "../../../shared/domain/user-path.js";
import { type Failure, failure, invalid, plainFailure } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { allRules } from "../../cluster/definitions/definition.js";
import { type Counter, capsOf, isOff, type Rule } from "../../counters/counter.js";
import { listChildren, nameOfRule, unknownRule } from "../../lists/list-children.js";
import { isByUse, parseChildrenQuery, parseListQuery } from "../../lists/list-query.js";
import { listFullestRules, listRules, ruleChoices } from "../../lists/list-rules.js";
import type { RuleBook } from "../../rules/rule-book.js";
import type { DaemonState } from "../../state.js";
import {
  ruleDefinitions,
  ruleDeletions,
  ruleEnforcement,
  ruleReset,
  ruleReversion,
} from "../definitions/apply-rules.js";
import { parseMove, parseRemoval } from "../limit-files/parse-move.js";
import {
  type AdminPorts,
  type AdminRequest,
  checkedValue,
  failOperation,
  makeChange,
  subjectAbove,
  withinOf,
} from "./admin-operation.js";
import { untilRecordsAreWritten } from "./export-records.js";
import { endRuleRaise, raiseRule } from "./handle-raises.js";
import { answerWithRead, usageIsOff } from "./handle-usage.js";

type RuleOp = Extract<AdminOp, `rate-limits.${string}`>;

export function handleRules(
  state: DaemonState,
  { op, body }: AdminRequest<RuleOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  if (op === "rate-limits.banned") return listBannedModels(state, body, nowMs, ports);
  if (!state.settings.rateLimitsEnabled) return ports.fail(rulesDisabledFailure(state));
  switch (op) {
    case "rate-limits.list":
      return list(state, body, nowMs, ports);
    case "rate-limits.children":
      return listTop(state, body, nowMs, ports);
    case "rate-limits.test":
      return test(state, body, nowMs, ports);
    case "rate-limits.put":
      return putRule(state, body, nowMs, ports);
    case "rate-limits.delete":
      return remove(state, body, nowMs, ports);
    case "rate-limits.raise":
      return raiseRule(state, body, nowMs, ports);
    case "rate-limits.end-raise":
      return endRuleRaise(state, body, nowMs, ports);
    case "rate-limits.reset-one":
      return resetOne(state, body, nowMs, ports);
    case "rate-limits.reset":
      return resetAll(state, body, nowMs, ports);
    default:
      return unreachable(op);
  }
}

/** The models of each rule that bans some on a path now, such as `{banned: [["claude-*"]]}`. */
function listBannedModels(
  state: DaemonState,
  body: unknown,
  nowMs: number,
  ports: AdminPorts,
): void {
  const userPath = isObject(body) ? body["user_path"] : undefined;
  if (typeof userPath !== "string" || !isNormalUserPath(userPath))
    return ports.fail(invalid("user_path must be a path such as /team/app", "user_path"));
  const counters = state.settings.rateLimitsEnabled
    ? state.book.copyAllOnPath(userPath, nowMs)
    : [];
  const banned = counters.flatMap((counter) => {
    const { rule } = counter;
    const isBan = capsOf(counter, nowMs).maxRequests === 0 && !isOff(rule, nowMs);
    return isBan ? [modelsField(rule.definition.models).models] : [];
  });
  ports.answer({ banned });
}

export function rulesDisabledFailure({ settings }: Pick<DaemonState, "settings">): Failure {
  const why = settings.settingText("rate_limits.enabled");
  return failure("feature_unavailable", `rate limits are disabled: ${why}`);
}

function list(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const query = checkedValue(parseListQuery(body, ruleChoices), ports);
  if (query === null) return;
  const { book, settings, yieldToEventLoop, shares } = state;
  const { inertReason, configFile } = settings;
  const options = { nowMs, inertReason, configFile, declared: state.declared.rules, query };
  const ranked = { last: state.rankings.rules, yieldToEventLoop };
  const make = (): Promise<RulePage> | RulePage =>
    isByUse(query) ? listFullestRules(book, options, ranked) : listRules(book, options);
  // Right after a start, rules are still loaded in slices: loading all of them now would delay
  // verdicts.
  book.ruleSet.whenRead(() => {
    const page = make();
    if (shares === null && !(page instanceof Promise)) return ports.answer(page);
    void Promise.resolve(page)
      .then(async (first) => {
        if (shares === null) return first;
        await shares.refresh(pageCounters(book, first, nowMs));
        return await make();
      })
      .then(ports.answer);
  });
}

/** The counters of the rules and children on a page. */
function pageCounters(
  book: RuleBook,
  { rate_limits: items }: RulePage,
  nowMs: number,
): readonly Counter[] {
  return items.flatMap(({ scope, subject, template, period_seconds: periodSeconds, ...rest }) => {
    const { models, when, mode } = rest;
    const rule = book.find({
      scope,
      subject: template ?? subject,
      periodSeconds,
      models: models?.join(" "),
      when: hoursOf(when),
      mode,
    });
    if (rule === null) return [];
    if (template === undefined) return [rule, ...rule.parts].flatMap(({ own }) => own ?? []);
    const child = subject.slice(template === "/" ? 1 : template.length + 1);
    const { counter, parts } = book.copyOfChild(rule, child, nowMs);
    return [counter, ...parts];
  });
}

/** The body has the fields of `rate-limits.reset-one`, and `limit` and `search`. */
function listTop(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const query = checkedValue(parseChildrenQuery(body), ports);
  if (query === null) return;
  const ruleKey = checkedValue(parseRuleResetOne(query.key), ports);
  if (ruleKey === null) return;
  const rule = state.book.find(ruleKey);
  if (rule === null) return ports.fail(unknownRule(ruleKey));
  if (rule.own !== null)
    return ports.fail(
      invalid(`the ${nameOfRule(ruleKey)} is no template: it has no children`, "subject"),
    );
  if (state.book.unread !== null)
    return ports.fail(
      failure(
        "overloaded",
        "the daemon has just started and is loading the children: try again in a few seconds",
      ),
    );
  const { yieldToEventLoop, shares } = state;
  const slices = { nowMs, yieldToEventLoop };
  const others = shares && {
    count: shares.turn.otherHosts,
    refresh: (counters: readonly Counter[]) => shares.refresh(counters),
  };
  const question = { book: state.book, rule, query: query.query };
  void listChildren(question, slices, others).then(ports.answer);
}

/** The body is that of a put with `days`, or with `after` to continue. */
function test(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const { settings, store, usage, yieldToEventLoop } = state;
  if (!settings.usageEnabled) return answerWithRead(state, usageIsOff(state), ports);
  const back = {
    store,
    usage,
    yieldToEventLoop,
    recordsWritten: () => untilRecordsAreWritten(state),
    perChildEntitled: settings.quotaTemplatesEntitled,
    tokenWeights: settings.tokenWeights,
    inertReason: settings.inertReason,
  };
  answerWithRead(state, state.backTests.answer(back, body, nowMs), ports);
}

function putRule(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const { book, settings } = state;
  const move = checkedValue(parseMove(ruleGrammar, body), ports);
  if (move === null) return;
  const definition = checkedValue(
    parseRuleWrite(move.body, { perChildEntitled: settings.quotaTemplatesEntitled }),
    ports,
  );
  if (definition === null) return;
  const unknownModel = settings.useProblem(definition);
  if (unknownModel !== null) return ports.fail(unknownModel);
  const formerKey =
    move.replaced === null || ruleId(move.replaced) === ruleId(definition) ? null : move.replaced;
  makeChange(state, nowMs, ports, () => {
    const existing = book.find(definition);
    if (formerKey !== null && book.find(formerKey) === null)
      return failOperation(ports, unknownRule(formerKey));
    const isEnforced = formerKey?.mode === "shadow" && isOtherMode(formerKey, definition);
    if (formerKey !== null && existing !== null && !isEnforced)
      return failOperation(
        ports,
        invalid(
          `there is a ${nameOfRule(definition)} already: it can't replace another`,
          "replaces",
        ),
      );
    const inert = settings.inertReason(definition);
    const edited = formerKey === null || isEnforced ? existing : book.find(formerKey);
    const keptFields = keptOf(move.body, edited, definition);
    if (!keptFields.ok) return failOperation(ports, keptFields.failure);
    const newDefinition = { ...keptFields.value, ...definition };
    const above = loopsAbove(book, { written: newDefinition, existing, within: withinOf(ports) });
    if (above !== null) return failOperation(ports, above);
    if (isEnforced)
      return {
        definitions: ruleEnforcement(formerKey, newDefinition, existing, nowMs),
        answer: () => (inert === null ? {} : { inert }),
      };
    return {
      definitions: [
        ...ruleDefinitions(newDefinition, existing, nowMs),
        ...(formerKey === null ? [] : ruleDeletions(formerKey)),
      ],
      answer: () => (inert === null ? {} : { inert }),
    };
  });
}

/**
 * Why the holder of a role for a subtree may not write these loops: the nearest path with loops
 * applies, so other loops below would end those of a path above. Null if it may.
 */
function loopsAbove(
  book: RuleBook,
  {
    written,
    existing,
    within,
  }: {
    readonly written: RuleDefinition;
    readonly existing: Rule | null;
    readonly within: string;
  },
): Failure | null {
  if (within === "/" || isSameLoops(written, existing?.definition ?? {})) return null;
  const above = written.loops === undefined ? null : book.loopsOf(within, true);
  const message = `a role for ${within} can't set loops: those of ${above?.userPath} apply to all paths below it`;
  return above && { ...plainFailure(403, "permission_error", message), param: "loops" };
}

/** Whether two keys differ in the mode alone. */
function isOtherMode(a: RuleKey, b: RuleKey): boolean {
  return ruleId({ ...a, mode: b.mode }) === ruleId(b) && a.mode !== b.mode;
}

/**
 * The options that an edited rule keeps because the body doesn't name them: `on_exhausted`, `hold`,
 * `shares` and `loops`. Fails if they don't fit the options in the body.
 */
function keptOf(
  body: unknown,
  edited: Rule | null,
  written: RuleDefinition,
): Checked<Exhaustible & Holdable & Shareable & LoopsField> {
  if (edited === null || !isObject(body)) return good({});
  if (written.maxRequests === 0 || written.mode !== undefined) return good({});
  const isLeftOut = (field: string): boolean => !Object.hasOwn(body, field);
  const { onExhausted, hold, childShares, loops } = edited.definition;
  const keepsExhausted = onExhausted !== undefined && isLeftOut("on_exhausted");
  const keepsHold = hold !== undefined && isLeftOut("hold");
  const isHardCap = (keepsHold ? hold : written.hold) !== undefined;
  const exhausted = keepsExhausted ? onExhausted : written.onExhausted;
  if (isHardCap && exhausted === "warn")
    return keepsHold
      ? bad("the rule has hold hard, which on_exhausted warn can't have: send hold soft", "hold")
      : bad(
          "the rule has on_exhausted warn, which hold hard can't have: send on_exhausted refuse",
          "on_exhausted",
        );
  if (keepsHold && !hasHeldCap(written))
    return bad(
      "the rule has hold hard, which needs a cap on tokens or cost: send it, or hold soft",
      "hold",
    );
  return good({
    ...(keepsExhausted ? { onExhausted } : {}),
    ...(keepsHold ? { hold } : {}),
    ...(childShares !== undefined && isLeftOut("shares") ? { childShares } : {}),
    ...(loops !== undefined && isLeftOut("loops") ? { loops } : {}),
  });
}

function remove(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const removal = checkedValue(parseRemoval(body), ports);
  if (removal === null) return;
  const key = checkedValue(parseRuleKey(removal.body), ports);
  if (key === null) return;
  makeChange(state, nowMs, ports, () => {
    const rule = state.book.find(key);
    if (rule === null)
      return failOperation(
        ports,
        unknownRule(
          key,
          subjectAbove(key, (other) => state.book.find(other), ports),
        ),
      );
    if (!removal.revert) return { definitions: ruleDeletions(key), answer: () => ({}) };
    return rule.source === "manual" && state.declared.rules.find(rule.id) !== null
      ? { definitions: [ruleReversion(rule, nowMs)], answer: () => ({}) }
      : failOperation(ports, failure("rate_limit_not_found", notOverridden(nameOfRule(key))));
  });
}

/** `name`: the name of the rule or budget to revert. */
export function notOverridden(name: string): string {
  return `the configuration has no other ${name}`;
}

function resetOne(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const key = checkedValue(parseRuleResetOne(body), ports);
  if (key === null) return;
  makeChange(state, nowMs, ports, () => ({
    definitions: state.book.find(key) === null ? [] : [ruleReset(ruleId(key), nowMs)],
    answer: () => ({}),
  }));
}

function resetAll(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  if (checkedValue(parseConfirmation(body), ports) === null) return;
  const definitions = [ruleReset(allRules, nowMs)];
  makeChange(state, nowMs, ports, () => ({ definitions, answer: () => ({}) }));
}
