/**
 * Finds the usage object in an answer or in the events of a stream, and how the usage of several
 * events is put together.
 *
 * Not here: what its fields mean (`read-usage.ts`).
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import type { Picks } from "../body/json-picker.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The usage object of an answer or of a stream's event: at the top, or where Groq (`x_groq`), the
 * Responses API (`response`) and Anthropic (`message`) put it in streams. Gemini's own API calls it
 * `usageMetadata`; a stream of its chunks may be one array, whose last one has the totals.
 */
export function findUsage(value: unknown): unknown {
  if (Array.isArray(value))
    return value.length > 0 && !Array.isArray(value.at(-1)) ? findUsage(value.at(-1)) : undefined;
  if (!isObject(value)) return undefined;
  if (isObject(value["usage"])) return withContext(value["usage"], value);
  if (isObject(value["usageMetadata"])) return value["usageMetadata"];
  for (const place of ["x_groq", "response", "message"]) {
    const inner = value[place];
    if (isObject(inner) && isObject(inner["usage"]))
      return withContext(inner["usage"], place === "response" ? inner : value);
  }
  return value["usage"];
}

const outputPicks: Picks = new Map<string, "all" | Picks>([
  ["type", "all"],
  ["action", new Map([["type", "all"]])],
]);
const ofUsage: Picks = new Map([["usage", "all"]]);
const answerPicks: readonly (readonly [string, "all" | Picks])[] = [
  ["usage", "all"],
  ["service_tier", "all"],
  ["output", outputPicks],
  ["object", "all"],
  // That there is an error is enough.
  ["error", new Map()],
];

/**
 * What `findUsage` reads of an answer or an event, with what says that an event is an error or the
 * last one of a choice.
 */
export const usagePicks: Picks = new Map<string, "all" | Picks>([
  ...answerPicks,
  ["usageMetadata", "all"],
  ["x_groq", ofUsage],
  ["response", new Map(answerPicks)],
  ["message", ofUsage],
  ["type", "all"],
  ["choices", new Map([["finish_reason", "all"]])],
]);

/**
 * The usage with what OpenAI says of it elsewhere in the answer: the tier that served it, and the
 * searches in the list of its output. Both get the names that Anthropic has for them in the usage.
 */
function withContext(usage: Fields, answer: Fields): Fields {
  const tier = answer["service_tier"];
  const searches = searchesIn(answer["output"]);
  const addsTier = typeof tier === "string" && isAbsent(usage["service_tier"]);
  if (!addsTier && searches === null) return usage;
  const told: Record<string, unknown> = { ...usage };
  if (addsTier) told["service_tier"] = tier;
  if (searches !== null) told["server_tool_use"] = searches;
  return told;
}

/** Opening a page that was found, or searching in it, isn't another search. */
function searchesIn(output: unknown): Fields | null {
  if (!Array.isArray(output)) return null;
  let web = 0;
  let file = 0;
  for (const item of output as unknown[]) {
    if (!isObject(item)) continue;
    if (item["type"] === "file_search_call") file++;
    else if (item["type"] === "web_search_call") {
      const { action } = item;
      if (!isObject(action) || action["type"] === "search") web++;
    }
  }
  return web + file === 0 ? null : { web_search_requests: web, file_search_requests: file };
}

const errorOrTier = /"(?:error|service_tier)"/;

const escapedName = /"[A-Za-z_]*\\u00[4-7]/;

/** Whether a name of the JSON may be written with an escaped letter, as no provider does. */
export function hasEscapedName(text: string): boolean {
  return text.includes("\\u00") && escapedName.test(text);
}

/**
 * The usage at the end of a complete answer without parsing all of it: `{ usage, … }`, the members
 * from there on; null when the answer has to be parsed to know. A quote within a text is escaped,
 * so what is found is a key or a value; only after a key of the outermost object do all braces
 * close. An answer that may hold an error is parsed, since an error decides what the answer is; and
 * so is one with searches, which are counted, and one whose service tier stands before the usage.
 * Names with escapes are parsed as well.
 */
export function usageAtEnd(text: string): unknown {
  const at = text.lastIndexOf('"usage"');
  if (at === -1) return null;
  // One search for both, as nearly every answer has neither.
  const hasEither = errorOrTier.test(text);
  if ((hasEither && text.includes('"error"')) || hasEscapedName(text)) return null;
  try {
    const end = JSON.parse(`{${text.slice(at)}`) as Fields;
    const { usage } = end;
    // A null may be beside the real one, which is elsewhere.
    if (!isObject(usage)) return null;
    // Chat completions list no searches.
    if (isAbsent(usage["prompt_tokens"]) && text.includes('_search_call"')) return null;
    const saysTier = !isAbsent(usage["service_tier"]) || !isAbsent(end["service_tier"]);
    return saysTier || !hasEither ? end : null;
  } catch {
    // It is deeper, or it is a value.
    return null;
  }
}

/**
 * The usage that a stream has reported so far, after one more event with usage. Counts are of the
 * complete answer so far, never of a part: Anthropic reports the input first and the output at the
 * end, others repeat all of it. So each field is the later event's. A field that is missing there,
 * or null, or 0 where there was more, keeps its earlier value; but a total and a cost belong to the
 * counts that they came with.
 */
export function mergeUsage(earlier: unknown, later: unknown): unknown {
  if (!isObject(earlier) || !isObject(later)) return later ?? earlier;
  let merged: Record<string, unknown> | null = null;
  for (const name in earlier) {
    if (
      !isMore(earlier[name], later[name]) ||
      (ofCounts.has(name) && counts.some((count) => isMore(later[count], 0)))
    )
      continue;
    merged ??= { ...later };
    merged[name] = earlier[name];
  }
  return merged ?? later;
}

const counts = [
  "prompt_tokens",
  "input_tokens",
  "promptTokenCount",
  "completion_tokens",
  "output_tokens",
  "candidatesTokenCount",
];
const ofCounts: ReadonlySet<string> = new Set([
  "total_tokens",
  "totalTokenCount",
  "cost",
  "cost_details",
  "is_byok",
  "cost_in_usd_ticks",
]);

/** Whether a field's value adds to another value of the same field. */
function isMore(value: unknown, other: unknown): boolean {
  return !isAbsent(value) && (isAbsent(other) || (other === 0 && value !== 0));
}
