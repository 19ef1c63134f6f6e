/** Whether a managed key may use the model that a request asks for (docs/authentication.md). */
import { allowsModel, modelNotAllowed } from "../../shared/access/allowed-models.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Failure } from "../../shared/error-code.js";
import type { ManagedKey } from "./key-ring.js";

interface AskedModel {
  readonly targets: readonly Target[];
  /** See `Admit`. */
  readonly modelNames?: readonly string[] | undefined;
}

/** The refusal, or null. A proxy that doesn't tell names gets what all of its targets may have. */
export function modelProblem(
  key: Pick<ManagedKey, "id" | "models"> | null,
  { targets, modelNames }: AskedModel,
): Failure | null {
  if (key === null || key.models === null) return null;
  const { id, models } = key;
  const asked = modelNames === undefined ? targets.map(namesOf) : [modelNames];
  const refused = asked.find((names) => !allowsModel(models, names));
  return refused === undefined ? null : modelNotAllowed(id, models, refused);
}

function namesOf(target: Target): readonly string[] {
  const { model } = target;
  if (model === "") return [];
  // What stands before a slash may be another provider, which the daemon doesn't know.
  return model.includes("/") ? [targetName(target)] : [targetName(target), model];
}
