/**
 * The messages of a chat request, built item by item. What the assistant said and called in one
 * turn becomes one message, and the outputs of its calls follow directly.
 */
import { append } from "../../../shared/long-lists.js";
import type { JsonObject } from "../translation/translation.js";
import type { Content, ToolOutput } from "./responses-content-to-chat.js";

export interface ChatMessage {
  readonly role: string;
  content: Content | null;
  tool_calls?: JsonObject[];
  readonly tool_call_id?: string;
}

export class ChatConversation {
  readonly messages: ChatMessage[] = [];
  /** What the tool outputs of a turn hold beside text, for a user message after all of them. */
  #attached: JsonObject[] = [];
  /** The content of a message that several items have joined: a list that grows with each. */
  #joined: JsonObject[] = [];

  addMessage(role: "system" | "user" | "assistant", content: Content): void {
    this.#endToolOutputs();
    const last = this.messages.at(-1);
    // The outputs of its calls must follow, so a text after the calls joins their message.
    if (role === "assistant" && last?.tool_calls !== undefined) this.#join(last, content);
    else this.messages.push({ role, content });
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

  /** Consecutive calls, or calls after a text of the assistant, join its message. */
  addCall(call: JsonObject): void {
    this.#endToolOutputs();
    const last = this.messages.at(-1);
    if (last?.role !== "assistant")
      this.messages.push({ role: "assistant", content: null, tool_calls: [call] });
    else if (last.tool_calls === undefined) last.tool_calls = [call];
    else last.tool_calls.push(call);
  }

  addToolOutput(callId: string, { content, attached }: ToolOutput): void {
    this.messages.push({ role: "tool", content, tool_call_id: callId });
    append(this.#attached, attached);
  }

  /** To be called after the last item. */
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
