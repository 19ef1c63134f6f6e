/**
 * Files of rules, budgets, keys and denied JWTs (docs/reference/admin-api.md, "Files of limits"):
 * `limits.stage` adds a piece of a file, `limits.plan` returns in pages what the file would change,
 * `limits.apply` makes these changes in one commit, and `limits.keys` lists the keys that a file
 * would have, in pages.
 */

import {
  changesPerPage,
  deniedJwtsMax,
  keysMax,
  plansInSlicesMax,
  sharedChangesMax,
} from "../../../shared/bounds.js";
import { isCount, isObject } from "../../../shared/checked.js";
import { keyId } from "../../../shared/domain/managed-key.js";
import { type Failure, failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { lockedKeyText, outdatedFailure } from "../../../shared/limit-files/apply-limits.js";
import { keyEntry } from "../../../shared/limit-files/credential-entry.js";
import type { LimitsPlanPage } from "../../../shared/limit-files/limits-plan.js";
import { runAtOnce, runInSlices } from "../../../shared/long-lists.js";
import { formatMillis } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Definition } from "../../cluster/definitions/definition.js";
import type { DaemonState } from "../../state.js";
import { type HeldLimitFile, type HeldPlan, unknownFile } from "../limit-files/held-limit-files.js";
import { isInFiles } from "../limit-files/plan-credentials.js";
import type { PlanOptions } from "../limit-files/plan-limits.js";
import {
  type AdminPorts,
  type AdminRequest,
  checkedValue,
  failOperation,
  makeChange,
} from "./admin-operation.js";
import { accountsAreLoading, budgetsDisabledFailure } from "./handle-budgets.js";
import { rulesDisabledFailure } from "./handle-rules.js";
import { definitionsOf, isCurrent, planLimitFile } from "./plan-limit-file.js";

type LimitFileOp = Extract<AdminOp, `limits.${string}`>;

export function handleLimitFiles(
  state: DaemonState,
  { op, body }: AdminRequest<LimitFileOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  const { limitFiles, settings, book } = state;
  if (op === "limits.stage") {
    const { quotaTemplatesEntitled: perChildEntitled, useProblem } = settings;
    const entitled = { perChildEntitled, useProblem };
    if (checkedValue(limitFiles.take(body, entitled), ports) !== null) ports.answer({});
    return;
  }
  const fields = isObject(body) ? body : {};
  if (op === "limits.keys") return listKeys(state, fields, nowMs, ports);
  const { id } = fields;
  const file = limitFiles.find(id);
  if (file === null) return ports.fail(unknownFile);
  const then: AdminPorts = {
    ...ports,
    // After a refusal the file is dropped: the client starts again with another id.
    fail(refusal) {
      limitFiles.drop(id);
      ports.fail(refusal);
    },
  };
  const disabled = disabledFailure(state, file);
  if (disabled !== null) return then.fail(disabled);
  // Right after a start, rules are still being loaded in slices: loading the rest now would delay
  // verdicts.
  book.ruleSet.whenRead(() => {
    if (op === "limits.plan") void answerPlan(state, { file, fields }, nowMs, then);
    else void applyPlan(state, { file, fields }, nowMs, then);
  });
}

/** The body: {after?}. No other list has the hashes of keys. */
function listKeys(
  { keys }: DaemonState,
  { after }: Readonly<Record<string, unknown>>,
  nowMs: number,
  ports: AdminPorts,
): void {
  const from = Number(after ?? 0);
  if (!isCount(from))
    return ports.fail(invalid("after must be the next of the previous page", "after"));
  const all = keys.all();
  const end = from + changesPerPage;
  ports.answer({
    keys: all
      .slice(from, end)
      .filter((key) => isInFiles(key, nowMs))
      .map(keyEntry),
    next: end < all.length ? String(end) : null,
    server_time: formatMillis(nowMs),
  });
}

interface FileRequest {
  readonly file: HeldLimitFile;
  readonly fields: Readonly<Record<string, unknown>>;
}

function disabledFailure(state: DaemonState, { rules, budgets }: HeldLimitFile): Failure | null {
  const { rateLimitsEnabled, budgetsEnabled } = state.settings;
  if (rules !== null && !rateLimitsEnabled) return rulesDisabledFailure(state);
  if (budgets === null) return null;
  if (!budgetsEnabled) return budgetsDisabledFailure(state);
  return state.accountsLoading ? accountsAreLoading : null;
}

/** The body: {id, prune?, take_over?, dry_run?, after?}. */
async function answerPlan(
  state: DaemonState,
  { file, fields }: FileRequest,
  nowMs: number,
  ports: AdminPorts,
): Promise<void> {
  const { id, prune, take_over: takeOver, dry_run: dryRun, after = null } = fields;
  if (after === null)
    file.plan = await planInSlices(
      state,
      file,
      { prune: prune === true, takeOver: takeOver === true },
      nowMs,
    );
  const from = after === null ? 0 : Number(after);
  if (file.plan === null || !isCount(from))
    return ports.fail(invalid("after must be the next of the previous page", "after"));
  const { changes, counts, revision } = file.plan;
  const end = from + changesPerPage;
  const answer: LimitsPlanPage = {
    changes: changes.slice(from, end),
    counts,
    revision,
    next: end < changes.length ? String(end) : null,
    server_time: formatMillis(nowMs),
  };
  // The plan of a dry run won't be applied.
  if (answer.next === null && dryRun === true) state.limitFiles.drop(id);
  ports.answer(answer);
}

/**
 * Makes a plan in slices. If rules or budgets change meanwhile, it starts again; after several
 * attempts it runs in one turn.
 */
async function planInSlices(
  state: DaemonState,
  file: HeldLimitFile,
  options: PlanOptions,
  nowMs: number,
): Promise<HeldPlan> {
  for (let i = 0; i < plansInSlicesMax; i++) {
    const work = planLimitFile(state, file, options, nowMs);
    const plan = await runInSlices(work, state.yieldToEventLoop);
    if (isCurrent(state, file, plan)) return plan;
  }
  return runAtOnce(planLimitFile(state, file, options, nowMs));
}

/** A plan with its definitions. */
interface PreparedPlan {
  readonly plan: HeldPlan;
  readonly definitions: readonly Definition[];
}

/** The result may be outdated if rules or budgets have changed meanwhile. */
async function prepareInSlices(
  state: DaemonState,
  file: HeldLimitFile,
  heldPlan: HeldPlan,
  nowMs: number,
): Promise<PreparedPlan> {
  const plan = isCurrent(state, file, heldPlan)
    ? heldPlan
    : await planInSlices(state, file, heldPlan.options, nowMs);
  const definitions = await runInSlices(definitionsOf(state, plan, nowMs), state.yieldToEventLoop);
  return { plan, definitions };
}

function prepareAtOnce(
  state: DaemonState,
  file: HeldLimitFile,
  { options }: HeldPlan,
  nowMs: number,
): PreparedPlan {
  const plan = runAtOnce(planLimitFile(state, file, options, nowMs));
  return { plan, definitions: runAtOnce(definitionsOf(state, plan, nowMs)) };
}

/**
 * Applies a plan. The body: {id, revision}. Fails if the same file would change something else by
 * now.
 */
async function applyPlan(
  state: DaemonState,
  { file, fields }: FileRequest,
  nowMs: number,
  ports: AdminPorts,
): Promise<void> {
  const { id, revision } = fields;
  const { plan } = file;
  if (plan === null || revision !== plan.revision)
    return ports.fail(invalid("revision must be that of the plan", "revision"));
  if (state.sharedDefinitions !== null && plan.changes.length > sharedChangesMax)
    return ports.fail(tooManySharedFailure(plan.changes.length));
  state.limitFiles.drop(id);
  const then = {
    request: ports.request,
    fail: ports.fail,
    answer: (answer: unknown) => {
      if (plan.changes.length > 0) state.onLimitsApplied(plan.counts);
      ports.answer(answer);
    },
  };
  const prepared = await prepareInSlices(state, file, plan, nowMs);
  // The store is being closed: a change would be lost.
  if (state.isStopping) return;
  makeChange(state, nowMs, then, () => {
    const current = isCurrent(state, file, prepared.plan)
      ? prepared
      : prepareAtOnce(state, file, plan, nowMs);
    if (current.plan.revision !== plan.revision) return failOperation(ports, outdatedFailure);
    const refusal = plan.counts.locked > 0 ? lockedKeyFailure(plan) : boundFailure(state, plan);
    if (refusal !== null) return failOperation(ports, refusal);
    return { definitions: current.definitions, answer: () => ({}) };
  });
}

function tooManySharedFailure(count: number): Failure {
  return invalid(
    `nothing was changed: where hosts share limits, one file may change ${sharedChangesMax} rules and budgets, and this one changes ${count}: apply a part of it first`,
    "rate_limits",
  );
}

/** Why the new keys or denied JWTs of a plan would exceed a bound; null if they fit. */
function boundFailure(
  { keys, denials, writer }: DaemonState,
  plan: Pick<HeldPlan, "keys" | "denials">,
): Failure | null {
  const newKeys = plan.keys.filter(({ action }) => action === "add").length;
  if (newKeys > 0 && writer.failing !== null)
    return failure(
      "limiter_unavailable",
      `nothing was changed: the store can't be written (${writer.failing.message})`,
    );
  if (keys.size + newKeys > keysMax)
    return invalid(
      `nothing was changed: there would be ${keys.size + newKeys} keys, and ${keysMax} is the most`,
      "keys",
    );
  const grown = plan.denials.map(
    ({ before, after }) => Number(after !== null) - Number(before !== null),
  );
  const denied = grown.reduce((sum, change) => sum + change, denials.size);
  return denied <= deniedJwtsMax
    ? null
    : invalid(
        `nothing was changed: there would be ${denied} denied JWTs, and ${deniedJwtsMax} is the most`,
        "denied_jwts",
      );
}

function lockedKeyFailure({ counts, keys }: Pick<HeldPlan, "counts" | "keys">): Failure {
  const key = keys.find(({ lock }) => lock !== null);
  if (key !== undefined)
    return plainFailure(409, "invalid_request_error", lockedKeyText(keyId(key.number!), key.lock!));
  const count = counts.locked;
  return plainFailure(
    409,
    "invalid_request_error",
    `nothing was changed: of ${count} rules or budgets the configuration says something else: change them there, leave them out, or take them over (take_over)`,
  );
}
