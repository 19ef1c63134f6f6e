/** Gemini's own API, whole and as a stream of chunks. */
import type { Conversation, Reply, Turn } from "./script.js";
import { isJson, type Json, listOf } from "./shape.js";
import { type Numbered, pieces, textIn, toolOffer, usageFor } from "./wording.js";

export const googleSignature = "c2lnbmVkIGJ5IEdlbWluaQ==";

export function readGoogle(body: Json): Conversation {
  const turns = listOf(body["contents"]).flatMap(({ role, parts }): Turn[] => {
    const list = listOf(parts);
    const results = list.flatMap(({ functionResponse: result }) =>
      isJson(result) ? [JSON.stringify(result["response"]).replaceAll("\\n", "\n")] : [],
    );
    const said = textIn(list.filter(({ thought }) => thought !== true));
    return [
      ...results.map((text): Turn => ({ role: "tool", text })),
      ...(said === ""
        ? []
        : [{ role: role === "model" ? "assistant" : "user", text: said } as const]),
    ];
  });
  const declared = listOf(body["tools"]).flatMap((tool) => listOf(tool["functionDeclarations"]));
  return {
    turns,
    tools: declared.map(({ name, parameters, parametersJsonSchema }) =>
      toolOffer(name, parametersJsonSchema ?? parameters),
    ),
    takesParallelCalls: true,
  };
}

function showsThoughts(body: Json): boolean {
  const config = isJson(body["generationConfig"]) ? body["generationConfig"] : {};
  const thinking = config["thinkingConfig"];
  return isJson(thinking) && thinking["includeThoughts"] === true;
}

function callParts({ calls }: Reply): readonly Json[] {
  return calls.map(({ tool, input }, i) => ({
    functionCall: { name: tool.name, args: input },
    ...(i === 0 ? { thoughtSignature: googleSignature } : {}),
  }));
}

function usageOf(body: Json, reply: Reply): Json {
  const turns = listOf(body["contents"]).length;
  const { input, output, cached, reasoning } = usageFor(turns, reply);
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    thoughtsTokenCount: reasoning,
    cachedContentTokenCount: cached,
    totalTokenCount: input + output,
  };
}

function finishOf({ isCut }: Reply): string {
  return isCut === true ? "MAX_TOKENS" : "STOP";
}

function response(parts: readonly Json[], more: Json, numbered: Numbered): Json {
  const { finishReason, ...others } = more;
  return {
    candidates: [
      {
        content: { role: "model", parts },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    modelVersion: "gemini-3-pro-preview",
    responseId: `g${numbered.first}`,
    ...others,
  };
}

export function googleAnswer(body: Json, reply: Reply, numbered: Numbered): Json {
  const parts = [
    ...(showsThoughts(body) ? [{ text: reply.reasoning, thought: true }] : []),
    ...(reply.text === "" ? [] : [{ text: reply.text }]),
    ...callParts(reply),
  ];
  const usageMetadata = usageOf(body, reply);
  return response(parts, { finishReason: finishOf(reply), usageMetadata }, numbered);
}

export function googleChunks(body: Json, reply: Reply, numbered: Numbered): readonly Json[] {
  const thoughts = showsThoughts(body)
    ? pieces(reply.reasoning).map((text) => ({ text, thought: true }))
    : [];
  const parts = [...thoughts, ...pieces(reply.text).map((text) => ({ text })), ...callParts(reply)];
  const usageMetadata = usageOf(body, reply);
  return [
    ...parts.map((part) => response([part], {}, numbered)),
    response([{ text: "" }], { finishReason: finishOf(reply), usageMetadata }, numbered),
  ];
}
