/**
 * Translates the system instruction and the contents of a request in Gemini's own API to chat
 * messages. Consecutive contents of one role are one turn: a client may send a call and its
 * neighbor, or each of several results, as separate contents.
 */
import { isAbsent } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { writeExactly } from "../../body/exact-json.js";
import { chatContent, splitToolResult } from "../shared/chat-request.js";
import { type KeptReasoning, keptInSignature } from "../shared/kept-reasoning.js";
import { quote } from "../shared/request-check.js";
import type { RequestReader } from "../shared/request-reader.js";
import { fittingToolName } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { googlePartToChat, googleResultContent } from "./google-parts-to-chat.js";
import {
  asList,
  camelFields,
  googleCallFields,
  googleContentFields,
  googlePartFields,
  googleResultFields,
  isOfGoogle,
} from "./google-request-fields.js";

export function googleTurnsToChat(
  body: JsonObject,
  reader: RequestReader,
  takesFilesInResults: boolean,
): readonly JsonObject[] {
  const turns = new Turns(reader, takesFilesInResults);
  if (!isAbsent(body["systemInstruction"])) turns.system(body["systemInstruction"]);
  const contents = reader.list(asList(body["contents"]), "contents");
  for (const [i, item] of contents.entries()) {
    const path = `contents[${i}]`;
    const content = camelFields(reader.object(item, path));
    reader.fields(content, googleContentFields, `${path}.`);
    const { role = "user" } = content;
    if (role !== null && role !== "" && !roles.has(role))
      reader.refuse(`${path}.role`, `must be user or model, not ${quote(role)}`);
    turns.add(role === "model" ? "model" : "user", content["parts"], `${path}.parts`);
  }
  if (contents.length === 0) reader.refuse("contents", "must hold at least one content");
  return turns.messages();
}

const roles: ReadonlySet<unknown> = new Set(["user", "model", "function"]);

type Role = "user" | "model";

class Turns {
  readonly #reader: RequestReader;
  readonly #takesFilesInResults: boolean;
  readonly #messages: JsonObject[] = [];
  readonly #calls = new OpenCalls();
  #role: Role | null = null;
  /** The results of the user's turn. */
  #results: JsonObject[] = [];
  #attached: JsonObject[] = [];
  /** The parts of the current turn, in either role. */
  #parts: JsonObject[] = [];
  /** The calls of the model's turn. */
  #toolCalls: JsonObject[] = [];
  #thoughts = "";
  #keptReasoning: KeptReasoning | null = null;

  constructor(reader: RequestReader, takesFilesInResults: boolean) {
    this.#reader = reader;
    this.#takesFilesInResults = takesFilesInResults;
  }

  /** A content, or a plain text, which Google's clients may also write. */
  system(value: unknown): void {
    const path = "systemInstruction";
    const content = typeof value === "string" ? { parts: [{ text: value }] } : value;
    const { parts } = camelFields(this.#reader.object(content, path));
    const texts = this.#partsOf(parts, `${path}.parts`).flatMap(([part, partAt]) =>
      isAbsent(part["text"]) ? [] : [this.#reader.text(part["text"], `${partAt}.text`)],
    );
    const text = texts.join("\n");
    if (text !== "") this.#messages.push({ role: "system", content: text });
  }

  add(role: Role, parts: unknown, path: string): void {
    if (role !== this.#role) this.#endTurn();
    this.#role = role;
    for (const [part, partAt] of this.#partsOf(parts, path)) {
      this.#reader.fields(part, googlePartFields, `${partAt}.`);
      if (isOfGoogle(part)) continue;
      if (role === "model") this.#modelPart(part, partAt);
      else this.#userPart(part, partAt);
    }
  }

  messages(): readonly JsonObject[] {
    this.#endTurn();
    if (this.#messages.every(({ role }) => role === "system"))
      this.#reader.refuse("contents", "must hold at least one part that isn't empty");
    return this.#messages;
  }

  /** A single part may come without a list, as protocol buffers allow. */
  #partsOf(value: unknown, path: string): readonly (readonly [JsonObject, string])[] {
    if (isAbsent(value)) return [];
    const list = Array.isArray(value) ? value : [value];
    return list.map((part: unknown, i) => [
      camelFields(this.#reader.object(part, `${path}[${i}]`)),
      `${path}[${i}]`,
    ]);
  }

  #userPart(part: JsonObject, path: string): void {
    if (!isAbsent(part["functionResponse"]))
      return this.#result(part["functionResponse"], `${path}.functionResponse`);
    if (part["thought"] === true) return;
    const translated = googlePartToChat(part, path, this.#reader);
    if (translated !== null) this.#parts.push(translated);
  }

  #result(value: unknown, path: string): void {
    const result = camelFields(this.#reader.object(value, path));
    this.#reader.fields(result, googleResultFields, `${path}.`);
    const name = isAbsent(result["name"]) ? "" : this.#reader.text(result["name"], `${path}.name`);
    const id = isAbsent(result["id"]) ? null : this.#reader.text(result["id"], `${path}.id`);
    const callId = this.#calls.answeredBy(id, name);
    if (callId === null) return this.#refuseResult(id, path);
    const { content, parts } = googleResultContent(result, path, this.#reader);
    const message = { role: "tool", tool_call_id: callId, content };
    if (parts.length === 0) return void this.#results.push(message);
    const texts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (this.#takesFilesInResults) {
      this.#results.push({ ...message, content: [...texts, ...parts] });
      return;
    }
    this.#results.push(message);
    append(this.#attached, splitToolResult(parts, callId).attached);
  }

  /**
   * Refuses a second result of a call, except one that gemini-cli repeats when it resumes a
   * conversation.
   */
  #refuseResult(id: string | null, path: string): void {
    if (this.#calls.hasResult(id))
      this.#reader.drop(path, "must be the only result of its call", "which takes one");
    else
      this.#reader.refuse(
        path,
        "must answer a call of the content before it: none has this id, or this name",
      );
  }

  #modelPart(part: JsonObject, path: string): void {
    const { thoughtSignature: signature } = part;
    const keptReasoning = typeof signature === "string" ? keptInSignature(signature) : null;
    if (!isAbsent(part["functionCall"])) {
      this.#keptReasoning = keptReasoning ?? this.#keptReasoning;
      return this.#call(part, `${path}.functionCall`, keptReasoning === null);
    }
    this.#keptReasoning ??= keptReasoning;
    if (part["thought"] === true) {
      if (!isAbsent(part["text"]))
        this.#thoughts += this.#reader.text(part["text"], `${path}.text`);
      return;
    }
    if (isAbsent(part["text"]) && !isAbsent(part["inlineData"] ?? part["fileData"]))
      return this.#reader.drop(
        `${path}.inlineData`,
        "must be left out",
        "whose assistant only says texts",
      );
    const translated = googlePartToChat(part, path, this.#reader);
    if (translated !== null) this.#parts.push(translated);
  }

  #call(part: JsonObject, path: string, isSignedByGoogle: boolean): void {
    const call = camelFields(this.#reader.object(part["functionCall"], path));
    this.#reader.fields(call, googleCallFields, `${path}.`);
    const name = this.#reader.name(call["name"], `${path}.name`);
    const id = isAbsent(call["id"]) ? null : this.#reader.text(call["id"], `${path}.id`);
    const args = isAbsent(call["args"]) ? {} : this.#reader.object(call["args"], `${path}.args`);
    const { thoughtSignature: signature } = part;
    this.#toolCalls.push({
      id: this.#calls.begin(id, name),
      type: "function",
      function: { name: fittingToolName(name), arguments: writeExactly(args) },
      ...(isSignedByGoogle && typeof signature === "string"
        ? { extra_content: { google: { thought_signature: signature } } }
        : {}),
    });
  }

  #endTurn(): void {
    if (this.#role === "user") this.#endUser();
    else if (this.#role === "model") this.#endModel();
    this.#parts = [];
  }

  #endUser(): void {
    // Results must directly follow their calls.
    append(this.#messages, this.#results);
    append(this.#attached, this.#parts);
    if (this.#attached.length > 0)
      this.#messages.push({ role: "user", content: chatContent(this.#attached) });
    this.#results = [];
    this.#attached = [];
  }

  #endModel(): void {
    // The reasoning in a call's signature is complete, but the thoughts beside it may be a summary.
    const thoughts = this.#keptReasoning?.text || this.#thoughts;
    const blocks = this.#keptReasoning?.blocks ?? [];
    const calls = this.#toolCalls;
    if (this.#parts.length > 0 || calls.length > 0 || thoughts !== "") {
      const message: Record<string, unknown> = {
        role: "assistant",
        content: this.#parts.length === 0 && calls.length > 0 ? null : chatContent(this.#parts),
      };
      if (thoughts !== "") message["reasoning_content"] = thoughts;
      if (blocks.length > 0) message["thinking_blocks"] = blocks;
      if (calls.length > 0) message["tool_calls"] = calls;
      this.#messages.push(message);
    }
    this.#toolCalls = [];
    this.#thoughts = "";
    this.#keptReasoning = null;
  }
}

interface OpenCall {
  /** The client's id; null if it gave none. */
  readonly givenId: string | null;
  readonly name: string;
  /** The id in the chat request. */
  readonly id: string;
}

class OpenCalls {
  readonly #open: OpenCall[] = [];
  readonly #used = new Set<string>();
  readonly #answered = new Set<string>();

  /** The id of a call in the chat request: the client's, unless an earlier call has it already. */
  begin(givenId: string | null, name: string): string {
    const clientId = givenId === "" ? null : givenId;
    const id = clientId !== null && !this.#used.has(clientId) ? clientId : this.#freeId();
    this.#used.add(id);
    this.#open.push({ givenId: clientId, name, id });
    return id;
  }

  #freeId(): string {
    let id = `call_${this.#used.size}`;
    while (this.#used.has(id)) id += "_";
    return id;
  }

  /**
   * The id of the call that a result belongs to. Null if there is no such call, or if it already
   * has its result.
   */
  answeredBy(givenId: string | null, name: string): string | null {
    const byId = givenId === null ? -1 : this.#open.findIndex((call) => call.givenId === givenId);
    const position =
      byId !== -1
        ? byId
        : this.#open.findIndex(
            (call) => call.name === name && (call.givenId === null || (givenId ?? "") === ""),
          );
    if (position === -1) return null;
    if (givenId !== null) this.#answered.add(givenId);
    return this.#open.splice(position, 1)[0]!.id;
  }

  /** Whether the call with this id already has its result. */
  hasResult(givenId: string | null): boolean {
    return givenId !== null && this.#answered.has(givenId);
  }
}
