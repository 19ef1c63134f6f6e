/**
 * The messages of a chat request, built item by item. The assistant's texts and calls of one turn
 * become one message, and the outputs of its calls follow directly.
 */
import { append } from "../../../shared/long-lists.js";
import type { KeptReasoning } from "../shared/kept-reasoning.js";
import type { JsonObject } from "../shared/translation.js";
import type { Content, ToolOutput } from "./responses-content-to-chat.js";

export interface ChatMessage {
  readonly role: string;
  content: Content | null;
  /** The assistant's reasoning before the message. */
  reasoning_content?: string;
  thinking_blocks?: JsonObject[];
  tool_calls?: JsonObject[];
  readonly tool_call_id?: string;
}

export class ChatConversation {
  readonly messages: ChatMessage[] = [];
  /** The images and files of a turn's tool outputs, for a user message after all of them. */
  #attached: JsonObject[] = [];
  /** The content of a message that several items have joined; the list grows with each. */
  #joined: JsonObject[] = [];
  /** The reasoning of the assistant's next message. */
  #reasoning: { text: string; readonly blocks: JsonObject[] } | null = null;
  readonly takesCustomTools: boolean;

  constructor(takesCustomTools: boolean) {
    this.takesCustomTools = takesCustomTools;
  }

  addMessage(role: "system" | "user" | "assistant", content: Content): void {
    this.#endToolOutputs();
    const last = this.messages.at(-1);
    // The outputs must directly follow their calls, so a text after calls joins their message.
    if (role === "assistant" && last?.tool_calls !== undefined) this.#join(last, content);
    else this.messages.push({ role, content });
    this.#giveReasoning(role);
  }

  /** Adds reasoning to the assistant's next text or call, or to its calls if outputs follow. */
  addReasoning({ text, blocks }: KeptReasoning): void {
    this.#endToolOutputs();
    this.#reasoning ??= { text: "", blocks: [] };
    this.#reasoning.text += text;
    append(this.#reasoning.blocks, blocks);
  }

  #giveReasoning(role: string): void {
    const reasoning = this.#reasoning;
    const message = this.messages.at(-1);
    this.#reasoning = null;
    if (reasoning === null || message === undefined || role !== "assistant") return;
    if (reasoning.text !== "")
      message.reasoning_content = (message.reasoning_content ?? "") + reasoning.text;
    if (reasoning.blocks.length === 0) return;
    message.thinking_blocks ??= [];
    append(message.thinking_blocks, reasoning.blocks);
  }

  #join(message: ChatMessage, content: Content): void {
    if (message.content === null) {
      message.content = content;
      return;
    }
    if (message.content !== this.#joined) {
      this.#joined = [...partsOf(message.content)];
      message.content = this.#joined;
    }
    append(this.#joined, partsOf(content));
  }

  /** Adds a call to the assistant's message before it, if there is one. */
  addCall(call: JsonObject): void {
    this.#endToolOutputs();
    const last = this.messages.at(-1);
    if (last?.role !== "assistant")
      this.messages.push({ role: "assistant", content: null, tool_calls: [call] });
    else if (last.tool_calls === undefined) last.tool_calls = [call];
    else last.tool_calls.push(call);
    this.#giveReasoning("assistant");
  }

  addToolOutput(callId: string, { content, attached }: ToolOutput): void {
    // Reasoning between calls and their outputs is of the calls' turn.
    if (this.#reasoning !== null && this.messages.at(-1)?.tool_calls !== undefined)
      this.#giveReasoning("assistant");
    this.messages.push({ role: "tool", content, tool_call_id: callId });
    append(this.#attached, attached);
  }

  /** Call this after the last item. */
  end(): void {
    this.#endToolOutputs();
  }

  #endToolOutputs(): void {
    if (this.#attached.length === 0) return;
    this.messages.push({ role: "user", content: this.#attached });
    this.#attached = [];
  }
}

function partsOf(content: Content): readonly JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
