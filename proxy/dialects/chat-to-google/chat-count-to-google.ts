/**
 * Translates a chat request to one whose tokens Gemini's own API counts: the texts, pictures,
 * calls, results and tools of the conversation, without the fields that only control the answer. It
 * is only used for counting: to generate an answer, Google's compatible endpoint takes the chat
 * request itself.
 */
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { readDataUrl } from "../shared/data-url.js";
import { RequestCheck } from "../shared/request-check.js";
import { readToolInput } from "../shared/tool-call.js";
import { type JsonObject, type Translation, UntranslatableAnswer } from "../shared/translation.js";

type Items = readonly JsonObject[];

export const chatCountToGoogle: Translation = {
  echoedFields: [],
  request: (body) => new RequestCheck(false).result(contentsOf(body)),
  answer: noAnswer,
  asEvents: noAnswer,
  events: noAnswer,
};

function noAnswer(): never {
  throw new UntranslatableAnswer("a request that was only counted has no answer");
}

/** `body`: a chat request, the result of a translation. */
function contentsOf(body: JsonObject): JsonObject {
  const instructions: JsonObject[] = [];
  const contents: JsonObject[] = [];
  const names = new Map<unknown, unknown>();
  for (const message of itemsIn(body["messages"])) {
    const { role, content } = message;
    if (role === "system" || role === "developer") append(instructions, partsOf(content));
    else if (role === "tool") addTurn(contents, "user", [resultOf(message, names)]);
    else if (role === "assistant")
      addTurn(contents, "model", [...partsOf(content), ...callsOf(message, names)]);
    else addTurn(contents, "user", partsOf(content));
  }
  const declarations = itemsIn(body["tools"]).map(declarationOf);
  return {
    contents,
    ...(instructions.length === 0 ? {} : { systemInstruction: { parts: instructions } }),
    ...(declarations.length === 0 ? {} : { tools: [{ functionDeclarations: declarations }] }),
  };
}

/** Google refuses a turn without parts. */
function addTurn(contents: JsonObject[], role: string, parts: Items): void {
  if (parts.length > 0) contents.push({ role, parts });
}

function itemsIn(value: unknown): Items {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Leaves out content that is only an address: Google can't count it. */
function partsOf(content: unknown): Items {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  return itemsIn(content).flatMap((part): Items => {
    const { text, image_url: image, file } = part;
    if (typeof text === "string") return text === "" ? [] : [{ text }];
    const url = isObject(image) ? image["url"] : isObject(file) ? file["file_data"] : null;
    const data = typeof url === "string" ? readDataUrl(url) : null;
    return data === null ? [] : [{ inlineData: { mimeType: data.mediaType, data: data.base64 } }];
  });
}

/** `names`: the names of the calls by their ids. */
function callsOf(message: JsonObject, names: Map<unknown, unknown>): Items {
  return itemsIn(message["tool_calls"]).map((call) => {
    const called = isObject(call["function"]) ? call["function"] : {};
    names.set(call["id"], called["name"]);
    const args = readToolInput(String(called["arguments"] ?? "")) ?? {};
    return { functionCall: { name: called["name"], args } };
  });
}

function resultOf(message: JsonObject, names: ReadonlyMap<unknown, unknown>): JsonObject {
  const output = partsOf(message["content"])
    .map(({ text }) => text ?? "")
    .join("\n");
  const name = names.get(message["tool_call_id"]) ?? "unknown";
  return { functionResponse: { name, response: { output } } };
}

function declarationOf(tool: JsonObject): JsonObject {
  const definition = isObject(tool["function"]) ? tool["function"] : tool;
  const { name, description, parameters } = definition;
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parametersJsonSchema: parameters }),
  };
}
