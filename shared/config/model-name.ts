/**
 * The canonical name of a model: some providers accept several names for one model, and rules,
 * prices and usage must treat them as one. Names from a request, the configuration or a provider's
 * list are made canonical once, and only that form is used.
 *
 * Not here: which models a provider has, and the names that are sent to it
 * (`proxy/routing/resolve-model.ts`).
 */
import { namesProvider } from "../domain/rule.js";
import type { ProviderConfig } from "./config.js";
import { presetOf, type SameModel } from "./presets.js";
import type { ProviderType } from "./provider-type.js";

/** The parts of model names that a type of provider ignores or adds by default. */
const understood: Readonly<Partial<Record<ProviderType, readonly RegExp[]>>> = {
  // Its own API and its list of models say `models/gemini-2.5-flash`.
  gemini: [/^(?:models\/)+/i],
  // Its names are those of a registry: host, namespace, model, tag.
  ollama: [/^(?:https?:\/\/)?(?:registry\.ollama\.ai\/)?(?:library\/)?/i, /:latest$/i],
};

/**
 * Aliases and snapshots that are one model at one price: `claude-sonnet-4-5-20250929`,
 * `claude-3-5-haiku-latest`, `gemini-2.0-flash-001`. Not OpenAI's snapshots and its `…-latest`,
 * which have prices of their own.
 */
const sameAtType: Readonly<Partial<Record<ProviderType, SameModel>>> = {
  anthropic: [
    [/^(claude-[\w.-]*?)[-@](?:latest|20\d{6})$/i, "$1"],
    [/^(claude-(?:opus|sonnet)-4)-0$/i, "$1"],
  ],
  gemini: [[/^(gemini-\d[\w.-]*?)-(?:latest|\d{3})$/i, "$1"]],
};

/** As `movingAlias` of a preset. */
const movingAtType: Readonly<Partial<Record<ProviderType, RegExp>>> = {
  gemini: /^gemini-(?!\d)[\w.-]*-latest$/i,
};

/** How the models of a provider are named. */
export interface ModelNaming {
  readonly type: ProviderType;
  readonly sameModel: SameModel;
  readonly movingAlias: RegExp | null;
}

export function namingOf({ name, type, baseUrl }: NamedProvider): ModelNaming {
  const presetInUse = presetOf({ name, baseUrl: baseUrl ?? "" });
  const preset = presetInUse?.type === type ? presetInUse : null;
  return {
    type,
    sameModel: [...(sameAtType[type] ?? []), ...(preset?.sameModel ?? [])],
    movingAlias: movingAtType[type] ?? preset?.movingAlias ?? null,
  };
}

type NamedProvider = Pick<ProviderConfig, "name" | "type"> &
  Partial<Pick<ProviderConfig, "baseUrl">>;

/** The name for the provider: as written, without the parts that its type ignores. */
export function writtenName(type: ProviderType, nameAsWritten: string): string {
  return replaceParts(
    nameAsWritten,
    (understood[type] ?? []).map((part) => [part, ""]),
  );
}

/** The canonical name of a provider's model, which rules, prices and usage use. */
export function modelName({ type, sameModel }: ModelNaming, nameAsWritten: string): string {
  return replaceParts(writtenName(type, nameAsWritten), sameModel);
}

/** Whether this name is an alias that the provider moves from model to model. */
export function isMovingAlias({ movingAlias }: ModelNaming, name: string): boolean {
  return movingAlias?.test(name) === true;
}

/** A part may occur twice: `models/ models/x`, `x:latest:latest`. */
function replaceParts(nameAsWritten: string, parts: SameModel): string {
  let [before, name] = ["", nameAsWritten.trim()];
  while (name !== before) {
    before = name;
    for (const [part, by] of parts) name = name.replace(part, by).trim();
    if (name === "") return before;
  }
  return name;
}

/** The naming of each configured provider, by its name in lower case. */
export type ModelNamings = ReadonlyMap<string, ModelNaming>;

export function namingsOf(providers: readonly NamedProvider[]): ModelNamings {
  return new Map(providers.map((provider) => [provider.name.toLowerCase(), namingOf(provider)]));
}

/**
 * The names that a rule's subject matches, in lower case. With a provider, the canonical name of
 * its model. Without one, the model's name, and the canonical names that providers give it.
 */
export function modelSubjects(
  subject: string,
  namings: ModelNamings,
): readonly [string, ...string[]] {
  const subjectName = subject.toLowerCase();
  if (namesProvider(subjectName, namings)) {
    const slash = subjectName.indexOf("/");
    const provider = subjectName.slice(0, slash);
    return [`${provider}/${modelName(namings.get(provider)!, subjectName.slice(slash + 1))}`];
  }
  const namesAtProviders = [...namings].flatMap(([provider, naming]) => {
    const name = modelName(naming, subjectName);
    return name === subjectName ? [] : [`${provider}/${name}`];
  });
  return [subjectName, ...namesAtProviders];
}
