/**
 * The web search of Anthropic's Messages: the server tool `web_search_20250305` and newer, blocks
 * of the types `server_tool_use` and `web_search_tool_result`, and citations.
 */
import { isCount, isObject, parseJson } from "../../shared/checked.js";
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
  searchCount,
  sumOfReports,
  toolDescription,
  toolParameters,
} from "./search-conversation.js";
import type { SearchResult } from "./search-provider.js";

const serverTool = /^web_search_\d{8}$/;

/** Null if the body has no web search. */
export function messagesSearch(body: JsonObject): SearchConversation | null {
  const { tools } = body;
  if (!Array.isArray(tools)) return null;
  const tool: unknown = tools.find(isSearch);
  return isObject(tool) ? new MessagesSearch(body, tools, tool) : null;
}

function isSearch(tool: unknown): boolean {
  return isObject(tool) && typeof tool["type"] === "string" && serverTool.test(tool["type"]);
}

/** A block of the turn's answer while its events arrive. */
interface OpenBlock {
  readonly block: Record<string, unknown>;
  /** The input of a call so far. */
  json: string;
  /** Its index for the client; null for a search, which is sent once it is complete. */
  readonly clientIndex: number | null;
}

class MessagesSearch implements SearchConversation {
  readonly options: SearchOptions;
  readonly #body: JsonObject;
  readonly #name: string;
  readonly #tools: readonly JsonObject[];
  readonly #messages: JsonObject[];
  readonly #results = new Map<string, SearchResult>();
  readonly #callIds = new UniqueIds();
  #turns = 0;
  /** The client's content so far. */
  readonly #content: JsonObject[] = [];
  /** The client's index of the next block. */
  #nextIndex = 0;
  /** The model's content in this turn, with ids of `#callIds`. */
  #blocks: JsonObject[] = [];
  readonly #openBlocks = new Map<unknown, OpenBlock>();
  #firstAnswer: JsonObject | null = null;
  /** The reason why the last turn stopped, with its stop sequence. */
  #stopFields: JsonObject = {};
  #usage: unknown;
  #turnUsage: unknown;
  #searchCount = 0;
  #hasFailed = false;

  constructor(body: JsonObject, tools: readonly unknown[], tool: JsonObject) {
    this.#body = body;
    const otherTools = tools.filter((tool) => isObject(tool) && !isSearch(tool)) as JsonObject[];
    this.#name = freeToolName(otherTools.map(({ name }) => name));
    this.#tools = [
      ...otherTools,
      { name: this.#name, description: toolDescription, input_schema: toolParameters },
    ];
    this.#messages = withToolCalls(body["messages"], this.#name);
    const { max_uses: uses } = tool;
    this.options = {
      maxUses: isCount(uses) ? uses : null,
      allowedDomains: domainsIn(tool["allowed_domains"]),
      blockedDomains: domainsIn(tool["blocked_domains"]),
      country: countryIn(tool["user_location"]),
    };
  }

  nextBody(isLast: boolean): JsonObject {
    const { tool_choice: toolChoice, ...rest } = this.#body;
    const choice = this.#choice(isObject(toolChoice) ? toolChoice : null, isLast);
    this.#turns++;
    this.#blocks = [];
    this.#turnUsage = undefined;
    return {
      ...rest,
      messages: this.#messages,
      tools: this.#tools,
      ...(choice === null ? {} : { tool_choice: choice }),
    };
  }

  /** The tool choice. A call is forced only once, or the model would never answer. */
  #choice(toolChoice: JsonObject | null, isLast: boolean): JsonObject | null {
    if (isLast) return { type: "none" };
    if (toolChoice === null) return null;
    if (this.#turns > 0 && (toolChoice["type"] === "tool" || toolChoice["type"] === "any"))
      return { type: "auto" };
    return toolChoice["type"] === "tool" && toolChoice["name"] === "web_search"
      ? { ...toolChoice, name: this.#name }
      : toolChoice;
  }

  readAnswer(answer: JsonObject): void {
    this.#firstAnswer ??= answer;
    const { content, stop_reason, stop_sequence, usage } = answer;
    this.#stopFields = { stop_reason, stop_sequence };
    this.#usage = sumOfReports(this.#usage, usage);
    for (const answered of Array.isArray(content) ? content.filter(isObject) : []) {
      const block = this.#withUniqueId(answered);
      this.#blocks.push(block);
      this.#content.push(this.#forClient(block));
    }
  }

  #withUniqueId(block: JsonObject): JsonObject {
    const { type, id } = block;
    return type === "tool_use" && typeof id === "string"
      ? { ...block, id: this.#callIds.of(id) }
      : block;
  }

  #forClient(block: JsonObject): JsonObject {
    if (this.#isCall(block))
      return {
        type: "server_tool_use",
        id: serverId(block["id"]),
        name: "web_search",
        input: block["input"] ?? {},
      };
    const citations = this.#citations(block);
    return citations.length === 0 ? block : { ...block, citations };
  }

  #isCall({ type, name }: JsonObject): boolean {
    return type === "tool_use" && name === this.#name;
  }

  #citations({ type, text }: JsonObject): readonly JsonObject[] {
    if (type !== "text" || typeof text !== "string") return [];
    return citationsIn(text, this.#results).map(({ start, end, result }) => ({
      type: "web_search_result_location",
      url: result.url,
      title: result.title,
      encrypted_index: encoded(result.url),
      cited_text: text.slice(start, end).slice(0, citedCharsMax),
    }));
  }

  readEvent({ event, data }: StreamEvent): string {
    const value = parseJson(data);
    if (!isObject(value)) return "";
    const { index, delta } = value;
    switch (value["type"]) {
      case "message_start": {
        const { message } = value;
        if (isObject(message)) this.#turnUsage = message["usage"];
        return this.#turns === 1 ? formatEvent({ event, data }) : "";
      }
      case "content_block_start": {
        const startBlock = isObject(value["content_block"]) ? value["content_block"] : {};
        const block = this.#withUniqueId(startBlock);
        const clientIndex = this.#isCall(block) ? null : this.#nextIndex++;
        this.#openBlocks.set(index, { block: { ...block }, json: "", clientIndex });
        if (clientIndex === null) return "";
        return eventText({ ...value, index: clientIndex, content_block: block });
      }
      case "content_block_delta": {
        const open = this.#openBlocks.get(index);
        if (open === undefined || !isObject(delta)) return "";
        addDelta(open, delta);
        return open.clientIndex === null ? "" : eventText({ ...value, index: open.clientIndex });
      }
      case "content_block_stop":
        return this.#onBlockStop(index);
      case "message_delta":
        if (isObject(delta)) this.#stopFields = delta;
        this.#turnUsage = { ...(this.#turnUsage as object), ...withoutNulls(value["usage"]) };
        return "";
      case "message_stop":
        this.#usage = sumOfReports(this.#usage, this.#turnUsage);
        return "";
      case "error":
        this.#hasFailed = true;
        return formatEvent({ event, data });
      default:
        return formatEvent({ event, data });
    }
  }

  #onBlockStop(modelIndex: unknown): string {
    const open = this.#openBlocks.get(modelIndex);
    if (open === undefined) return "";
    this.#openBlocks.delete(modelIndex);
    const { block, json, clientIndex: index } = open;
    // The arguments in an answer that was cut are incomplete.
    if (json !== "") block["input"] = parseJson(json) ?? {};
    this.#blocks.push(block);
    if (index === null) return this.#eventsOf(this.#forClient(block));
    const citations = this.#citations(block).map((citation) =>
      eventText({
        type: "content_block_delta",
        index,
        delta: { type: "citations_delta", citation },
      }),
    );
    return citations.join("") + eventText({ type: "content_block_stop", index });
  }

  /** A complete block as events. */
  #eventsOf(block: JsonObject): string {
    const index = this.#nextIndex++;
    const { input, ...rest } = block;
    const isUse = block["type"] === "server_tool_use";
    const start = isUse ? { ...rest, input: {} } : block;
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    return (
      eventText({ type: "content_block_start", index, content_block: start }) +
      (isUse ? eventText({ type: "content_block_delta", index, delta }) : "") +
      eventText({ type: "content_block_stop", index })
    );
  }

  get calls(): readonly SearchCall[] {
    return this.#blocks
      .filter((block) => this.#isCall(block))
      .map(({ id, input }) => ({ id: String(id), query: queryIn(input) }));
  }

  get isOver(): boolean {
    return (
      this.#hasFailed ||
      this.#stopFields["stop_reason"] === "max_tokens" ||
      this.#blocks.some((block) => block["type"] === "tool_use" && !this.#isCall(block))
    );
  }

  /** The blocks of the calls have been sent. */
  eventsBeforeSearches(): string {
    return "";
  }

  readOutcomes(outcomes: readonly SearchOutcome[]): string {
    addResults(this.#results, outcomes);
    this.#searchCount += searchCount(outcomes);
    const results = outcomes.map((outcome) => ({
      type: "tool_result",
      tool_use_id: outcome.call.id,
      content: outcomeText(outcome),
      ...(outcome.error === null ? {} : { is_error: true }),
    }));
    this.#messages.push(
      { role: "assistant", content: this.#blocks },
      { role: "user", content: results },
    );
    const blocks = outcomes.map(resultBlock);
    append(this.#content, blocks);
    return blocks.map((block) => this.#eventsOf(block)).join("");
  }

  completeAnswer(): JsonObject {
    return {
      ...this.#firstAnswer,
      content: this.#content,
      ...this.#lastStop(),
      usage: this.#totalUsage(),
    };
  }

  lastEvents(): string {
    if (this.#hasFailed) return "";
    return (
      eventText({ type: "message_delta", delta: this.#lastStop(), usage: this.#totalUsage() }) +
      eventText({ type: "message_stop" })
    );
  }

  /**
   * How the turn ended. A model that was told to stop searching and still calls has ended its turn.
   */
  #lastStop(): JsonObject {
    const isCut = this.#stopFields["stop_reason"] === "tool_use" && !this.isOver;
    return isCut ? { ...this.#stopFields, stop_reason: "end_turn" } : this.#stopFields;
  }

  #totalUsage(): JsonObject {
    const usage = isObject(this.#usage) ? this.#usage : {};
    return { ...usage, server_tool_use: { web_search_requests: this.#searchCount } };
  }
}

const citedCharsMax = 150;

function eventText(event: JsonObject): string {
  return formatEvent({ event: String(event["type"]), data: JSON.stringify(event) });
}

/** The members of an object that aren't null; an empty object for any other value. */
function withoutNulls(usage: unknown): JsonObject {
  if (!isObject(usage)) return {};
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}

function addDelta(open: OpenBlock, delta: JsonObject): void {
  const { block } = open;
  const appendTo = (name: string, more: unknown): void => {
    block[name] = `${typeof block[name] === "string" ? block[name] : ""}${String(more ?? "")}`;
  };
  switch (delta["type"]) {
    case "text_delta":
      return appendTo("text", delta["text"]);
    case "thinking_delta":
      return appendTo("thinking", delta["thinking"]);
    case "signature_delta":
      return appendTo("signature", delta["signature"]);
    case "input_json_delta":
      open.json += String(delta["partial_json"] ?? "");
  }
}

/** Ids of Anthropic's own tools begin with this. */
function serverId(id: unknown): string {
  return `srvtoolu_${String(id).replace(/\W/g, "_")}`;
}

function resultBlock({ call, results, error }: SearchOutcome): JsonObject {
  return {
    type: "web_search_tool_result",
    tool_use_id: serverId(call.id),
    content:
      error === null
        ? results.map(({ url, title, text, age }) => ({
            type: "web_search_result",
            url,
            title,
            encrypted_content: encoded(text),
            page_age: age,
          }))
        : { type: "web_search_tool_result_error", error_code: error },
  };
}

/**
 * The beginning of values of Anthropic's `encrypted_content` and `encrypted_index` that Sluice
 * wrote ("sluice_" in base64). Clients only send them back, so Sluice encodes its text without
 * encrypting it.
 */
const mark = "c2x1aWNlX3";

function encoded(text: string): string {
  return mark + Buffer.from(text).toString("base64url");
}

/** Empty for a value that Sluice didn't write. */
function decoded(value: unknown): string {
  return typeof value === "string" && value.startsWith(mark)
    ? Buffer.from(value.slice(mark.length), "base64url").toString("utf8")
    : "";
}

/**
 * Turns searches of earlier turns into calls of the function tool. Their results become a separate
 * user's message after the calls; if the turn also has calls of the client's own tools, they join
 * the client's next message.
 */
function withToolCalls(value: unknown, name: string): JsonObject[] {
  const messages: JsonObject[] = [];
  let waiting: JsonObject[] = [];
  for (const message of Array.isArray(value) ? (value as readonly unknown[]) : []) {
    if (!isObject(message)) continue;
    const { role, content } = message;
    if (!Array.isArray(content)) {
      const text = { type: "text", text: content };
      messages.push(waiting.length === 0 ? message : { ...message, content: [...waiting, text] });
      waiting = [];
    } else if (role === "assistant") waiting = addAssistant(messages, message, name);
    else {
      messages.push(
        waiting.length === 0 ? message : { ...message, content: [...waiting, ...content] },
      );
      waiting = [];
    }
  }
  return messages;
}

/** Adds an assistant's message. Returns the results that belong to the next message of the user. */
function addAssistant(messages: JsonObject[], message: JsonObject, name: string): JsonObject[] {
  const content = message["content"] as readonly unknown[];
  if (!content.some((block) => isObject(block) && block["type"] === "server_tool_use")) {
    messages.push(message);
    return [];
  }
  let blocks: JsonObject[] = [];
  let results: JsonObject[] = [];
  let hasOwnCalls = false;
  const flush = (): void => {
    if (results.length === 0) return;
    messages.push({ ...message, content: blocks }, { role: "user", content: results });
    blocks = [];
    results = [];
  };
  for (const block of content.filter(isObject)) {
    const { type } = block;
    if (type === "web_search_tool_result") {
      results.push(resultFrom(block));
      continue;
    }
    if (!hasOwnCalls) flush();
    if (type === "tool_use" && !isServerId(block["id"])) hasOwnCalls = true;
    if (type === "server_tool_use")
      blocks.push({ type: "tool_use", id: block["id"], name, input: block["input"] ?? {} });
    else {
      const { citations: _, ...rest } = block;
      blocks.push(rest);
    }
  }
  messages.push({ ...message, content: blocks });
  return results;
}

function isServerId(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("srvtoolu_");
}

function resultFrom({ tool_use_id: id, content }: JsonObject): JsonObject {
  const pages = Array.isArray(content) ? (content as readonly unknown[]).filter(isObject) : null;
  const text =
    pages === null
      ? "The search failed."
      : pages
          .map((page, i) =>
            [
              `${i + 1}. ${String(page["title"])}`,
              String(page["url"]),
              decoded(page["encrypted_content"]),
            ].join("\n"),
          )
          .join("\n\n");
  return {
    type: "tool_result",
    tool_use_id: id,
    content: text === "" ? "Nothing was found." : text,
  };
}
