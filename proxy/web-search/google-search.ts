/** The web search of Gemini's API: the tool `googleSearch`, and `groundingMetadata`. */
import { isObject, parseJson } from "../../shared/checked.js";
import { append } from "../../shared/long-lists.js";
import { formatEvent, type StreamEvent } from "../dialects/event-stream.js";
import type { JsonObject } from "../dialects/shared/translation.js";
import { UniqueIds } from "../dialects/shared/unique-ids.js";
import {
  addResults,
  citationsIn,
  domainsIn,
  freeToolName,
  outcomeText,
  queryIn,
  type SearchCall,
  type SearchConversation,
  type SearchOptions,
  type SearchOutcome,
  sumOfReports,
  toolDescription,
  toolParameters,
} from "./search-conversation.js";
import type { SearchResult } from "./search-provider.js";

/** Google reads both spellings of a name. */
const searchToolNames = [
  "googleSearch",
  "google_search",
  "googleSearchRetrieval",
  "google_search_retrieval",
];

/** Null if the body has no web search. */
export function googleSearch(body: JsonObject): SearchConversation | null {
  const { tools, contents } = body;
  if (!Array.isArray(tools) || !Array.isArray(contents)) return null;
  const tool = tools
    .filter(isObject)
    .find((tool) => searchToolNames.some((name) => isObject(tool[name])));
  return tool === undefined ? null : new GoogleSearch(body, tools.filter(isObject), tool);
}

class GoogleSearch implements SearchConversation {
  readonly options: SearchOptions;
  readonly #body: JsonObject;
  readonly #name: string;
  readonly #tools: readonly JsonObject[];
  readonly #contents: unknown[];
  readonly #results = new Map<string, SearchResult>();
  readonly #callIds = new UniqueIds();
  readonly #queries: string[] = [];
  #turns = 0;
  /** The parts of all turns for the client. */
  readonly #clientParts: JsonObject[] = [];
  /** All parts of this turn, including calls of the search. */
  #turnParts: JsonObject[] = [];
  /** The fields of the first answer beside its candidates, such as its id. */
  #answerFields: JsonObject = {};
  /** The fields of the last candidate beside its content, such as its finish reason. */
  #candidateFields: JsonObject = {};
  /** The usage of the earlier turns. */
  #usage: unknown;
  #turnUsage: unknown;
  #hasFailed = false;

  constructor(body: JsonObject, tools: readonly JsonObject[], tool: JsonObject) {
    this.#body = body;
    const declared = tools.flatMap((tool) => {
      const list = tool["functionDeclarations"] ?? tool["function_declarations"];
      return Array.isArray(list) ? list.filter(isObject) : [];
    });
    this.#name = freeToolName(declared.map(({ name }) => name));
    const search = {
      name: this.#name,
      description: toolDescription,
      parameters: googleParameters(),
    };
    this.#tools = [
      ...tools.map(withoutSearch).filter((tool) => Object.keys(tool).length > 0),
      { functionDeclarations: [search] },
    ];
    const { contents } = body;
    this.#contents = Array.isArray(contents) ? [...(contents as readonly unknown[])] : [contents];
    const settings = searchToolNames.map((name) => tool[name]).find(isObject);
    this.options = {
      maxUses: null,
      allowedDomains: [],
      blockedDomains: domainsIn(settings?.["excludeDomains"] ?? settings?.["exclude_domains"]),
      country: null,
    };
  }

  nextBody(isLast: boolean): JsonObject {
    const { toolConfig, tool_config, ...rest } = this.#body;
    const requestedConfig = toolConfig ?? tool_config;
    const config = isLast
      ? callingMode("NONE")
      : this.#turns > 0 && isForced(requestedConfig)
        ? callingMode("AUTO")
        : requestedConfig;
    this.#turns++;
    this.#turnParts = [];
    this.#turnUsage = undefined;
    return {
      ...rest,
      contents: this.#contents,
      tools: this.#tools,
      ...(config === undefined ? {} : { toolConfig: config }),
    };
  }

  readAnswer(answer: JsonObject): void {
    this.#read(answer);
  }

  /** Stores an answer, and returns the parts for the client. */
  #read(answer: JsonObject): readonly JsonObject[] {
    const { candidates, usageMetadata, ...others } = answer;
    if (this.#answerFields["responseId"] === undefined) this.#answerFields = others;
    if (isObject(usageMetadata)) this.#turnUsage = usageMetadata;
    const candidate: unknown = Array.isArray(candidates) ? candidates[0] : null;
    if (!isObject(candidate)) return [];
    const { content, ...rest } = candidate;
    if (rest["finishReason"] !== undefined) this.#candidateFields = rest;
    const parts = isObject(content) && Array.isArray(content["parts"]) ? content["parts"] : [];
    const turnParts = parts.filter(isObject).map((part) => this.#withUniqueId(part));
    append(this.#turnParts, turnParts);
    const clientParts = turnParts.filter((part) => !this.#isSearch(part));
    append(this.#clientParts, clientParts);
    return clientParts;
  }

  #withUniqueId(part: JsonObject): JsonObject {
    const { functionCall: call } = part;
    return isObject(call) && typeof call["id"] === "string"
      ? { ...part, functionCall: { ...call, id: this.#callIds.of(call["id"]) } }
      : part;
  }

  #isSearch({ functionCall }: JsonObject): boolean {
    return isObject(functionCall) && functionCall["name"] === this.#name;
  }

  readEvent({ event, data }: StreamEvent): string {
    if (data === "") return "";
    const value = parseJson(data);
    if (!isObject(value)) return "";
    if (isObject(value["error"])) {
      this.#hasFailed = true;
      return formatEvent({ event, data });
    }
    const parts = this.#read(value);
    if (parts.length === 0) return "";
    return this.#eventText({ candidates: [{ content: { role: "model", parts }, index: 0 }] });
  }

  #eventText(chunk: JsonObject): string {
    return formatEvent({ event: null, data: JSON.stringify({ ...this.#answerFields, ...chunk }) });
  }

  /**
   * No searches beside calls of the client's tools: the model searches again once it has their
   * results.
   */
  get calls(): readonly SearchCall[] {
    if (this.isOver) return [];
    return this.#turnParts
      .filter((part) => this.#isSearch(part))
      .map((part, i) => {
        const call = part["functionCall"] as JsonObject;
        return { id: String(call["id"] ?? i), query: queryIn(call["args"]) };
      });
  }

  get isOver(): boolean {
    return (
      this.#hasFailed ||
      this.#candidateFields["finishReason"] === "MAX_TOKENS" ||
      this.#turnParts.some((part) => isObject(part["functionCall"]) && !this.#isSearch(part))
    );
  }

  eventsBeforeSearches(): string {
    return "";
  }

  readOutcomes(outcomes: readonly SearchOutcome[]): string {
    addResults(this.#results, outcomes);
    for (const { call, error } of outcomes)
      if (error === null && call.query !== null) this.#queries.push(call.query);
    const calls = this.#turnParts.filter((part) => this.#isSearch(part));
    const responses = outcomes.map((outcome, i) => {
      const { id } = calls[i]!["functionCall"] as JsonObject;
      const response = { output: outcomeText(outcome) };
      const functionResponse = { name: this.#name, response };
      return {
        functionResponse: id === undefined ? functionResponse : { id, ...functionResponse },
      };
    });
    this.#contents.push(
      { role: "model", parts: this.#turnParts },
      { role: "user", parts: responses },
    );
    this.#usage = sumOfReports(this.#usage, this.#turnUsage);
    this.#turnUsage = undefined;
    return "";
  }

  /** The sources of the texts, whose positions Google counts in bytes of UTF-8. */
  #grounding(): JsonObject {
    const pages = [...this.#results.values()];
    const text = this.#clientParts
      .map((part) =>
        part["thought"] !== true && typeof part["text"] === "string" ? part["text"] : "",
      )
      .join("");
    const supports = citationsIn(text, this.#results).map(({ start, end, result }) => ({
      segment: {
        startIndex: Buffer.byteLength(text.slice(0, start)),
        endIndex: Buffer.byteLength(text.slice(0, end)),
        text: text.slice(start, end),
      },
      groundingChunkIndices: [pages.indexOf(result)],
    }));
    return {
      webSearchQueries: this.#queries,
      groundingChunks: pages.map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: supports,
    };
  }

  #lastChunk(parts: readonly JsonObject[]): JsonObject {
    const grounding = this.#queries.length === 0 ? {} : { groundingMetadata: this.#grounding() };
    const content = { role: "model", parts };
    const candidates = [{ ...this.#candidateFields, index: 0, content, ...grounding }];
    const usageMetadata = sumOfReports(this.#usage, this.#turnUsage);
    return { candidates, ...(usageMetadata === undefined ? {} : { usageMetadata }) };
  }

  completeAnswer(): JsonObject {
    return { ...this.#answerFields, ...this.#lastChunk(this.#clientParts) };
  }

  lastEvents(): string {
    return this.#hasFailed ? "" : this.#eventText(this.#lastChunk([]));
  }
}

/** Google's schemas have no `additionalProperties`. */
function googleParameters(): JsonObject {
  const { additionalProperties: _, ...schema } = toolParameters;
  return schema;
}

function withoutSearch(tool: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(tool).filter(([name]) => !searchToolNames.includes(name)),
  );
}

function callingMode(name: "AUTO" | "NONE"): JsonObject {
  return { functionCallingConfig: { mode: name } };
}

function isForced(config: unknown): boolean {
  if (!isObject(config)) return false;
  const calling = config["functionCallingConfig"] ?? config["function_calling_config"];
  return isObject(calling) && calling["mode"] === "ANY";
}
