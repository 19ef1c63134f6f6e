/**
 * The fields by which a client has a provider run other models beside the one that its body names:
 * alternatives (OpenRouter's `models`, Anthropic's `fallbacks`), panels of models, and tools that
 * ask another model. A list of models can't judge these requests by the model that they name.
 *
 * Not here: the models of image tools, which a list doesn't look at (docs/authentication.md).
 */
import { isObject } from "../../../shared/checked.js";

type Fields = Readonly<Record<string, unknown>>;

/** `preset`: models and more that are stored at OpenRouter. */
const naming: ReadonlySet<string> = new Set(["models", "route", "preset"]);

/** Of the fields of a body, read as Latin-1. */
export function mayRunOthers(fields: Fields): boolean {
  for (const key in fields)
    if (!common.has(key) && runsOthers(folded(key), fields[key])) return true;
  return false;
}

/** Fields of nearly all bodies, which say nothing of it. */
const common: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "system",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "max_tokens",
  "metadata",
  "user",
]);

/** `name`: of a field of the body, folded. */
function runsOthers(name: string, value: unknown): boolean {
  if (isAlternatives(name)) return true;
  if (name === "tools" || name === "plugins") return items(value).some(asksOther);
  return name === "provideroptions" && items(value).some(hasAlternatives);
}

/** A tool or plugin that the provider runs with a model of its own. */
function asksOther(tool: Fields): boolean {
  let namesModel = false;
  let kinds = 0;
  let pictures = 0;
  for (const key in tool) {
    const value = tool[key];
    const name = usual.has(key) ? key : folded(key);
    if (name === "type" || name === "id") {
      if (typeof value === "string" && /advisor|fusion|subagent/i.test(value)) return true;
      kinds++;
      if (value === "image_generation") pictures++;
    } else if (name === "parameters") namesModel ||= items(value).some(hasModel);
    else namesModel ||= name.includes("model");
  }
  return namesModel && (kinds === 0 || pictures < kinds);
}

/** Names as everybody writes them: there is nothing to fold, in any of twenty tools. */
const usual: ReadonlySet<string> = new Set([
  "type",
  "function",
  "name",
  "description",
  "parameters",
  "properties",
  "required",
  "additionalProperties",
  "input_schema",
  "strict",
  "cache_control",
]);

function hasModel(object: Fields): boolean {
  for (const key in object) if (!usual.has(key) && folded(key).includes("model")) return true;
  return false;
}

/** Vercel's gateway has them within `gateway`. */
function hasAlternatives(options: Fields): boolean {
  return members(options).some(
    ([name, of]) =>
      name === "gateway" &&
      items(of)
        .flatMap(members)
        .some(([inner]) => isAlternatives(inner)),
  );
}

function isAlternatives(name: string): boolean {
  return naming.has(name) || name.includes("fallback");
}

type Member = readonly [name: string, value: unknown];

function members(object: Fields): readonly Member[] {
  return Object.entries(object).map(([key, value]) => [folded(key), value]);
}

/** The objects that a value is or lists. */
function items(value: unknown): readonly Fields[] {
  return [value].flat().filter(isObject);
}

/**
 * In small letters, as servers read a key that don't tell them from capitals. For some, the long s
 * and the Kelvin sign are letters too; both may be in the Latin-1 reading of their UTF-8.
 */
function folded(key: string): string {
  return /[\u0080-\uffff]/.test(key)
    ? key
        .replace(/\u017f|\u00c5\u00bf/g, "s")
        .replace(/\u212a|\u00e2\u0084\u00aa/g, "k")
        .toLowerCase()
    : key.toLowerCase();
}
