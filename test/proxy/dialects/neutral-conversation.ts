/**
 * One conversation in each of the dialects, and what each holds of it: for properties over all
 * pairs. What a dialect holds is a list of things in order, in which texts that follow each other
 * are one, since dialects divide them differently.
 */
import {
  keptAsSignature,
  keptInSignature,
  readKeptReasoning,
  writeKeptReasoning,
} from "../../../proxy/dialects/shared/kept-reasoning.js";
import { wrapReasoning } from "../../../proxy/dialects/shared/thinking-blocks.js";
import type { JsonObject } from "../../../proxy/dialects/shared/translation.js";

export type DialectName = "chat" | "messages" | "responses" | "google";

/** Those that requests are translated to. */
export type ProviderDialect = Exclude<DialectName, "google">;

/** Who can read the assistant's thinking: OpenAI, Anthropic, or everybody. */
export type Proof = "openai" | "signed" | "unsigned";

export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonObject;
  readonly result: string;
}

export interface Step {
  readonly asked: readonly string[];
  readonly picture: string | null;
  readonly thought: string | null;
  readonly answered: string;
  readonly calls: readonly Call[];
}

type Items = readonly JsonObject[];

const dataUrl = (picture: string): string => `data:image/png;base64,${picture}`;

function block(thinking: string, proof: Proof): JsonObject {
  return proof === "openai"
    ? wrapReasoning("gAAA", thinking, "openai")
    : { type: "thinking", thinking, signature: proof === "signed" ? "c2lnbmVk" : "unsigned" };
}

const chatCall = ({ id, tool, input }: Call): JsonObject => ({
  id,
  type: "function",
  function: { name: tool, arguments: JSON.stringify(input) },
});

/** What the assistant says in a step, as the dialect's message, block list or items. */
export const said: Readonly<Record<DialectName, (step: Step, proof: Proof) => Items>> = {
  chat: ({ thought, answered, calls }, proof) => [
    {
      role: "assistant",
      content: answered,
      ...(thought === null
        ? {}
        : proof === "unsigned"
          ? { reasoning_content: thought }
          : { thinking_blocks: [block(thought, proof)], reasoning_content: thought }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(chatCall) }),
    },
  ],
  messages: ({ thought, answered, calls }, proof) => [
    ...(thought === null ? [] : [block(thought, proof)]),
    { type: "text", text: answered },
    ...calls.map(({ id, tool, input }) => ({ type: "tool_use", id, name: tool, input })),
  ],
  responses: ({ thought, answered, calls }, proof) => [
    ...(thought === null ? [] : [reasoningItem(thought, proof)]),
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: answered, annotations: [] }],
    },
    ...calls.map(({ id, tool, input }) => ({
      type: "function_call",
      call_id: id,
      name: tool,
      arguments: JSON.stringify(input),
    })),
  ],
  google: ({ thought, answered, calls }, proof) => [
    ...(thought === null ? [] : [thoughtPart(thought, proof)]),
    { text: answered },
    ...calls.map(({ id, tool, input }) => ({ functionCall: { id, name: tool, args: input } })),
  ],
};

function thoughtPart(text: string, proof: Proof): JsonObject {
  if (proof === "unsigned") return { text, thought: true };
  const thoughtSignature = keptAsSignature({ text, blocks: [block(text, proof)] });
  return { text, thought: true, thoughtSignature };
}

function reasoningItem(text: string, proof: Proof): JsonObject {
  if (proof === "openai")
    return {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text }],
      encrypted_content: "gAAA",
    };
  const blocks = proof === "signed" ? [block(text, proof)] : [];
  return {
    type: "reasoning",
    id: "rs_1",
    summary: [],
    encrypted_content: writeKeptReasoning({ text, blocks }),
  };
}

const asked: Readonly<Record<DialectName, (step: Step) => Items>> = {
  chat: ({ asked, picture }) => [
    ...asked.map((text) => ({ type: "text", text })),
    ...(picture === null ? [] : [{ type: "image_url", image_url: { url: dataUrl(picture) } }]),
  ],
  messages: ({ asked, picture }) => [
    ...asked.map((text) => ({ type: "text", text })),
    ...(picture === null
      ? []
      : [
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: picture },
          },
        ]),
  ],
  responses: ({ asked, picture }) => [
    ...asked.map((text) => ({ type: "input_text", text })),
    ...(picture === null ? [] : [{ type: "input_image", image_url: dataUrl(picture) }]),
  ],
  google: ({ asked, picture }) => [
    ...asked.map((text) => ({ text })),
    ...(picture === null ? [] : [{ inlineData: { mimeType: "image/png", data: picture } }]),
  ],
};

/** A step: what the user asks, what the assistant says, the results of its calls. */
const turnsOf: Readonly<Record<DialectName, (step: Step, assistant: Items) => Items>> = {
  chat: (step, assistant) => [
    { role: "user", content: asked.chat(step) },
    ...assistant,
    ...step.calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
  ],
  messages: (step, assistant) => {
    const results = step.calls.map(({ id, result }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: result,
    }));
    return [
      { role: "user", content: asked.messages(step) },
      { role: "assistant", content: assistant },
      ...(results.length === 0 ? [] : [{ role: "user", content: results }]),
    ];
  },
  responses: (step, assistant) => [
    { type: "message", role: "user", content: asked.responses(step) },
    ...assistant,
    ...step.calls.map(({ id, result }) => ({
      type: "function_call_output",
      call_id: id,
      output: result,
    })),
  ],
  google: (step, assistant) => {
    const results = step.calls.map(({ id, tool, result }) => ({
      functionResponse: { id, name: tool, response: { output: result } },
    }));
    return [
      { role: "user", parts: asked.google(step) },
      { role: "model", parts: assistant },
      ...(results.length === 0 ? [] : [{ role: "user", parts: results }]),
    ];
  },
};

/** A request that ends with a question. */
export function requestIn(
  dialect: DialectName,
  system: string,
  steps: readonly Step[],
  proof: Proof,
): JsonObject {
  const turns = steps.flatMap((step) => turnsOf[dialect](step, said[dialect](step, proof)));
  return asking(dialect, system, turns);
}

/** The request after a step in which the client was answered so, as it sends back what it got. */
export function requestAfter(
  dialect: DialectName,
  system: string,
  step: Step,
  answer: JsonObject,
): JsonObject {
  return asking(dialect, system, turnsOf[dialect](step, gotIn(dialect, answer)));
}

function gotIn(dialect: DialectName, answer: JsonObject): Items {
  switch (dialect) {
    case "chat":
      return (answer["choices"] as Items).map(({ message }) => message as JsonObject);
    case "messages":
      return answer["content"] as Items;
    case "responses":
      return answer["output"] as Items;
    case "google": {
      const [candidate] = answer["candidates"] as [{ content: { parts: Items } }];
      return candidate.content.parts;
    }
  }
}

function asking(dialect: DialectName, system: string, turns: Items): JsonObject {
  const last = { role: "user", content: "and?" };
  switch (dialect) {
    case "chat":
      return { model: "m", messages: [{ role: "system", content: system }, ...turns, last] };
    case "messages":
      return { model: "m", max_tokens: 100, system, messages: [...turns, last] };
    case "responses":
      return { model: "m", instructions: system, input: [...turns, last] };
    case "google":
      return {
        systemInstruction: { parts: [{ text: system }] },
        contents: [...turns, { role: "user", parts: [{ text: "and?" }] }],
      };
  }
}

/** What a conversation holds, whatever the dialect. */
export function contentsOf(system: string, steps: readonly Step[]): string[] {
  const things = [`system ${system}`];
  for (const { asked, picture, thought, answered, calls } of steps) {
    things.push(...asked.map((text) => `user ${text}`));
    if (picture !== null) things.push(`picture ${picture}`);
    if (thought !== null) things.push(`thought ${thought}`);
    things.push(`assistant ${answered}`, ...calls.map(callText));
    things.push(...calls.map(({ id, result }) => `result of ${id} ${result}`));
  }
  return merged([...things, "user and?"]);
}

const callText = ({ id, tool, input }: Omit<Call, "result">): string =>
  `call ${id} ${tool} ${JSON.stringify(input)}`;

/** Texts of one role that follow each other are one. */
function merged(things: readonly string[]): string[] {
  const out: string[] = [];
  for (const thing of things) {
    const [kind] = thing.split(" ", 1);
    const isText = kind === "user" || kind === "assistant";
    if (isText && out.at(-1)?.startsWith(`${kind} `))
      out[out.length - 1] += thing.slice(kind!.length + 1);
    else out.push(thing);
  }
  return out;
}

/** What a translated request holds. */
export function contentsIn(dialect: ProviderDialect, body: JsonObject): string[] {
  switch (dialect) {
    case "chat":
      return merged((body["messages"] as Items).flatMap(inChatMessage));
    case "messages":
      return merged([
        ...textsIn(body["system"]).map((text) => `system ${text}`),
        ...(body["messages"] as Items).flatMap((turn) =>
          partsIn(turn["content"]).flatMap((one) => inBlock(one, turn["role"] as string)),
        ),
      ]);
    case "responses":
      return merged((body["input"] as Items).flatMap(inItem));
  }
}

function inChatMessage(message: JsonObject): string[] {
  const { role, content, tool_calls: calls, thinking_blocks: blocks } = message;
  if (role === "tool")
    return [`result of ${message["tool_call_id"] as string} ${textsIn(content).join("")}`];
  const thought = message["reasoning_content"] as string | undefined;
  return [
    ...((blocks as Items | undefined)?.flatMap((one) => inBlock(one, "assistant")) ??
      (thought === undefined ? [] : [`thought ${thought}`])),
    ...partsIn(content).flatMap((part) => inBlock(part, role as string)),
    ...((calls as Items | undefined) ?? []).map((call) => {
      const { name, arguments: input } = call["function"] as Record<string, string>;
      return callText({ id: call["id"] as string, tool: name!, input: JSON.parse(input!) });
    }),
  ];
}

function inItem(item: JsonObject): string[] {
  const { type, role, content, call_id: id } = item as Record<string, string>;
  switch (type) {
    case "reasoning": {
      const [summary] = item["summary"] as { text: string }[];
      const kept = readKeptReasoning(item["encrypted_content"]);
      return [`thought ${kept?.text ?? summary?.text}`];
    }
    case "function_call":
      return [
        callText({
          id: id!,
          tool: item["name"] as string,
          input: JSON.parse(item["arguments"] as string),
        }),
      ];
    case "function_call_output":
      return [`result of ${id} ${textsIn(item["output"]).join("")}`];
    default:
      return partsIn(content).flatMap((part) => inBlock(part, role!));
  }
}

function inBlock(one: JsonObject, role: string): string[] {
  const { type, text, thinking } = one as Record<string, string>;
  switch (type) {
    case "text":
    case "input_text":
    case "output_text":
      return text === "" ? [] : [`${role} ${text}`];
    case "thinking":
      return [`thought ${thinking}`];
    case "tool_use":
      return [
        callText({
          id: one["id"] as string,
          tool: one["name"] as string,
          input: one["input"] as JsonObject,
        }),
      ];
    case "tool_result":
      return [`result of ${one["tool_use_id"] as string} ${textsIn(one["content"]).join("")}`];
    case "image":
      return [`picture ${(one["source"] as { data: string }).data}`];
    default: {
      const url = one["image_url"];
      const at = typeof url === "string" ? url : (url as { url: string }).url;
      return [`picture ${at.split(",")[1]}`];
    }
  }
}

function partsIn(content: unknown): Items {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (content ?? []) as Items;
}

function textsIn(content: unknown): string[] {
  return partsIn(content).map((part) => part["text"] as string);
}

/** The usage that every dialect can tell. */
export interface Spent {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A provider's answer. */
export function answerIn(
  dialect: ProviderDialect,
  step: Step,
  { input, cached, output, reasoning }: Spent,
  proof: Proof,
): JsonObject {
  const content = said[dialect](step, proof);
  const calls = step.calls.length > 0;
  switch (dialect) {
    case "chat":
      return {
        id: "chatcmpl-1",
        object: "chat.completion",
        choices: [{ index: 0, message: content[0], finish_reason: calls ? "tool_calls" : "stop" }],
        usage: {
          prompt_tokens: input + cached,
          completion_tokens: output,
          total_tokens: input + cached + output,
          prompt_tokens_details: { cached_tokens: cached },
          completion_tokens_details: { reasoning_tokens: reasoning },
        },
      };
    case "messages":
      return {
        id: "msg_1",
        type: "message",
        role: "assistant",
        content,
        stop_reason: calls ? "tool_use" : "end_turn",
        usage: {
          input_tokens: input,
          cache_read_input_tokens: cached,
          output_tokens: output,
          output_tokens_details: { thinking_tokens: reasoning },
        },
      };
    case "responses":
      return {
        id: "resp_1",
        object: "response",
        status: "completed",
        output: content,
        usage: {
          input_tokens: input + cached,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: reasoning },
        },
      };
  }
}

/** What a client's answer holds: the same things, and the usage. */
export function answerContents(dialect: DialectName, answer: JsonObject): unknown {
  const usage = answer["usage"] as Record<string, number> & Record<string, Record<string, number>>;
  switch (dialect) {
    case "chat": {
      const [choice] = answer["choices"] as [{ message: JsonObject }];
      return [
        merged(inChatMessage(choice.message)),
        usage["prompt_tokens"]! - usage["prompt_tokens_details"]!["cached_tokens"]!,
        usage["prompt_tokens_details"]!["cached_tokens"],
        usage["completion_tokens"],
        usage["completion_tokens_details"]!["reasoning_tokens"],
      ];
    }
    case "messages":
      return [
        merged((answer["content"] as Items).flatMap((one) => inBlock(one, "assistant"))),
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        usage["output_tokens"],
        usage["output_tokens_details"]!["thinking_tokens"],
      ];
    case "responses":
      return [
        merged((answer["output"] as Items).flatMap(inItem)),
        usage["input_tokens"]! - usage["input_tokens_details"]!["cached_tokens"]!,
        usage["input_tokens_details"]!["cached_tokens"],
        usage["output_tokens"],
        usage["output_tokens_details"]!["reasoning_tokens"],
      ];
    case "google":
      return googleContents(answer);
  }
}

function googleContents(answer: JsonObject): unknown {
  const [candidate] = answer["candidates"] as [{ content: { parts: Items } }];
  const usage = answer["usageMetadata"] as Record<string, number>;
  const { parts } = candidate.content;
  const thought = parts
    .filter((part) => part["thought"] === true)
    .map((part) => part["text"])
    .join("");
  // What the client sends back, whether it keeps thoughts or calls alone.
  const signed = parts.flatMap(({ thoughtSignature }) => (thoughtSignature as string) ?? []);
  const kept = signed.map((signature) => keptInSignature(signature)?.text);
  const cached = usage["cachedContentTokenCount"] ?? 0;
  return [
    merged([
      ...(thought === "" ? [] : [`thought ${kept.join() === thought ? thought : "lost"}`]),
      ...parts
        .filter((part) => part["thought"] !== true)
        .flatMap(({ text, functionCall }) => {
          if (functionCall === undefined) return text === "" ? [] : [`assistant ${text}`];
          const { id, name, args } = functionCall as { id: string; name: string; args: JsonObject };
          return [callText({ id, tool: name, input: args })];
        }),
    ]),
    usage["promptTokenCount"]! - cached,
    cached,
    usage["candidatesTokenCount"]! + usage["thoughtsTokenCount"]!,
    usage["thoughtsTokenCount"],
  ];
}
