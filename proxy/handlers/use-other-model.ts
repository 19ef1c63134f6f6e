/**
 * A call that an exhausted rule or budget refuses and sends to another model (`on_exhausted`).
 */
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import { modelProblem } from "../auth/caller.js";
import { fallbackHeader } from "../http/own-headers.js";
import { mayContinue, targetsOfMaker } from "../objects/object-access.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned } from "../routing/model-catalog.js";
import { resolveModel } from "../routing/resolve-model.js";
import { admitRequest, type ExhaustedLimit, type LimitedRequest } from "./admit-and-settle.js";
import { ableTargets, orderedTargets, withTools } from "./choose-targets.js";
import { type AdmittedCall, namesOf } from "./model-call.js";

interface ExhaustedCall extends Omit<AdmittedCall, "admitted"> {
  readonly tools: readonly string[] | null;
  readonly limited: LimitedRequest;
  readonly exhausted: ExhaustedLimit;
}

/**
 * Admits a call to the model that an exhausted rule or budget names, and so on if that model's
 * limits name another one, unless the caller forbids it or no target can take the call. Null if the
 * call was refused and answered.
 */
export async function useOtherModel(
  context: RequestContext,
  { call, tools, limited: first, exhausted: refusing, ...original }: ExhaustedCall,
): Promise<AdmittedCall | null> {
  const { exchange, record } = context;
  const isForbidden = exchange.header(fallbackHeader)?.trim().toLowerCase() === "none";
  let served = original;
  let limited = first;
  let { use, breach } = refusing;
  const uses: string[] = [];
  for (;;) {
    const alternative = isForbidden ? null : await otherModel(context, { call, tools, name: use });
    if (alternative === null) {
      const admitted = await admitRequest(context, {
        ...limited,
        maySwitchModel: false,
        fixed: true,
      });
      return admitted === null ? null : { ...served, admitted, call };
    }
    uses.push(use);
    const { targets, modelNames } = alternative;
    served = alternative;
    limited = { ...first, targets, modelNames, uses: [...uses] };
    const outcome = await admitRequest(context, limited);
    if (outcome === null) return null;
    if (!("use" in outcome)) {
      if (record.requestedModel === "") record.requestedModel = call.model;
      record.note = `${refusalMessage(breach)}; ${use} served the request`;
      return { ...alternative, admitted: outcome, call };
    }
    ({ use, breach } = outcome);
  }
}

/** The targets of another model that can take a call, or null. */
async function otherModel(
  context: RequestContext,
  { call, tools, name }: Pick<ExhaustedCall, "call" | "tools"> & { readonly name: string },
) {
  const { gateway, caller } = context;
  const route =
    resolveModel(gateway.models.current(), name) ?? (await resolveOnceLearned(gateway, name));
  if (route === null) return null;
  const modelNames = namesOf(gateway, call, route);
  if (modelProblem(caller, modelNames) !== null) return null;
  const inOrder = orderedTargets(context, call, route);
  const ordered = mayContinue(call) ? await targetsOfMaker(gateway, call, inOrder) : inOrder;
  const usable = ableTargets(context, call, ordered);
  if (usable.length === 0) return null;
  const { targets, all } = gateway.targetHealth.candidates(withTools(usable, tools));
  return { route, targets, all, modelNames };
}
