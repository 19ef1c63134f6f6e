/**
 * The name under which a model is recorded and summed. Callers choose the names of models, so a
 * name is used only if the operator has configured it, or its provider lists it or has answered a
 * request for it today. The last kind is bounded in number. All other models share one name.
 */
import { unlistedModelsMax } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import { modelName } from "../../shared/config/model-name.js";
import { type Target, unknownModelName } from "../../shared/domain/target-name.js";
import { dayMs } from "../../shared/time.js";
import type { ModelCatalog } from "./model-catalog.js";

export interface RecordedModels {
  /** Whether the operator has configured the model, or its provider lists it. */
  isVouchedFor(target: Target): boolean;
  /** `isAnswered`: whether the provider has accepted the request, so that it knows the model. */
  nameOf(target: Target, isAnswered: boolean): string;
}

export function createRecordedModels(
  config: Pick<Config, "virtualModels" | "prices"> & Partial<Pick<Config, "aliases">>,
  { models, nowMs }: { readonly models: ModelCatalog; readonly nowMs: () => number },
): RecordedModels {
  const usualName = (provider: string, model: string): string => {
    const knownModels = models.current().knownModels.get(provider);
    return knownModels === undefined ? model : modelName(knownModels.naming, model);
  };
  const configured = new Set(
    [
      ...config.virtualModels.flatMap(({ targets }) => targets),
      ...(config.aliases ?? []).flatMap(({ to }) => (to.kind === "target" ? [to] : [])),
      ...config.prices,
    ].map(({ provider, model }) =>
      `${provider}/${model === null ? model : usualName(provider, model)}`.toLowerCase(),
    ),
  );
  /** The models that a provider has served today without listing them, by provider. */
  const answeredToday = new Map<string, Set<string>>();
  let today = 0;

  function isVouchedFor({ provider, model }: Target): boolean {
    const lower = model.toLowerCase();
    return (
      models.current().knownModels.get(provider)?.byLowerName.has(lower) === true ||
      configured.has(`${provider}/${lower}`.toLowerCase())
    );
  }

  function hasAnswered({ provider, model }: Target, isAnswered: boolean): boolean {
    const day = Math.floor(nowMs() / dayMs);
    if (day !== today) answeredToday.clear();
    today = day;
    const names = answeredToday.get(provider) ?? new Set();
    if (names.has(model)) return true;
    if (!isAnswered || names.size >= unlistedModelsMax) return false;
    answeredToday.set(provider, names.add(model));
    return true;
  }

  return {
    isVouchedFor,
    // A request may name no model, which counts as one name.
    nameOf: (target, isAnswered) =>
      target.model === "" || isVouchedFor(target) || hasAnswered(target, isAnswered)
        ? target.model
        : unknownModelName,
  };
}
