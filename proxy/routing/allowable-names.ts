/**
 * The names by which a list of models may allow a request (docs/authentication.md, "Models"): the
 * requested model's canonical name, and the name as the client wrote it. The targets of a virtual
 * model don't count: the operator chose them for its name.
 */
import { modelPatternBytesMax } from "../../shared/access/allowed-models.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Catalog, Route } from "./resolve-model.js";

/**
 * An alias such as `gpt-*` counts by that configured name, not by the requested one. Otherwise it
 * would run its target for any name that a list allows, even if no model has that name.
 */
export function allowableNames(
  { providerByLowerName }: Pick<Catalog, "providerByLowerName">,
  route: Route,
): readonly string[] {
  const names = route.kind === "virtual" ? [cut(route.source)] : directNames(route.targets[0]);
  return route.alias === undefined ? names : [cut(route.alias), ...names];

  function directNames({ provider, model, sent }: Target): readonly string[] {
    if (sent === undefined) return namesOf(provider, model);
    const written = namesOf(provider, sent);
    // OpenRouter's presets may run other models beside the one that is named.
    return /@preset\//i.test(sent) ? written : [...namesOf(provider, model), ...written];
  }

  function namesOf(provider: string, model: string): readonly string[] {
    const name = cut(`${provider}/${model}`);
    const slash = model.indexOf("/");
    // `openai/gpt-4o` at a reseller isn't what a list means by `openai/gpt-4o`, as with rules.
    return slash > 0 && providerByLowerName.has(model.slice(0, slash).toLowerCase())
      ? [name]
      : [name, cut(model)];
  }
}

/** Cuts a name at the longest pattern, because the wire takes no name that is much longer. */
function cut(name: string): string {
  return name.slice(0, modelPatternBytesMax + 1);
}
