/**
 * The names by which a list of models may allow a request (docs/authentication.md, "Models"): what
 * it asks for, by the model's one name and as it was written. The targets of a virtual model don't
 * count: its operator chose them for its name.
 */
import { modelPatternBytesMax } from "../../shared/access/allowed-models.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Catalog, Route } from "./resolve-model.js";

/**
 * An alias counts by its configured name: one for `gpt-*` would otherwise run its target for each
 * name that a list allows and no model has.
 */
export function allowableNames(
  { providerByLowerName }: Pick<Catalog, "providerByLowerName">,
  route: Route,
): readonly string[] {
  const names = route.kind === "virtual" ? [compared(route.source)] : directNames(route.targets[0]);
  return route.alias === undefined ? names : [compared(route.alias), ...names];

  function directNames({ provider, model, sent }: Target): readonly string[] {
    if (sent === undefined) return namesOf(provider, model);
    const written = namesOf(provider, sent);
    // OpenRouter's presets may run other models beside the one that is named.
    return /@preset\//i.test(sent) ? written : [...namesOf(provider, model), ...written];
  }

  function namesOf(provider: string, model: string): readonly string[] {
    const name = compared(`${provider}/${model}`);
    const slash = model.indexOf("/");
    // `openai/gpt-4o` at a reseller isn't what a list means by `openai/gpt-4o`, as with rules.
    return slash > 0 && providerByLowerName.has(model.slice(0, slash).toLowerCase())
      ? [name]
      : [name, compared(model)];
  }
}

/** No pattern is longer, and the wire takes no name that is much longer. */
function compared(name: string): string {
  return name.slice(0, modelPatternBytesMax + 1);
}
