/**
 * One name for one model: some providers know a model by several names, and rules, prices and usage
 * must know which are the same. The name is made when a request, a configuration or a provider's
 * list names a model; from there on it is the only one.
 *
 * Not here: which models a provider has, and how it spells them (`proxy/routing/resolve-model.ts`).
 */
import { namesProvider } from "../domain/rule.js";
import type { ProviderConfig } from "./config.js";
import type { ProviderType } from "./provider-type.js";

/** What a type of provider leaves out, or takes as understood, in its models' names. */
const understood: Readonly<Partial<Record<ProviderType, readonly RegExp[]>>> = {
  // Its own API says `models/gemini-2.5-flash`, and its list of models too.
  gemini: [/^(?:models\/)+/i],
  // Its names are those of a registry: host, namespace, model, tag.
  ollama: [/^(?:https?:\/\/)?(?:registry\.ollama\.ai\/)?(?:library\/)?/i, /:latest$/i],
};

/** The name of a provider's model, without what means nothing to that type of provider. */
export function modelName(type: ProviderType, written: string): string {
  const trimmed = written.trim();
  let [before, name] = ["", trimmed];
  // What is left out may be there twice: `models/ models/x`, `x:latest:latest`.
  while (name !== before) {
    before = name;
    for (const part of understood[type] ?? []) name = name.replace(part, "").trim();
    if (name === "") return before;
  }
  return name;
}

/** The configured providers' types, by their names in lower case. */
export type ProviderTypes = ReadonlyMap<string, ProviderType>;

export function typesOf(
  providers: readonly Pick<ProviderConfig, "name" | "type">[],
): ProviderTypes {
  return new Map(providers.map(({ name, type }) => [name.toLowerCase(), type]));
}

/**
 * What a rule's subject stands for, in lower case: a provider's model, by the one name that it has;
 * or a model's name, as it is at all providers, and as those call it that know it by another one.
 */
export function modelSubjects(
  subject: string,
  types: ProviderTypes,
): readonly [string, ...string[]] {
  const written = subject.toLowerCase();
  if (namesProvider(written, types)) {
    const slash = written.indexOf("/");
    const provider = written.slice(0, slash);
    return [`${provider}/${modelName(types.get(provider)!, written.slice(slash + 1))}`];
  }
  const others = [...types].flatMap(([provider, type]) => {
    const name = modelName(type, written);
    return name === written ? [] : [`${provider}/${name}`];
  });
  return [written, ...others];
}
