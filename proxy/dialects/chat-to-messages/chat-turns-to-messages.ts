/**
 * Translates the messages of a chat request to Anthropic's: a separate system prompt, and turns of
 * the user and the assistant.
 *
 * System messages from the middle of a conversation move to the system prompt, in order, as at
 * Anthropic's own endpoint for chat completions: only some of its models accept them in place, and
 * only between certain turns.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { plainCallId } from "../fit/call-ids-for-anthropic.js";
import type { RequestReader } from "../shared/request-reader.js";
import { orderWithResults } from "../shared/results-order.js";
import { blocksOfDetails, noSignature, wrapsReasoning } from "../shared/thinking-blocks.js";
import { readToolInput, unreadableInput } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { chatContentToMessages, textBlock } from "./chat-content-to-messages.js";
import {
  chatAssistantFields,
  chatFunctionCallFields,
  chatSystemFields,
  chatToolCallFields,
  chatToolFields,
  chatUserFields,
} from "./chat-request-fields.js";
import { readToolName } from "./chat-tools-to-messages.js";

interface MessagesTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

type Turn = { readonly role: "user" | "assistant"; readonly content: JsonObject[] };

/** `takesUnsigned`: as in `RequestOptions`. */
export function chatTurnsToMessages(
  value: unknown,
  takesUnsigned: boolean,
  reader: RequestReader,
): MessagesTurns {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  const ids = new CallIds();
  const list = reader.list(value, "messages");
  for (const i of orderWithResults(list) ?? list.keys()) {
    const at = `messages[${i}]`;
    const message = reader.object(list[i], at);
    switch (message["role"]) {
      case "system":
      case "developer":
        reader.fields(message, chatSystemFields, `${at}.`);
        append(
          system,
          withCacheMark(
            message,
            chatContentToMessages(message["content"], "system", `${at}.content`, reader),
          ),
        );
        break;
      case "user":
        addBlocks(turns, "user", withCacheMark(message, userBlocks(message, at, reader)));
        break;
      case "assistant":
        addBlocks(
          turns,
          "assistant",
          withCacheMark(message, assistantBlocks(message, { at, ids, takesUnsigned }, reader)),
        );
        break;
      case "tool":
        addBlocks(turns, "user", withCacheMark(message, [toolResult(message, at, ids, reader)]));
        break;
      case "function":
        reader.unsupported(`${at}.role`, "must be tool", "which has tools instead of functions");
        break;
      default:
        reader.refuse(`${at}.role`, "must be one of system, developer, user, assistant, tool");
    }
  }
  // Without a turn the model has nothing to answer, so the instructions become the user's turn.
  if (turns.length === 0 && system.length > 0)
    return { system: [], messages: [{ role: "user", content: system }] };
  if (turns.length === 0)
    reader.unsupported("messages", "must contain a user message", "which requires one");
  // Anthropic refuses a conversation that the assistant begins, such as one after a greeting.
  const begun: readonly JsonObject[] =
    turns[0]?.role === "assistant" ? [{ role: "user", content: [textBlock("…")] }] : [];
  return { system, messages: [...begun, ...turns] };
}

/** Some agents put the cache mark on a whole message; it belongs on the last block. */
function withCacheMark(message: JsonObject, blocks: JsonObject[]): JsonObject[] {
  const mark = message["cache_control"];
  const last = blocks.at(-1);
  if (isAbsent(mark) || last === undefined || !isAbsent(last["cache_control"])) return blocks;
  return [...blocks.slice(0, -1), { ...last, cache_control: mark }];
}

/** Consecutive messages of one role share a turn, and so do the results of parallel calls. */
function addBlocks(turns: Turn[], role: Turn["role"], blocks: readonly JsonObject[]): void {
  const last = turns.at(-1);
  if (blocks.length === 0) return;
  if (last?.role === role) append(last.content, blocks);
  else turns.push({ role, content: [...blocks] });
}

function userBlocks(message: JsonObject, at: string, reader: RequestReader): JsonObject[] {
  reader.fields(message, chatUserFields, `${at}.`);
  const blocks = chatContentToMessages(message["content"], "user", `${at}.content`, reader);
  if (blocks.length === 0)
    reader.unsupported(`${at}.content`, "must not be empty", "which refuses empty messages");
  return blocks;
}

interface AssistantTurn {
  readonly at: string;
  readonly ids: CallIds;
  readonly takesUnsigned: boolean;
}

function assistantBlocks(
  message: JsonObject,
  { at, ids, takesUnsigned }: AssistantTurn,
  reader: RequestReader,
): JsonObject[] {
  reader.fields(message, chatAssistantFields, `${at}.`);
  const blocks = isAbsent(message["thinking_blocks"])
    ? blocksOfDetails(message["reasoning_details"])
    : thinkingBlocks(message["thinking_blocks"], `${at}.thinking_blocks`, reader);
  if (takesUnsigned && blocks.length === 0) append(blocks, unsignedThinking(message));
  if (!isAbsent(message["content"]))
    append(blocks, chatContentToMessages(message["content"], "assistant", `${at}.content`, reader));
  const refusal = isAbsent(message["refusal"])
    ? ""
    : reader.text(message["refusal"], `${at}.refusal`);
  if (refusal !== "") blocks.push(textBlock(refusal));
  if (!isAbsent(message["tool_calls"])) {
    const calls = reader.list(message["tool_calls"], `${at}.tool_calls`);
    for (const [i, call] of calls.entries())
      blocks.push(toolUse(call, `${at}.tool_calls[${i}]`, ids, reader));
  }
  return blocks;
}

/**
 * Other makers' models want the thinking before their calls back, which DeepSeek refuses to go
 * without (NousResearch/hermes-agent#16149), and take it without a signature (#75748).
 */
function unsignedThinking({
  reasoning_content: reasoning,
  reasoning: own,
  tool_calls: calls,
}: JsonObject): JsonObject[] {
  const thinking = reasoning ?? own;
  return isAbsent(calls) || typeof thinking !== "string" || thinking === ""
    ? []
    : [{ type: "thinking", thinking }];
}

/**
 * Anthropic requires signed blocks back unchanged. Blocks without a signature, and the encrypted
 * reasoning of OpenAI's models, are left out.
 */
function thinkingBlocks(value: unknown, at: string, reader: RequestReader): JsonObject[] {
  const blocks: JsonObject[] = [];
  reader.list(value, at).forEach((item, i) => {
    const block = reader.object(item, `${at}[${i}]`);
    if (wrapsReasoning(block)) return;
    if (block["type"] === "redacted_thinking")
      blocks.push({
        type: "redacted_thinking",
        data: reader.text(block["data"], `${at}[${i}].data`),
      });
    else if (block["type"] !== "thinking")
      reader.refuse(`${at}[${i}].type`, "must be thinking or redacted_thinking");
    else if (![undefined, null, "", noSignature].includes(block["signature"] as string)) {
      blocks.push({
        type: "thinking",
        thinking: reader.text(block["thinking"], `${at}[${i}].thinking`),
        signature: reader.text(block["signature"], `${at}[${i}].signature`),
      });
    }
  });
  return blocks;
}

function toolUse(value: unknown, at: string, ids: CallIds, reader: RequestReader): JsonObject {
  const call = reader.object(value, at);
  reader.fields(call, chatToolCallFields, `${at}.`);
  if (call["type"] !== "function")
    reader.unsupported(`${at}.type`, "must be function", "which only has function tools");
  const called = reader.object(call["function"], `${at}.function`);
  reader.fields(called, chatFunctionCallFields, `${at}.function.`);
  return {
    type: "tool_use",
    id: ids.idOfCall(reader.name(call["id"], `${at}.id`)),
    name: readToolName(called["name"], `${at}.function.name`, reader),
    input: toolInput(
      reader.argumentsText(called["arguments"], `${at}.function.arguments`),
      `${at}.function.arguments`,
      reader,
    ),
  };
}

/**
 * The ids of calls and their results in a form that Anthropic accepts. Earlier answers may come
 * from models whose ids contain dots and colons, or are the same in each turn; Anthropic refuses
 * both.
 */
class CallIds {
  readonly #used = new Set<string>();
  /** How often each id was requested. */
  readonly #counts = new Map<string, number>();
  /** The id of the last call for each of the client's ids. */
  readonly #byGiven = new Map<string, string>();

  idOfCall(clientId: string): string {
    const plain = plainCallId(clientId);
    let count = (this.#counts.get(plain) ?? 0) + 1;
    let id = count === 1 ? plain : `${plain}_${count}`;
    while (this.#used.has(id)) id = `${plain}_${++count}`;
    this.#counts.set(plain, count);
    this.#used.add(id);
    this.#byGiven.set(clientId, id);
    return id;
  }

  idOfResult(clientId: string): string {
    return this.#byGiven.get(clientId) ?? plainCallId(clientId);
  }
}

function toolInput(text: string, at: string, reader: RequestReader): JsonObject {
  const input = readToolInput(text);
  if (input !== null) return input;
  const must = `must be a JSON object as a string, nested at most ${jsonDepthMax} levels deep`;
  reader.drop(at, must, "which takes no other input of a call");
  return unreadableInput(text);
}

function toolResult(
  message: JsonObject,
  at: string,
  ids: CallIds,
  reader: RequestReader,
): JsonObject {
  reader.fields(message, chatToolFields, `${at}.`);
  const block: Record<string, unknown> = {
    type: "tool_result",
    tool_use_id: ids.idOfResult(reader.name(message["tool_call_id"], `${at}.tool_call_id`)),
  };
  // A tool without a result has null for some clients (anomalyco/opencode#15375).
  const content = message["content"] ?? "";
  if (typeof content === "string") {
    if (content !== "") block["content"] = content;
    return block;
  }
  const blocks = chatContentToMessages(content, "tool", `${at}.content`, reader);
  if (blocks.length > 0) block["content"] = blocks;
  return block;
}
