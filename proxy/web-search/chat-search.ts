/** The web search of chat completions: `web_search_options`, and annotations in the answer. */
import { isCount, isObject, parseJson } from "../../shared/checked.js";
import { formatEvent, type StreamEvent } from "../dialects/event-stream.js";
import type { JsonObject } from "../dialects/shared/translation.js";
import { UniqueIds } from "../dialects/shared/unique-ids.js";
import {
  addResults,
  citationsIn,
  countryIn,
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

/** Null if the body has no web search, or requests several answers. */
export function chatSearch(body: JsonObject): SearchConversation | null {
  const { web_search_options: options, messages, n = 1 } = body;
  if (!isObject(options) || !Array.isArray(messages) || n !== 1) return null;
  return new ChatSearch(body, options);
}

interface Call {
  readonly id: unknown;
  readonly type: string;
  readonly function: { name: string; arguments: string };
}

class ChatSearch implements SearchConversation {
  readonly options: SearchOptions;
  readonly #body: JsonObject;
  readonly #name: string;
  readonly #tools: readonly unknown[];
  readonly #messages: unknown[];
  readonly #results = new Map<string, SearchResult>();
  readonly #callIds = new UniqueIds();
  #turns = 0;
  /** The text of all turns. */
  #text = "";
  /** The model's message in this turn. */
  #message: Record<string, unknown> = {};
  readonly #calls = new Map<unknown, Call>();
  /** The index, in the client's answer, of each call of the client's tools. */
  readonly #clientIndexes = new Map<unknown, number>();
  /** The first answer or chunk, for its fields beside the choices, such as its id. */
  #answerFields: JsonObject = {};
  #finishReason: unknown = null;
  #usage: unknown;
  #hasFailed = false;

  constructor(body: JsonObject, options: JsonObject) {
    this.#body = body;
    const tools: readonly unknown[] = Array.isArray(body["tools"]) ? body["tools"] : [];
    const functions = tools.map((tool) => (isObject(tool) ? tool["function"] : null));
    this.#name = freeToolName(
      functions.map((declared) => (isObject(declared) ? declared["name"] : null)),
    );
    const called = {
      name: this.#name,
      description: toolDescription,
      parameters: toolParameters,
    };
    this.#tools = [...tools, { type: "function", function: called }];
    this.#messages = [...(body["messages"] as readonly unknown[])];
    this.options = {
      maxUses: null,
      allowedDomains: [],
      blockedDomains: [],
      country: countryIn(options["user_location"]),
    };
  }

  nextBody(isLast: boolean): JsonObject {
    const { web_search_options: _, tool_choice: toolChoice, ...rest } = this.#body;
    const isForced = toolChoice === "required" || isObject(toolChoice);
    // A call is forced only once, or the model would never answer.
    const choice = isLast ? "none" : isForced && this.#turns > 0 ? "auto" : toolChoice;
    this.#turns++;
    this.#message = { role: "assistant", content: "" };
    this.#calls.clear();
    this.#clientIndexes.clear();
    return {
      ...rest,
      messages: this.#messages,
      tools: this.#tools,
      ...(choice === undefined ? {} : { tool_choice: choice }),
    };
  }

  readAnswer(answer: JsonObject): void {
    if (this.#turns === 1) this.#answerFields = answer;
    this.#usage = sumOfReports(this.#usage, answer["usage"]);
    const { choices } = answer;
    const choice: unknown = Array.isArray(choices) ? choices[0] : null;
    if (!isObject(choice) || !isObject(choice["message"])) return;
    this.#finishReason = choice["finish_reason"];
    this.#message = { ...choice["message"] };
    const { content, tool_calls: calls } = this.#message;
    if (Array.isArray(calls))
      for (const [i, call] of (calls as readonly Call[]).entries())
        this.#calls.set(i, { ...call, id: this.#uniqueId(call.id) });
    if (typeof content === "string" && content !== "")
      this.#text += this.#text === "" ? content : `\n\n${content}`;
  }

  readEvent({ data }: StreamEvent): string {
    if (data === "" || data === "[DONE]") return "";
    const value = parseJson(data);
    if (!isObject(value)) return "";
    if (isObject(value["error"])) {
      this.#hasFailed = true;
      return formatEvent({ event: null, data });
    }
    const { choices, usage, ...head } = value;
    if (isObject(usage)) this.#usage = sumOfReports(this.#usage, usage);
    const choice: unknown = Array.isArray(choices) ? choices[0] : null;
    if (!isObject(choice)) return "";
    if (this.#answerFields["id"] === undefined) this.#answerFields = head;
    if (choice["finish_reason"]) this.#finishReason = choice["finish_reason"];
    const delta = isObject(choice["delta"]) ? this.#readDelta(choice["delta"]) : {};
    return Object.keys(delta).length === 0 ? "" : this.#eventText({ ...choice, delta });
  }

  #eventText(choice: JsonObject): string {
    const chunk = { ...this.#answerFields, choices: [{ ...choice, finish_reason: null }] };
    return formatEvent({ event: null, data: JSON.stringify(chunk) });
  }

  /** Stores a delta. Returns it for the client, without the calls of the search. */
  #readDelta(delta: JsonObject): JsonObject {
    const { role, content, tool_calls: pieces, ...rest } = delta;
    const clientDelta: Record<string, unknown> = { ...rest };
    if (role !== undefined && this.#turns === 1) clientDelta["role"] = role;
    for (const [name, value] of Object.entries(rest))
      if (typeof value === "string") this.#message[name] = `${this.#message[name] ?? ""}${value}`;
    if (typeof content === "string" && content !== "") {
      const isNext = this.#message["content"] === "" && this.#text !== "";
      clientDelta["content"] = isNext ? `\n\n${content}` : content;
      this.#message["content"] = `${String(this.#message["content"])}${content}`;
      this.#text += String(clientDelta["content"]);
    }
    const clientCalls = Array.isArray(pieces)
      ? pieces.filter(isObject).flatMap((piece) => this.#readCallPiece(piece))
      : [];
    if (clientCalls.length > 0) clientDelta["tool_calls"] = clientCalls;
    return clientDelta;
  }

  /** Stores a piece of a call. Returns it for the client, unless the call is a search. */
  #readCallPiece(piece: JsonObject): readonly JsonObject[] {
    const { index, id, function: called } = piece;
    const { name = "", arguments: more = "" } = isObject(called) ? called : {};
    const call = this.#calls.get(index);
    if (call === undefined)
      this.#calls.set(index, {
        id: this.#uniqueId(id),
        type: "function",
        function: { name: String(name), arguments: String(more) },
      });
    else call.function.arguments += String(more);
    if (this.#isSearch(this.#calls.get(index)!)) return [];
    if (!this.#clientIndexes.has(index)) this.#clientIndexes.set(index, this.#clientIndexes.size);
    const clientId = id === undefined ? {} : { id: this.#calls.get(index)!.id };
    return [{ ...piece, ...clientId, index: this.#clientIndexes.get(index) }];
  }

  #uniqueId(id: unknown): unknown {
    return typeof id === "string" ? this.#callIds.of(id) : id;
  }

  #isSearch({ function: called }: Call): boolean {
    return called?.name === this.#name;
  }

  /**
   * No searches beside calls of the client's tools: the model searches again once it has their
   * results.
   */
  get calls(): readonly SearchCall[] {
    if (this.isOver) return [];
    return [...this.#calls.values()].map(({ id, function: called }) => ({
      id: String(id),
      query: queryIn(called.arguments),
    }));
  }

  get isOver(): boolean {
    if (this.#hasFailed || this.#finishReason === "length") return true;
    return [...this.#calls.values()].some((call) => !this.#isSearch(call));
  }

  eventsBeforeSearches(): string {
    return "";
  }

  readOutcomes(outcomes: readonly SearchOutcome[]): string {
    addResults(this.#results, outcomes);
    const tool_calls = [...this.#calls.values()];
    this.#messages.push({ ...this.#message, tool_calls });
    for (const outcome of outcomes)
      this.#messages.push({
        role: "tool",
        tool_call_id: outcome.call.id,
        content: outcomeText(outcome),
      });
    return "";
  }

  #annotations(): readonly JsonObject[] {
    return citationsIn(this.#text, this.#results).map(({ start, end, result }) => ({
      type: "url_citation",
      url_citation: { start_index: start, end_index: end, url: result.url, title: result.title },
    }));
  }

  /**
   * The last finish reason. A model that was told to stop searching and still calls has ended its
   * turn.
   */
  #lastFinishReason(): unknown {
    return this.#finishReason === "tool_calls" && !this.isOver ? "stop" : this.#finishReason;
  }

  completeAnswer(): JsonObject {
    const { tool_calls: _, ...fields } = this.#message;
    const clientCalls = [...this.#calls.values()].filter((call) => !this.#isSearch(call));
    const annotations = this.#annotations();
    const message = {
      ...fields,
      content: this.#text === "" ? (fields["content"] ?? null) : this.#text,
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(clientCalls.length === 0 ? {} : { tool_calls: clientCalls }),
    };
    const choices = [
      { index: 0, message, logprobs: null, finish_reason: this.#lastFinishReason() },
    ];
    return {
      ...this.#answerFields,
      choices,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }

  lastEvents(): string {
    if (this.#hasFailed) return "";
    const annotations = this.#annotations();
    const delta = annotations.length === 0 ? {} : { annotations };
    const choices = [{ index: 0, delta, finish_reason: this.#lastFinishReason() }];
    const events = [{ ...this.#answerFields, choices }];
    if (isObject(this.#usage) && isCount(this.#usage["total_tokens"]))
      events.push({ ...this.#answerFields, choices: [], usage: this.#usage } as never);
    return [...events.map((chunk) => JSON.stringify(chunk)), "[DONE]"]
      .map((data) => formatEvent({ event: null, data }))
      .join("");
  }
}
