/** The target of a request that passes to a provider, by the one name of its model. */
import type { Target } from "../../../shared/domain/target-name.js";
import type { RequestContext } from "../../request-context.js";
import { targetAt } from "../../routing/resolve-model.js";

export function passthroughTarget(
  { gateway: { models } }: RequestContext<"models">,
  { provider: { name } }: { readonly provider: { readonly name: string } },
  model: string,
): Target {
  return targetAt(models.current(), name, model);
}
