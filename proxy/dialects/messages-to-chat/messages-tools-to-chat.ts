/** Translates the tools of an Anthropic request, and its tool choice, to a chat request's. */
import { isAbsent } from "../../../shared/checked.js";
import { isStrictSchema } from "../shared/chat-request.js";
import { objectSchema } from "../shared/object-schema.js";
import type { RequestReader } from "../shared/request-reader.js";
import { fittingToolName } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import { messagesToolDefinitionFields } from "./messages-request-fields.js";

/** Undefined if there are no tools. */
export function messagesToolsToChat(
  value: unknown,
  reader: RequestReader,
): readonly JsonObject[] | undefined {
  if (isAbsent(value)) return undefined;
  const tools: JsonObject[] = [];
  for (const [i, item] of reader.list(value, "tools").entries()) {
    const tool = reader.object(item, `tools[${i}]`);
    if (isTranslatable(tool, `tools[${i}]`, reader))
      tools.push(toTool(tool, `tools[${i}]`, reader));
  }
  return tools.length === 0 ? undefined : tools;
}

/**
 * Matches tools that Anthropic runs itself: an agent can work without them, though less
 * effectively.
 */
const runByAnthropic =
  /^(?:web_search|web_fetch|code_execution|tool_search_tool_(?:regex|bm25)|advisor)(?:_\d+)?$|^mcp_toolset$/;

function isTranslatable(tool: JsonObject, path: string, reader: RequestReader): boolean {
  const { type } = tool;
  if (isAbsent(type) || type === "custom") return true;
  const note = "which doesn't have Anthropic's own tools";
  if (typeof type === "string" && runByAnthropic.test(type))
    reader.drop(`${path}.type`, "must be custom", note, `tools[] (${type})`);
  else reader.unsupported(`${path}.type`, "must be custom", note);
  return false;
}

function toTool(tool: JsonObject, path: string, reader: RequestReader): JsonObject {
  reader.fields(tool, messagesToolDefinitionFields, `${path}.`);
  const called: Record<string, unknown> = {
    name: fittingToolName(reader.name(tool["name"], `${path}.name`)),
  };
  if (!isAbsent(tool["description"]))
    called["description"] = reader.text(tool["description"], `${path}.description`);
  called["parameters"] = objectSchema(tool["input_schema"], `${path}.input_schema`, reader);
  if (reader.flag(tool["strict"], `${path}.strict`) === true) {
    // Anthropic enforces more schemas: those with optional fields, and with other formats.
    if (isStrictSchema(called["parameters"])) called["strict"] = true;
    else
      reader.drop(
        `${path}.strict`,
        "must be left out",
        "which enforces no schema with optional fields, or with keywords that OpenAI doesn't list",
      );
  }
  return { type: "function", function: called };
}

/** `undefined` means the provider's default. */
interface ChatToolChoice {
  readonly choice: string | JsonObject | undefined;
  readonly parallel: false | undefined;
}

const choices: ReadonlyMap<string, string | undefined> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["any", "required"],
  ["tool", undefined],
]);

/**
 * `tools`: the translated tools. A choice that names none of them is left out, because providers
 * refuse it.
 */
export function messagesToolChoiceToChat(
  value: unknown,
  tools: readonly JsonObject[] | undefined,
  reader: RequestReader,
): ChatToolChoice {
  if (isAbsent(value)) return { choice: undefined, parallel: undefined };
  const choiceFields = reader.object(value, "tool_choice");
  const simpleChoice = reader.enumValue(
    reader.text(choiceFields["type"], "tool_choice.type"),
    choices,
    "tool_choice.type",
  );
  const isSerial =
    reader.flag(
      choiceFields["disable_parallel_tool_use"],
      "tool_choice.disable_parallel_tool_use",
    ) === true;
  const name =
    choiceFields["type"] === "tool"
      ? fittingToolName(reader.name(choiceFields["name"], "tool_choice.name"))
      : null;
  const isMissing =
    name === null
      ? tools === undefined && simpleChoice === "required"
      : !tools?.some((tool) => (tool["function"] as JsonObject)["name"] === name);
  if (isMissing) reader.drop("tool_choice", "must be one of the tools", "which gets no such tool");
  if (tools === undefined) return { choice: undefined, parallel: undefined };
  const choice =
    name === null ? simpleChoice : isMissing ? undefined : { type: "function", function: { name } };
  return { choice, parallel: isSerial && simpleChoice !== "none" ? false : undefined };
}
