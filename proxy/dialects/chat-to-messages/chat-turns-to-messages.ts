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
    const path = `messages[${i}]`;
    const message = reader.object(list[i], path);
    switch (message["role"]) {
      case "system":
      case "developer":
        reader.fields(message, chatSystemFields, `${path}.`);
        append(
          system,
          withCacheMark(
            message,
            chatContentToMessages(message["content"], "system", `${path}.content`, reader),
          ),
        );
        break;
      case "user":
        addBlocks(turns, "user", withCacheMark(message, userBlocks(message, path, reader)));
        break;
      case "assistant":
        addBlocks(
          turns,
          "assistant",
          withCacheMark(message, assistantBlocks(message, { path, ids, takesUnsigned }, reader)),
        );
        break;
      case "tool":
        addBlocks(turns, "user", withCacheMark(message, [toolResult(message, path, ids, reader)]));
        break;
      case "function":
        reader.unsupported(`${path}.role`, "must be tool", "which has tools instead of functions");
        break;
      default:
        reader.refuse(`${path}.role`, "must be one of system, developer, user, assistant, tool");
    }
  }
  // Without a turn the model has nothing to answer, so the instructions become the user's turn.
  if (turns.length === 0 && system.length > 0)
    return { system: [], messages: [{ role: "user", content: system }] };
  if (turns.length === 0)
    reader.unsupported("messages", "must contain a user message", "which requires one");
  // Anthropic refuses a conversation that the assistant begins, such as one after a greeting.
  const allTurns: readonly JsonObject[] =
    turns[0]?.role === "assistant" ? [{ role: "user", content: [textBlock("…")] }] : [];
  return { system, messages: [...allTurns, ...turns] };
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

function userBlocks(message: JsonObject, path: string, reader: RequestReader): JsonObject[] {
  reader.fields(message, chatUserFields, `${path}.`);
  const blocks = chatContentToMessages(message["content"], "user", `${path}.content`, reader);
  if (blocks.length === 0)
    reader.unsupported(`${path}.content`, "must not be empty", "which refuses empty messages");
  return blocks;
}

interface AssistantTurn {
  readonly path: string;
  readonly ids: CallIds;
  readonly takesUnsigned: boolean;
}

function assistantBlocks(
  message: JsonObject,
  { path, ids, takesUnsigned }: AssistantTurn,
  reader: RequestReader,
): JsonObject[] {
  reader.fields(message, chatAssistantFields, `${path}.`);
  const blocks = isAbsent(message["thinking_blocks"])
    ? blocksOfDetails(message["reasoning_details"])
    : thinkingBlocks(message["thinking_blocks"], `${path}.thinking_blocks`, reader);
  if (takesUnsigned && blocks.length === 0) append(blocks, unsignedThinking(message));
  if (!isAbsent(message["content"]))
    append(
      blocks,
      chatContentToMessages(message["content"], "assistant", `${path}.content`, reader),
    );
  const refusal = isAbsent(message["refusal"])
    ? ""
    : reader.text(message["refusal"], `${path}.refusal`);
  if (refusal !== "") blocks.push(textBlock(refusal));
  if (!isAbsent(message["tool_calls"])) {
    const calls = reader.list(message["tool_calls"], `${path}.tool_calls`);
    for (const [i, call] of calls.entries())
      blocks.push(toolUse(call, `${path}.tool_calls[${i}]`, ids, reader));
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
function thinkingBlocks(value: unknown, path: string, reader: RequestReader): JsonObject[] {
  const blocks: JsonObject[] = [];
  reader.list(value, path).forEach((item, i) => {
    const block = reader.object(item, `${path}[${i}]`);
    if (wrapsReasoning(block)) return;
    if (block["type"] === "redacted_thinking")
      blocks.push({
        type: "redacted_thinking",
        data: reader.text(block["data"], `${path}[${i}].data`),
      });
    else if (block["type"] !== "thinking")
      reader.refuse(`${path}[${i}].type`, "must be thinking or redacted_thinking");
    else if (![undefined, null, "", noSignature].includes(block["signature"] as string)) {
      blocks.push({
        type: "thinking",
        thinking: reader.text(block["thinking"], `${path}[${i}].thinking`),
        signature: reader.text(block["signature"], `${path}[${i}].signature`),
      });
    }
  });
  return blocks;
}

function toolUse(value: unknown, path: string, ids: CallIds, reader: RequestReader): JsonObject {
  const call = reader.object(value, path);
  reader.fields(call, chatToolCallFields, `${path}.`);
  if (call["type"] !== "function")
    reader.unsupported(`${path}.type`, "must be function", "which only has function tools");
  const called = reader.object(call["function"], `${path}.function`);
  reader.fields(called, chatFunctionCallFields, `${path}.function.`);
  return {
    type: "tool_use",
    id: ids.idOfCall(reader.name(call["id"], `${path}.id`)),
    name: readToolName(called["name"], `${path}.function.name`, reader),
    input: toolInput(
      reader.argumentsText(called["arguments"], `${path}.function.arguments`),
      `${path}.function.arguments`,
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

function toolInput(text: string, path: string, reader: RequestReader): JsonObject {
  const input = readToolInput(text);
  if (input !== null) return input;
  const must = `must be a JSON object as a string, nested at most ${jsonDepthMax} levels deep`;
  reader.drop(path, must, "which takes no other input of a call");
  return unreadableInput(text);
}

function toolResult(
  message: JsonObject,
  path: string,
  ids: CallIds,
  reader: RequestReader,
): JsonObject {
  reader.fields(message, chatToolFields, `${path}.`);
  const block: Record<string, unknown> = {
    type: "tool_result",
    tool_use_id: ids.idOfResult(reader.name(message["tool_call_id"], `${path}.tool_call_id`)),
  };
  // A tool without a result has null for some clients (anomalyco/opencode#15375).
  const content = message["content"] ?? "";
  if (typeof content === "string") {
    if (content !== "") block["content"] = content;
    return block;
  }
  const blocks = chatContentToMessages(content, "tool", `${path}.content`, reader);
  if (blocks.length > 0) block["content"] = blocks;
  return block;
}
