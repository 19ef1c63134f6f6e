/** Chat completions as their hosts write them, whole and as a stream. */
import type { ChatStyle } from "./hosts.js";
import type { Conversation, PlannedCall, Reply, Turn } from "./script.js";
import { isJson, type Json, listOf } from "./shape.js";
import { type Numbered, pieces, textIn, toolOffer, usageFor } from "./wording.js";

export function readChat(body: Json): Conversation {
  const turns = listOf(body["messages"]).flatMap(({ role, content }): Turn[] =>
    role === "system" || role === "developer"
      ? []
      : [{ role: role as Turn["role"], text: textIn(content) }],
  );
  return {
    turns,
    tools: listOf(body["tools"]).map(({ function: definition }) => {
      const { name, parameters } = isJson(definition) ? definition : {};
      return toolOffer(name, parameters);
    }),
    takesParallelCalls: body["parallel_tool_calls"] !== false,
  };
}

interface ChatCall {
  readonly id: string;
  readonly call: PlannedCall;
}

function written(reply: Reply, style: ChatStyle, { first }: Numbered): readonly ChatCall[] {
  return reply.calls.map((call, i) => ({ id: style.callId(first + i), call }));
}

function callObject({ id, call }: ChatCall, style: ChatStyle, i: number): Json {
  return {
    id,
    type: "function",
    function: { name: call.tool.name, arguments: JSON.stringify(call.input) },
    ...(style.signsCalls && i === 0
      ? { extra_content: { google: { thought_signature: "c2lnbmVkIGJ5IEdlbWluaQ==" } } }
      : {}),
  };
}

function usageOf(turns: number, reply: Reply): Json {
  const { input, output, cached, reasoning } = usageFor(turns, reply);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function finishOf({ calls, isCut }: Reply): string {
  return isCut === true ? "length" : calls.length === 0 ? "stop" : "tool_calls";
}

const created = 1_790_000_000;

export function chatAnswer(body: Json, reply: Reply, style: ChatStyle, numbered: Numbered): Json {
  const calls = written(reply, style, numbered);
  const message = {
    role: "assistant",
    content: reply.text,
    ...(style.reasoning === null ? {} : { [style.reasoning]: reply.reasoning }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call, i) => callObject(call, style, i)) }),
  };
  return {
    id: `chatcmpl-${numbered.first}`,
    object: "chat.completion",
    created,
    model: body["model"],
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finishOf(reply),
      },
    ],
    usage: usageOf(listOf(body["messages"]).length, reply),
  };
}

/** The chunks of a stream, without `[DONE]`. */
export function chatChunks(
  body: Json,
  reply: Reply,
  style: ChatStyle,
  numbered: Numbered,
): readonly Json[] {
  const calls = written(reply, style, numbered);
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    id: `chatcmpl-${numbered.first}`,
    object: "chat.completion.chunk",
    created,
    model: body["model"],
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const chunks = [chunk({ role: "assistant", content: "" })];
  if (style.reasoning !== null)
    for (const piece of pieces(reply.reasoning)) chunks.push(chunk({ [style.reasoning]: piece }));
  for (const piece of pieces(reply.text)) chunks.push(chunk({ content: piece }));
  for (const [index, call] of calls.entries()) {
    const whole = callObject(call, style, index);
    if (style.wholeCalls) {
      chunks.push(chunk({ tool_calls: [{ index, ...whole }] }));
      continue;
    }
    const { name, arguments: input } = whole["function"] as Record<string, string>;
    chunks.push(
      chunk({ tool_calls: [{ index, ...whole, function: { name, arguments: "" } }] }),
      ...pieces(input!).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    );
  }
  const last = chunk({}, finishOf(reply));
  const usage = usageOf(listOf(body["messages"]).length, reply);
  const asked = isJson(body["stream_options"]) && body["stream_options"]["include_usage"] === true;
  if (style.usage === "last_chunk") return [...chunks, { ...last, usage }];
  return [...chunks, last, ...(asked ? [{ ...last, choices: [], usage }] : [])];
}
