/**
 * Finds the usage object in an answer or in the events of a stream, and merges the usage of several
 * events.
 *
 * Not here: what the fields mean (`read-usage.ts`).
 */
import { isAbsent, isCount, isObject } from "../../shared/checked.js";
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
  if (isObject(value["usageMetadata"])) return withGrounding(value["usageMetadata"], value);
  for (const place of ["x_groq", "response", "interaction", "message"]) {
    const nested = value[place];
    if (isObject(nested) && isObject(nested["usage"]))
      return withContext(nested["usage"], isWhole(place) ? nested : value);
  }
  return value["usage"] ?? usageElsewhere(value);
}

/**
 * Usage in other fields: Cohere's `meta`, Mistral's `usage_info` of documents, DeepInfra's
 * `inference_status`, and the length of sound in OpenAI's verbose transcriptions.
 */
function usageElsewhere(answer: Fields): unknown {
  const { meta, usage_info: info, inference_status: status, duration, segments } = answer;
  if (isObject(meta)) return billedUnits(meta) ?? meta["tokens"];
  if (isObject(info)) return info;
  if (isObject(status))
    return {
      input_tokens: status["tokens_input"],
      output_tokens: status["tokens_generated"],
      cost: status["cost"],
    };
  const isVerbose = Array.isArray(segments) || !isAbsent(answer["language"]);
  if (isAbsent(duration) || !isVerbose) return undefined;
  return { type: "duration", seconds: Number(duration) };
}

/**
 * Cohere's billed units differ from the tokens that it counts, and tokens of images are separate
 * from the input.
 */
function billedUnits({ billed_units: units, cached_tokens: cached }: Fields): Fields | null {
  if (!isObject(units)) return null;
  const { input_tokens: input = 0, image_tokens: image } = units;
  const imageTokens =
    isCount(image) && isCount(input)
      ? { input_tokens: input + image, input_tokens_details: { image_tokens: image } }
      : {};
  return isAbsent(cached) && isAbsent(image)
    ? units
    : { ...units, ...imageTokens, cached_tokens: cached };
}

/** Whether this member of an event is a complete answer. */
function isWhole(place: string): boolean {
  return place === "response" || place === "interaction";
}

const outputPicks: Picks = new Map<string, "all" | Picks>([
  ["type", "all"],
  ["container_id", "all"],
  ["name", "all"],
  ["server_label", "all"],
  ["action", new Map([["type", "all"]])],
]);
const usageOnly: Picks = new Map([["usage", "all"]]);
const toolPicks: Picks = new Map<string, "all" | Picks>([
  ["type", "all"],
  ["model", "all"],
  ["container", new Map([["memory_limit", "all"]])],
]);
const blockPicks: Picks = new Map<string, "all" | Picks>([
  ["type", "all"],
  ["name", "all"],
  ["server_name", "all"],
]);
const answerPicks: readonly (readonly [string, "all" | Picks])[] = [
  ["usage", "all"],
  ["service_tier", "all"],
  ["output", outputPicks],
  ["tool_usage", "all"],
  ["tools", toolPicks],
  ["model", "all"],
  ["object", "all"],
  // Only the presence of an error matters.
  ["error", new Map()],
];
const groundingPicks: Picks = new Map<string, "all" | Picks>([
  ["webSearchQueries", "all"],
  ["imageSearchQueries", "all"],
  ["groundingChunks", new Map([["maps", new Map()]])],
]);

/**
 * The parts of an answer or an event that `findUsage` reads, and the fields that mark an event as
 * an error or as the last one of a choice.
 */
export const usagePicks: Picks = new Map<string, "all" | Picks>([
  ...answerPicks,
  ["usageMetadata", "all"],
  ["candidates", new Map([["groundingMetadata", groundingPicks]])],
  ["modelVersion", "all"],
  ["serviceTier", "all"],
  ["usage_breakdown", "all"],
  ["meta", "all"],
  ["usage_info", "all"],
  ["inference_status", "all"],
  ["duration", "all"],
  ["language", "all"],
  ["x_groq", usageOnly],
  ["response", new Map(answerPicks)],
  ["interaction", new Map(answerPicks)],
  ["message", new Map([...usageOnly, ["model", "all"]])],
  ["type", "all"],
  ["item", outputPicks],
  ["content", blockPicks],
  ["content_block", blockPicks],
  ["choices", new Map([["finish_reason", "all"]])],
]);

/** The model that an answer or an event names; null if it names none. */
export function modelNamedIn(value: unknown): string | null {
  if (!isObject(value)) return null;
  const nested = value["response"] ?? value["interaction"] ?? value["message"];
  const model =
    value["model"] ?? value["modelVersion"] ?? (isObject(nested) ? nested["model"] : "");
  return typeof model === "string" && model !== "" ? model : null;
}

/** Fields of an answer that belong to its usage, although they are outside of it. */
const besideUsage = ["service_tier", "tool_usage", "usage_breakdown"] as const;

/**
 * The usage with related fields from elsewhere in the answer: the tier that served it, what its
 * tools used, and the calls of tools in OpenAI's output, under the names that Anthropic's usage has
 * for them.
 */
function withContext(usage: Fields, answer: Fields): Fields {
  const { service_tier: serviceTier, tool_usage: tools, usage_breakdown: breakdown } = answer;
  // Bedrock's Converse has the second.
  const tier = serviceTier ?? answer["serviceTier"];
  const calls = callsIn(answer);
  const result =
    isAbsent(tools) && isAbsent(breakdown) && calls === null
      ? withTier(usage, tier)
      : withFieldsOf(usage, answer, calls);
  return isObject(result["billed_units"]) ? (billedUnits(result) ?? result) : result;
}

/** Handles nearly every answer, so it has no loop over names, which costs V8 more than the copy. */
function withTier(usage: Fields, tier: unknown): Fields {
  return isAbsent(tier) || !isAbsent(usage["service_tier"])
    ? usage
    : { ...usage, service_tier: tier };
}

function withFieldsOf(usage: Fields, answer: Fields, calls: Fields | null): Fields {
  const out: Record<string, unknown> = { ...usage };
  for (const name of besideUsage)
    if (isAbsent(usage[name]) && !isAbsent(answer[name])) out[name] = answer[name];
  if (calls !== null) out["server_tool_use"] = calls;
  if (out["tool_usage"] !== undefined) out["image_model"] = imageModelIn(answer["tools"]);
  return out;
}

function imageModelIn(tools: unknown): unknown {
  if (!Array.isArray(tools)) return undefined;
  const tool: unknown = tools.find((tool) => isObject(tool) && tool["type"] === "image_generation");
  return isObject(tool) ? tool["model"] : undefined;
}

/** Gemini's usage with the searches that grounded the answer. */
function withGrounding(usage: Fields, { candidates }: Fields): Fields {
  if (!Array.isArray(candidates)) return usage;
  let web = 0;
  let maps = 0;
  for (const candidate of candidates as unknown[]) {
    const grounding = isObject(candidate) ? candidate["groundingMetadata"] : null;
    if (!isObject(grounding)) continue;
    const { webSearchQueries, imageSearchQueries, groundingChunks } = grounding;
    web += queriesIn(webSearchQueries) + queriesIn(imageSearchQueries);
    if (Array.isArray(groundingChunks) && groundingChunks.some(isOfMaps)) maps++;
  }
  if (web + maps === 0) return usage;
  return { ...usage, server_tool_use: { web_search_requests: web, maps_search_requests: maps } };
}

/** The number of queries. Google doesn't bill empty ones. */
function queriesIn(queries: unknown): number {
  return Array.isArray(queries) ? queries.filter((query) => query !== "").length : 0;
}

function isOfMaps(chunk: unknown): boolean {
  return isObject(chunk) && isObject(chunk["maps"]);
}

/**
 * The calls of OpenAI's tools. Opening a result, or searching within it, isn't another search. A
 * container counts once for each GB of its memory, by which it is billed.
 */
function callsIn({ output, tools }: Fields): Fields | null {
  if (!Array.isArray(output)) return null;
  let web = 0;
  let file = 0;
  let containers: Set<unknown> | null = null;
  for (const item of output as unknown[]) {
    if (!isObject(item)) continue;
    if (item["type"] === "file_search_call") file++;
    else if (item["type"] === "code_interpreter_call")
      containers = (containers ?? new Set()).add(item["container_id"]);
    else if (item["type"] === "web_search_call") {
      const { action } = item;
      if (!isObject(action) || action["type"] === "search") web++;
    }
  }
  if (web + file === 0 && containers === null) return null;
  return {
    web_search_requests: web,
    file_search_requests: file,
    ...(containers === null ? {} : { containers: containers.size * memoryIn(tools) }),
  };
}

/** The memory of the code interpreter in GB; 1 by default. */
function memoryIn(tools: unknown): number {
  const containers = (Array.isArray(tools) ? tools : [])
    .filter((tool) => isObject(tool) && tool["type"] === "code_interpreter")
    .map((tool: Fields) => tool["container"])
    .filter(isObject);
  const [, gigabytes = "1"] = /^(\d{1,3})g$/.exec(String(containers[0]?.["memory_limit"])) ?? [];
  return Math.max(1, Number(gigabytes));
}

const toolCallOrUsage =
  /(?:_search|code_interpreter|image_generation|mcp)_call"|"(?:mcp|server)_tool_use"[\s]*[,}]|"tool_usage"/;

/** Whether an answer may list calls of a provider's tools, or count them beside its usage. */
function mayHaveToolCalls(text: string): boolean {
  // Searches for plain texts take a third of the time.
  const may = text.includes('_call"') || text.includes('_use"') || text.includes('tool_usage"');
  return may && toolCallOrUsage.test(text);
}

const errorOrTier = /"(?:error|service_tier|serviceTier)"/;

const escapedName = /"[A-Za-z_]*\\u00[4-7]/;

/** Whether a name in the JSON may contain an escaped letter. No provider writes names so. */
export function hasEscapedName(text: string): boolean {
  return text.includes("\\u00") && escapedName.test(text);
}

/**
 * The usage at the end of a complete answer, found without parsing all of it: an object with the
 * answer's members from `usage` to the end. A quote within a text is escaped, so the match is a key
 * or a value, and the braces balance only after a key of the outermost object.
 *
 * Null if the caller has to parse the answer: it may hold an error, which decides what the answer
 * is; it has calls of the provider's tools, which are counted; its service tier precedes the usage;
 * or its names have escapes.
 */
export function usageAtEnd(text: string): unknown {
  const position = text.lastIndexOf('"usage"');
  if (position === -1) return null;
  // One search for both, since nearly every answer has neither.
  const hasEither = errorOrTier.test(text);
  if ((hasEither && text.includes('"error"')) || hasEscapedName(text)) return null;
  try {
    const end = JSON.parse(`{${text.slice(position)}`) as Fields;
    const { usage } = end;
    // A null may precede or follow the real usage.
    if (!isObject(usage)) return null;
    // Chat completions list no calls of tools.
    if (isAbsent(usage["prompt_tokens"]) && mayHaveToolCalls(text)) return null;
    const tier = usage["service_tier"] ?? end["service_tier"] ?? end["serviceTier"];
    const saysTier = !isAbsent(tier);
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
      (boundToCounts.has(name) && counts.some((count) => isMore(later[count], 0)))
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
/** Fields that belong to the counts of the same event. */
const boundToCounts: ReadonlySet<string> = new Set([
  "total_tokens",
  "totalTokenCount",
  "cost",
  "cost_details",
  "is_byok",
  "cost_in_usd_ticks",
]);

/** Whether a field's value adds information to another value of the same field. */
function isMore(value: unknown, earlier: unknown): boolean {
  return !isAbsent(value) && (isAbsent(earlier) || (earlier === 0 && value !== 0));
}
