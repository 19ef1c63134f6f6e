/**
 * The parts of a search for a model that the dialects share: the function tool that the model
 * calls, the text of results for the model, and the citations in its answer. Each dialect has a
 * file for its own shapes.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import type { StreamEvent } from "../dialects/event-stream.js";
import type { JsonObject } from "../dialects/shared/translation.js";
import type { SearchQuery, SearchResult } from "./search-provider.js";

/** The client's options for the search, besides the query. */
export interface SearchOptions extends Omit<SearchQuery, "query"> {
  /** Null for the operator's maximum. */
  readonly maxUses: number | null;
}

/** A search that the model called. */
export interface SearchCall {
  readonly id: string;
  /** Null if its arguments have no query. */
  readonly query: string | null;
}

/** Anthropic's codes, which are more specific than others. */
export type SearchError =
  | "unavailable"
  | "too_many_requests"
  | "invalid_tool_input"
  | "query_too_long"
  | "max_uses_exceeded";

export interface SearchOutcome {
  readonly call: SearchCall;
  readonly results: readonly SearchResult[];
  readonly error: SearchError | null;
}

/**
 * The turns of one request in its client's dialect. Each turn's answer arrives as a whole or as
 * events; then `calls` are the searches to run.
 */
export interface SearchConversation {
  readonly options: SearchOptions;
  /** The body of the next turn. `isLast`: the model may not search again. */
  nextBody(isLast: boolean): JsonObject;
  /** Reads the complete answer of a turn. */
  readAnswer(answer: JsonObject): void;
  /** Reads an event of a turn. Returns the client's events for it. */
  readEvent(event: StreamEvent): string;
  /** The searches of the last turn. */
  readonly calls: readonly SearchCall[];
  /**
   * Whether no further turn may follow: the client has calls of its own or an error, or the model
   * has reached its maximum of output, perhaps within a call.
   */
  readonly isOver: boolean;
  /** The client's events before the searches of `calls` run. */
  eventsBeforeSearches(): string;
  /** Reads the outcomes of all `calls`, in order. Returns the client's events for them. */
  readOutcomes(outcomes: readonly SearchOutcome[]): string;
  /** The answer of all turns, for a client without a stream. */
  completeAnswer(): JsonObject;
  /** The last events of the stream. */
  lastEvents(): string;
}

export const toolDescription =
  "Searches the web. Returns titles, addresses and excerpts of pages. Use it for what may have changed since your training, and for facts that need a source.";

export const toolParameters: JsonObject = {
  type: "object",
  properties: { query: { type: "string", description: "What to search for." } },
  required: ["query"],
  additionalProperties: false,
};

/** A name for the function that no tool of the client has. */
export function freeToolName(names: readonly unknown[]): string {
  return names.includes("web_search") ? "sluice_web_search" : "web_search";
}

/** The query in the arguments of a call, parsed or as text. */
export function queryIn(callArguments: unknown): string | null {
  const value = typeof callArguments === "string" ? parseJson(callArguments) : callArguments;
  if (!isObject(value)) return null;
  const { query } = value;
  return typeof query === "string" && query.trim() !== "" ? query : null;
}

const errorTexts: Readonly<Record<SearchError, string>> = {
  unavailable: "The search failed. Answer without it, and say so.",
  too_many_requests: "The search provider is busy. Answer without it, and say so.",
  invalid_tool_input: "The call has no query.",
  query_too_long: "The query is too long.",
  max_uses_exceeded: "No more searches are allowed. Answer with what you have.",
};

/** The text of the outcome for the model. */
export function outcomeText({ results, error }: SearchOutcome): string {
  if (error !== null) return errorTexts[error];
  if (results.length === 0) return "Nothing was found.";
  const pages = results.map(
    ({ url, title, text, age }, i) =>
      `${i + 1}. ${title}\n${url}${age === null ? "" : `\n${age}`}\n${text}`,
  );
  return `${pages.join("\n\n")}\n\nCite the pages that you use, as Markdown links to their addresses.`;
}

/** A part of a text that links to a result. */
interface Citation {
  readonly start: number;
  readonly end: number;
  readonly result: SearchResult;
}

const citationsMax = 200;

/** In order: Markdown links to results, or their bare addresses. */
export function citationsIn(
  text: string,
  results: ReadonlyMap<string, SearchResult>,
): readonly Citation[] {
  const citations: Citation[] = [];
  for (const [url, result] of results)
    for (
      let position = text.indexOf(url);
      position !== -1;
      position = text.indexOf(url, position + url.length)
    ) {
      const end = position + url.length;
      if (citations.length === citationsMax) break;
      // A longer address is another page.
      if (/[\w/?#&=%~-]/.test(text[end] ?? "")) continue;
      const isLink = text.slice(position - 2, position) === "](" && text[end] === ")";
      const open = isLink ? text.lastIndexOf("[", position - 2) : -1;
      citations.push(
        open === -1 ? { start: position, end, result } : { start: open, end: end + 1, result },
      );
    }
  return citations.sort((a, b) => a.start - b.start);
}

/** Adds results by address; of two with the same address it keeps the first. */
export function addResults(
  resultsByUrl: Map<string, SearchResult>,
  outcomes: readonly SearchOutcome[],
): void {
  for (const { results } of outcomes)
    for (const result of results)
      if (!resultsByUrl.has(result.url)) resultsByUrl.set(result.url, result);
}

/** How many of these ran a search. */
export function searchCount(outcomes: readonly SearchOutcome[]): number {
  return outcomes.filter(({ error }) => error === null).length;
}

/** A list of domains in a client's request. */
export function domainsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((item) => typeof item === "string")
    .map((item) => domainIn(item.slice(0, domainCharsMax)))
    .filter((domain) => domain !== "")
    .slice(0, domainsMax);
}

/** Results of any blocked domain are left out; `search-provider.ts` sends fewer domains. */
const domainsMax = 2000;
/** A domain may be followed by a path. */
const domainCharsMax = 1000;

function domainIn(address: string): string {
  let domain = address.replace(/^https?:\/\//i, "");
  while (domain.endsWith("/")) domain = domain.slice(0, -1);
  return domain;
}

/** The country of a location in the form that Anthropic and OpenAI share. */
export function countryIn(location: unknown): string | null {
  const place =
    isObject(location) && isObject(location["approximate"]) ? location["approximate"] : location;
  const country = isObject(place) ? place["country"] : null;
  return typeof country === "string" && /^[A-Za-z]{2}$/.test(country)
    ? country.toUpperCase()
    : null;
}

/** Adds two usages, including the counts in nested objects. Other members are the later usage's. */
export function sumOfReports(earlier: unknown, later: unknown): unknown {
  if (typeof earlier === "number" && typeof later === "number") return earlier + later;
  if (!isObject(earlier) || !isObject(later)) return later ?? earlier;
  const sum: Record<string, unknown> = { ...earlier };
  for (const name in later) sum[name] = sumOfReports(earlier[name], later[name]);
  return sum;
}
