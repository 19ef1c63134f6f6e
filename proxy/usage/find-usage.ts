/**
 * Finds the usage object in an answer or in the events of a stream, and merges the usage of several
 * events.
 *
 * Not here: what the fields mean (`read-usage.ts`).
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import type { Picks } from "../body/json-picker.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The usage object of an answer or of a stream's event: at the top, or where Groq (`x_groq`), the
 * Responses API (`response`), Google's interactions (`interaction`) and Anthropic (`message`) put
 * it in streams. Gemini's own API calls it `usageMetadata`; a stream of its chunks may be one
 * array, whose last one has the totals.
 */
export function findUsage(value: unknown): unknown {
  if (Array.isArray(value))
    return value.length > 0 && !Array.isArray(value.at(-1)) ? findUsage(value.at(-1)) : undefined;
  if (!isObject(value)) return undefined;
  if (isObject(value["usage"])) return withContext(value["usage"], value);
  if (isObject(value["usageMetadata"])) return value["usageMetadata"];
  for (const place of ["x_groq", "response", "interaction", "message"]) {
    const inner = value[place];
    if (isObject(inner) && isObject(inner["usage"]))
      return withContext(inner["usage"], isWhole(place) ? inner : value);
  }
  return value["usage"];
}

/** Whether this member of an event is an answer as a whole. */
function isWhole(place: string): boolean {
  return place === "response" || place === "interaction";
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
  // Only the presence of an error matters.
  ["error", new Map()],
];

/**
 * The parts of an answer or an event that `findUsage` reads, and the fields that mark an event as
 * an error or as the last one of a choice.
 */
export const usagePicks: Picks = new Map<string, "all" | Picks>([
  ...answerPicks,
  ["usageMetadata", "all"],
  ["x_groq", ofUsage],
  ["response", new Map(answerPicks)],
  ["interaction", new Map(answerPicks)],
  ["message", ofUsage],
  ["type", "all"],
  ["choices", new Map([["finish_reason", "all"]])],
]);

/**
 * The usage with related fields from elsewhere in OpenAI's answer: the tier that served it, and the
 * searches in the list of its output. Both get the names that Anthropic uses for them in the usage.
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

/** Opening a result, or searching within it, isn't another search. */
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

/** Whether a name in the JSON may contain an escaped letter. No provider writes names so. */
export function hasEscapedName(text: string): boolean {
  return text.includes("\\u00") && escapedName.test(text);
}

/**
 * The usage at the end of a complete answer, found without parsing all of it: an object of the
 * members from `usage` on. Null if the caller has to parse the answer. A quote within a text is
 * escaped, so the match is a key or a value; the braces balance only after a key of the outermost
 * object. These answers must be parsed: one that may hold an error, since an error decides what the
 * answer is; one with searches, which are counted; one whose service tier precedes the usage; and
 * one with escapes in names.
 */
export function usageAtEnd(text: string): unknown {
  const at = text.lastIndexOf('"usage"');
  if (at === -1) return null;
  // One search for both, since nearly every answer has neither.
  const hasEither = errorOrTier.test(text);
  if ((hasEither && text.includes('"error"')) || hasEscapedName(text)) return null;
  try {
    const end = JSON.parse(`{${text.slice(at)}`) as Fields;
    const { usage } = end;
    // A null may precede or follow the real usage.
    if (!isObject(usage)) return null;
    // Chat completions list no searches.
    if (isAbsent(usage["prompt_tokens"]) && text.includes('_search_call"')) return null;
    const saysTier = !isAbsent(usage["service_tier"]) || !isAbsent(end["service_tier"]);
    return saysTier || !hasEither ? end : null;
  } catch {
    // The match is nested deeper, or is a value.
    return null;
  }
}

/**
 * The usage that a stream has reported so far, after one more event with usage. Counts cover the
 * complete answer so far, never a part: Anthropic reports the input first and the output at the
 * end, others repeat everything. So the later event's value of each field wins. A field that is
 * missing there, or null, or 0 where there was more, keeps its earlier value; but a total and a
 * cost belong to the counts in the same event.
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
  "total_input_tokens",
  "total_output_tokens",
];
const ofCounts: ReadonlySet<string> = new Set([
  "total_tokens",
  "totalTokenCount",
  "cost",
  "cost_details",
  "is_byok",
  "cost_in_usd_ticks",
]);

/** Whether a field's value adds information to another value of the same field. */
function isMore(value: unknown, other: unknown): boolean {
  return !isAbsent(value) && (isAbsent(other) || (other === 0 && value !== 0));
}
