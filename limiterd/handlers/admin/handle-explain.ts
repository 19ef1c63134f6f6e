/**
 * The admin operation `explain`: for a user path or a managed key with candidate targets, or for
 * the id of a refused request. The proxy or the command line has already resolved the model to
 * targets.
 */
import type { Explanation } from "../../../shared/api/explanation.js";
import { candidatesMax } from "../../../shared/bounds.js";
import { bad, type Checked, isAbsent, isObject, show } from "../../../shared/checked.js";
import { parseUserPath } from "../../../shared/domain/limit-key.js";
import { isMcpProvider, type Target } from "../../../shared/domain/target-name.js";
import { isPathWithin } from "../../../shared/domain/user-path.js";
import { plainFailure } from "../../../shared/error-code.js";
import { targetOfTool } from "../../../shared/usage/tool-calls.js";
import { isSession, sessionCharsMax } from "../../../shared/wire/execution.js";
import { isModelName, isName } from "../../../shared/wire/message-to-daemon.js";
import { matchCopies } from "../../budgets/judge-budgets.js";
import { modelProblem } from "../../keys/identify-caller.js";
import { keyStatus, type ManagedKey } from "../../keys/key-ring.js";
import { explainBudgets } from "../../lists/list-budgets.js";
import { enqueuedItems } from "../../lists/list-queues.js";
import { refusalItem } from "../../lists/list-refusals.js";
import type { JudgedRequest } from "../../rules/judge.js";
import { isShown, viewerAt } from "../../rules/limits-above.js";
import { noRules } from "../../rules/rule-book.js";
import {
  type DaemonState,
  enforcedBudgets,
  hasWaiters,
  judgingUpstream,
  loopsFor,
} from "../../state.js";
import { notWithin } from "./confine.js";
import { explainVerdict } from "./explain-verdict.js";
import { findKey, unknownKey } from "./handle-keys.js";

interface QuestionScope {
  readonly nowMs: number;
  /** The subtree of who asks. */
  readonly within: string;
}

/**
 * Changes nothing. The body is `{user_path, session?, key?: {id} or {key_hash}, targets:
 * [{provider, model}], model_names?: as in `Admit`}` or `{request_id}`.
 */
export function handleExplain(
  state: DaemonState,
  body: unknown,
  { nowMs, within }: QuestionScope,
): Checked<Explanation> {
  if (!isObject(body)) return bad("the body must be an object", "body");
  const requestId = body["request_id"];
  if (requestId !== undefined) return explainRefusal(state, requestId, { nowMs, within });
  const request = readRequest(body);
  if (!request.ok) return request;
  if (body["key"] === undefined) {
    const { userPath } = request.value;
    return isPathWithin(userPath, within)
      ? { ok: true, value: explainNow(state, request.value, { nowMs, within }) }
      : { ok: false, failure: notWithin(userPath, within) };
  }
  const key = readKey(state, body["key"], { nowMs, within });
  if (!key.ok) return key;
  const modelNames = readModelNames(body["model_names"]);
  const notAllowed = modelProblem(key.value, { ...request.value, modelNames });
  if (notAllowed !== null)
    return bad(`${notAllowed.message}: its requests are answered with 403`, "model");
  const { id, userPath } = key.value;
  return {
    ok: true,
    value: {
      key: id,
      ...explainNow(
        state,
        { ...request.value, userPath: userPath ?? request.value.userPath },
        { nowMs, within },
        id,
      ),
    },
  };
}

/**
 * The key that the body names. It must be active: requests with other keys are rejected before any
 * rule is asked.
 */
function readKey(
  state: DaemonState,
  keyField: unknown,
  { nowMs, within }: QuestionScope,
): Checked<ManagedKey> {
  const fields = isObject(keyField) ? keyField : {};
  const key = findKey(state, fields, within);
  if (key === undefined) return { ok: false, failure: { ...unknownKey(fields), param: "key" } };
  const status = keyStatus(key, nowMs);
  return status === "active"
    ? { ok: true, value: key }
    : bad(`the key ${key.id} is ${status}: its requests are answered with 401`, "key");
}

/** `keyId`: the key whose labels' budgets also apply; empty for a caller without a managed key. */
export function explainNow(
  state: DaemonState,
  request: JudgedRequest,
  { nowMs, within }: QuestionScope,
  keyId = "",
): Explanation {
  const { book, settings } = state;
  const labels = state.labelsOf(keyId);
  const enforced = enforcedBudgets(state);
  const budgets = enforced === null ? null : { book: matchCopies(enforced), labels };
  const viewer = viewerAt(state, within);
  const enqueued = enqueuedItems(state, nowMs, request.userPath).filter(({ user_path: subject }) =>
    isShown({ scope: "user_path", subject }, viewer),
  );
  const nearestLoops = loopsFor(state, request.userPath);
  const shownLoops =
    nearestLoops !== null && isShown({ scope: "user_path", subject: nearestLoops.userPath }, viewer)
      ? nearestLoops
      : null;
  return {
    ...explainVerdict(settings.rateLimitsEnabled ? book : noRules, request, {
      nowMs,
      tokensEnforced: settings.usageEnabled,
      budgets,
      waiters: hasWaiters(state) ? state.waiters.aheadOf(request.userPath) : null,
      upstream: judgingUpstream(state),
      viewer,
    }),
    budgets: explainBudgets(state, request, labels, nowMs).filter((budget) =>
      isShown(budget, viewer),
    ),
    ...(enqueued.length === 0 ? {} : { enqueued }),
    ...(shownLoops === null
      ? {}
      : { loops: { user_path: shownLoops.userPath, ...shownLoops.loops } }),
  };
}

function explainRefusal(
  state: DaemonState,
  requestId: unknown,
  { nowMs, within }: QuestionScope,
): Checked<Explanation> {
  if (typeof requestId !== "string")
    return bad(`request_id must be a text, not ${show(requestId)}`, "request_id");
  const refusal = state.refusals.find(requestId, within);
  if (refusal === null)
    return {
      ok: false,
      failure: {
        ...plainFailure(
          404,
          "not_found_error",
          `no refusal of a request ${show(requestId)} is known: ` +
            `the daemon remembers the last ${state.refusals.max} since its start`,
        ),
        param: "request_id",
      },
    };
  return {
    ok: true,
    value: {
      refusal: refusalItem(refusal, viewerAt(state, within)),
      ...explainNow(state, refusal, { nowMs, within }, refusal.keyId),
    },
  };
}

function readRequest({
  user_path: userPath,
  session,
  targets,
}: Readonly<Record<string, unknown>>): Checked<JudgedRequest> {
  const path = parseUserPath(userPath, "user_path");
  if (!path.ok) return path;
  if (!isAbsent(session) && !isSession(session))
    return bad(
      `session must be the name of a session, up to ${sessionCharsMax} characters, not ${show(session)}`,
      "session",
    );
  if (
    !Array.isArray(targets) ||
    targets.length === 0 ||
    targets.length > candidatesMax ||
    !targets.every(isTarget)
  )
    return bad(`targets must be 1 to ${candidatesMax} objects with provider and model`, "targets");
  return {
    ok: true,
    value: {
      userPath: path.value,
      ...(isSession(session) ? { session } : {}),
      targets: targets.map(({ provider, model }) =>
        isMcpProvider(provider) ? targetOfTool(provider, model) : { provider, model },
      ),
      submission: false,
    },
  };
}

/** Undefined if the body has no list of names. */
function readModelNames(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(isModelName) : undefined;
}

function isTarget(value: unknown): value is Target {
  return isObject(value) && isName(value["provider"]) && isModelName(value["model"]);
}
