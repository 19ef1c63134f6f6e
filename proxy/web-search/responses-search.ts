/**
 * The web search of the Responses API: the tool `web_search`, items of the type `web_search_call`,
 * and annotations of the type `url_citation`.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { append } from "../../shared/long-lists.js";
import { formatEvent, type StreamEvent } from "../dialects/event-stream.js";
import type { JsonObject } from "../dialects/shared/translation.js";
import { UniqueIds } from "../dialects/shared/unique-ids.js";
import {
  addResults,
  citationsIn,
  countryIn,
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

const hosted = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;
/** By this value of `include` a client requests the pages that a search found. */
const sourcesField = "web_search_call.action.sources";

/** Null if the body has no web search. */
export function responsesSearch(body: JsonObject): SearchConversation | null {
  const { tools } = body;
  if (!Array.isArray(tools)) return null;
  const tool: unknown = tools.find(isSearch);
  return isObject(tool) ? new ResponsesSearch(body, tools, tool) : null;
}

function isSearch(tool: unknown): boolean {
  return isObject(tool) && typeof tool["type"] === "string" && hosted.test(tool["type"]);
}

class ResponsesSearch implements SearchConversation {
  readonly options: SearchOptions;
  readonly #body: JsonObject;
  readonly #name: string;
  readonly #tools: readonly JsonObject[];
  readonly #include: readonly unknown[];
  readonly #input: JsonObject[];
  readonly #results = new Map<string, SearchResult>();
  #turns = 0;
  /** The client's output so far. */
  readonly #output: JsonObject[] = [];
  /** The model's items in this turn. */
  #items: JsonObject[] = [];
  /** The client's index of each item of this turn; null for a search. */
  readonly #indexes = new Map<unknown, number | null>();
  /** The client's index of the next item, and the number of the next event. */
  #nextIndex = 0;
  #nextSequence = 0;
  #firstResponse: JsonObject = {};
  #lastResponse: JsonObject = {};
  #usage: unknown;
  #hasFailed = false;
  readonly #callIds = new UniqueIds();
  /** The call ids of this turn, by the index of their item. */
  readonly #turnCallIds = new Map<unknown, string>();
  /** The ids of items of earlier turns. */
  readonly #earlierIds = new Set<unknown>();

  constructor(body: JsonObject, tools: readonly unknown[], tool: JsonObject) {
    this.#body = body;
    const otherTools = tools.filter((tool) => isObject(tool) && !isSearch(tool)) as JsonObject[];
    this.#name = freeToolName(otherTools.map(({ name }) => name));
    this.#tools = [
      ...otherTools,
      {
        type: "function",
        name: this.#name,
        description: toolDescription,
        parameters: toolParameters,
        strict: false,
      },
    ];
    this.#include = Array.isArray(body["include"]) ? body["include"] : [];
    const { input } = body;
    const items = Array.isArray(input) ? input : [{ role: "user", content: input ?? "" }];
    // The text after a search contains its results.
    this.#input = items.filter((item) => isObject(item) && item["type"] !== "web_search_call");
    const { filters } = tool;
    this.options = {
      maxUses: null,
      allowedDomains: domainsIn(isObject(filters) ? filters["allowed_domains"] : null),
      blockedDomains: domainsIn(isObject(filters) ? filters["blocked_domains"] : null),
      country: countryIn(tool["user_location"]),
    };
  }

  nextBody(isLast: boolean): JsonObject {
    const { tool_choice: choice, include: _, ...rest } = this.#body;
    const include = this.#include.filter((name) => name !== sourcesField);
    const chosen = isLast ? "none" : this.#choice(choice);
    this.#turns++;
    for (const { id } of this.#items) if (typeof id === "string") this.#earlierIds.add(id);
    this.#items = [];
    this.#indexes.clear();
    this.#turnCallIds.clear();
    return {
      ...rest,
      input: this.#input,
      tools: this.#tools,
      ...(include.length === 0 ? {} : { include }),
      ...(chosen === undefined ? {} : { tool_choice: chosen }),
    };
  }

  /** The tool choice. A call is forced only once, or the model would never answer. */
  #choice(choice: unknown): unknown {
    if (!isObject(choice)) return choice === "required" && this.#turns > 0 ? "auto" : choice;
    if (choice["type"] === "allowed_tools") return choice;
    if (this.#turns > 0) return "auto";
    return isSearch(choice) ? { type: "function", name: this.#name } : choice;
  }

  readAnswer(answer: JsonObject): void {
    if (this.#turns === 1) this.#firstResponse = answer;
    this.#noteEnd(answer);
    const { output } = answer;
    for (const [i, outputItem] of (Array.isArray(output)
      ? output.filter(isObject)
      : []
    ).entries()) {
      const item = this.#withUniqueCallId(outputItem, i);
      this.#items.push(item);
      if (!this.#isCall(item)) this.#output.push(this.#withUniqueId(this.#withAnnotations(item)));
    }
  }

  #noteEnd(response: JsonObject): void {
    this.#lastResponse = response;
    this.#usage = sumOfReports(this.#usage, response["usage"]);
    if (response["status"] === "failed") this.#hasFailed = true;
  }

  #isCall({ type, name }: JsonObject): boolean {
    return type === "function_call" && name === this.#name;
  }

  #withUniqueCallId(item: JsonObject, index: unknown): JsonObject {
    const { call_id: id } = item;
    if (typeof id !== "string") return item;
    const callId = this.#turnCallIds.get(index) ?? this.#callIds.of(id);
    this.#turnCallIds.set(index, callId);
    return callId === id ? item : { ...item, call_id: callId };
  }

  /**
   * Renames ids that repeat: each turn of a translated provider counts its items from 0, but ids
   * must differ within a response.
   */
  #withUniqueId(item: JsonObject): JsonObject {
    const { id } = item;
    return this.#earlierIds.has(id) ? { ...item, id: this.#uniqueId(id) } : item;
  }

  #uniqueId(id: unknown): unknown {
    return this.#earlierIds.has(id) ? `${String(id)}_${this.#turns}` : id;
  }

  #annotations(text: unknown): readonly JsonObject[] {
    if (typeof text !== "string") return [];
    return citationsIn(text, this.#results).map(({ start, end, result }) => ({
      type: "url_citation",
      start_index: start,
      end_index: end,
      url: result.url,
      title: result.title,
    }));
  }

  #annotatedPart(part: unknown): unknown {
    if (!isObject(part) || part["type"] !== "output_text") return part;
    return { ...part, annotations: this.#annotations(part["text"]) };
  }

  #withAnnotations(item: JsonObject): JsonObject {
    const { type, content } = item;
    if (type !== "message" || !Array.isArray(content)) return item;
    return { ...item, content: content.map((part) => this.#annotatedPart(part)) };
  }

  readEvent({ data }: StreamEvent): string {
    if (data === "" || data === "[DONE]") return "";
    const value = parseJson(data);
    if (!isObject(value)) return "";
    const { type, output_index: outputIndex } = value;
    const item = isObject(value["item"])
      ? this.#withUniqueCallId(value["item"], outputIndex)
      : null;
    switch (type) {
      case "response.created":
      case "response.in_progress": {
        if (this.#turns > 1 || !isObject(value["response"])) return "";
        this.#firstResponse = value["response"];
        return this.#eventText({ ...value, response: this.#withClientTools(this.#firstResponse) });
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        if (isObject(value["response"])) this.#noteEnd(value["response"]);
        return "";
      case "error": {
        const { code = null, message = null } = value;
        this.#noteEnd({ status: "failed", error: { code, message } });
        return this.#eventText(value);
      }
      case "response.output_item.added":
        this.#indexes.set(
          outputIndex,
          item !== null && this.#isCall(item) ? null : this.#nextIndex++,
        );
        break;
      case "response.output_item.done":
        if (item !== null) return this.#onItemDone(item, outputIndex);
        break;
    }
    const index = this.#indexes.get(outputIndex) ?? null;
    if (outputIndex !== undefined && index === null) return "";
    const renamed = { ...value };
    if (item !== null) renamed["item"] = this.#withUniqueId(item);
    if (renamed["item_id"] !== undefined) renamed["item_id"] = this.#uniqueId(renamed["item_id"]);
    const renumbered = outputIndex === undefined ? renamed : { ...renamed, output_index: index };
    if (type === "response.content_part.done")
      return this.#eventText({ ...renumbered, part: this.#annotatedPart(value["part"]) });
    if (type !== "response.output_text.done") return this.#eventText(renumbered);
    const { item_id, content_index, text } = renamed;
    const added = this.#annotations(text).map((annotation, annotation_index) =>
      this.#eventText({
        type: "response.output_text.annotation.added",
        item_id,
        output_index: index,
        content_index,
        annotation_index,
        annotation,
      }),
    );
    return added.join("") + this.#eventText(renumbered);
  }

  #onItemDone(item: JsonObject, index: unknown): string {
    this.#items.push(item);
    if (this.#isCall(item)) return "";
    const annotated = this.#withUniqueId(this.#withAnnotations(item));
    this.#output.push(annotated);
    const place = { output_index: this.#indexes.get(index) ?? null, item: annotated };
    return this.#eventText({ type: "response.output_item.done", ...place });
  }

  #eventText(event: JsonObject): string {
    const numbered = { ...event, sequence_number: this.#nextSequence++ };
    return formatEvent({ event: String(event["type"]), data: JSON.stringify(numbered) });
  }

  /**
   * No searches beside calls of the client's tools: the model searches again once it has their
   * results.
   */
  get calls(): readonly SearchCall[] {
    if (this.isOver) return [];
    return this.#items
      .filter((item) => this.#isCall(item))
      .map(({ call_id: id, arguments: callArguments }) => ({
        id: String(id),
        query: queryIn(callArguments),
      }));
  }

  get isOver(): boolean {
    return (
      this.#hasFailed ||
      this.#lastResponse["status"] === "incomplete" ||
      this.#items.some(
        (item) =>
          (item["type"] === "function_call" || item["type"] === "custom_tool_call") &&
          !this.#isCall(item),
      )
    );
  }

  eventsBeforeSearches(): string {
    return this.calls
      .map((call, i) => {
        const output_index = this.#nextIndex + i;
        const item = searchItem(call, "in_progress", null);
        const place = { output_index, item_id: item["id"] };
        return (
          this.#eventText({ type: "response.output_item.added", output_index, item }) +
          this.#eventText({ type: "response.web_search_call.in_progress", ...place }) +
          this.#eventText({ type: "response.web_search_call.searching", ...place })
        );
      })
      .join("");
  }

  readOutcomes(outcomes: readonly SearchOutcome[]): string {
    addResults(this.#results, outcomes);
    append(this.#input, this.#items);
    for (const outcome of outcomes)
      this.#input.push({
        type: "function_call_output",
        call_id: outcome.call.id,
        output: outcomeText(outcome),
      });
    const hasSources = this.#include.includes(sourcesField);
    return outcomes
      .map((outcome) => {
        const status = outcome.error === null ? "completed" : "failed";
        const item = searchItem(outcome.call, status, hasSources ? outcome.results : null);
        const output_index = this.#nextIndex++;
        this.#output.push(item);
        const place = { output_index, item_id: item["id"] };
        return (
          this.#eventText({ type: "response.web_search_call.completed", ...place }) +
          this.#eventText({ type: "response.output_item.done", output_index, item })
        );
      })
      .join("");
  }

  completeAnswer(): JsonObject {
    const { id = this.#lastResponse["id"] ?? "resp_failed", created_at } = this.#firstResponse;
    const usage = this.#usage ?? null;
    return this.#withClientTools({
      ...this.#lastResponse,
      id,
      created_at,
      output: this.#output,
      usage,
    });
  }

  /** The response with the client's tools instead of the function. */
  #withClientTools(response: JsonObject): JsonObject {
    const { tools, tool_choice = "auto" } = this.#body;
    return { ...response, tools, tool_choice };
  }

  lastEvents(): string {
    const { status = "failed" } = this.#lastResponse;
    return this.#eventText({ type: `response.${String(status)}`, response: this.completeAnswer() });
  }
}

/** `results`: null unless the client requested their sources. */
function searchItem(
  call: SearchCall,
  status: "in_progress" | "completed" | "failed",
  results: readonly SearchResult[] | null,
): JsonObject {
  const query = call.query ?? "";
  const sources = results?.map(({ url }) => ({ type: "url", url }));
  return {
    type: "web_search_call",
    id: `ws_${call.id.replace(/\W/g, "_")}`,
    status,
    action: {
      type: "search",
      query,
      queries: [query],
      ...(sources === undefined ? {} : { sources }),
    },
  };
}
