/** Translates the tools of an Anthropic request, and its tool choice, to a chat request's. */
import { isAbsent } from "../../../shared/checked.js";
import type { RequestReader } from "../translation/request-reader.js";
import type { JsonObject } from "../translation/translation.js";
import { messagesToolDefinitionFields } from "./messages-request-fields.js";

/** Undefined when there are none. */
export function messagesToolsToChat(
  value: unknown,
  reader: RequestReader,
): readonly JsonObject[] | undefined {
  if (isAbsent(value)) return undefined;
  const tools = reader.list(value, "tools").map((tool, i) => toTool(tool, `tools[${i}]`, reader));
  return tools.length === 0 ? undefined : tools;
}

function toTool(value: unknown, at: string, reader: RequestReader): JsonObject {
  const tool = reader.object(value, at);
  if (!isAbsent(tool["type"]) && tool["type"] !== "custom")
    reader.unsupported(`${at}.type`, "must be custom", "which doesn't have Anthropic's own tools");
  reader.fields(tool, messagesToolDefinitionFields, `${at}.`);
  const called: Record<string, unknown> = { name: reader.name(tool["name"], `${at}.name`) };
  if (!isAbsent(tool["description"]))
    called["description"] = reader.text(tool["description"], `${at}.description`);
  called["parameters"] = reader.object(tool["input_schema"], `${at}.input_schema`);
  if (reader.flag(tool["strict"], `${at}.strict`) === true) called["strict"] = true;
  return { type: "function", function: called };
}

/** Undefined: the provider's default. */
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

/** Undefined without tools, because OpenAI then refuses a choice. */
export function messagesToolChoiceToChat(
  value: unknown,
  hasTools: boolean,
  reader: RequestReader,
): ChatToolChoice {
  if (isAbsent(value)) return { choice: undefined, parallel: undefined };
  const given = reader.object(value, "tool_choice");
  const simpleChoice = reader.enumValue(
    reader.text(given["type"], "tool_choice.type"),
    choices,
    "tool_choice.type",
  );
  const isSerial =
    reader.flag(given["disable_parallel_tool_use"], "tool_choice.disable_parallel_tool_use") ===
    true;
  if (!hasTools && (simpleChoice === "auto" || simpleChoice === "none"))
    return { choice: undefined, parallel: undefined };
  const choice =
    given["type"] === "tool"
      ? { type: "function", function: { name: reader.name(given["name"], "tool_choice.name") } }
      : simpleChoice;
  return { choice, parallel: isSerial && simpleChoice !== "none" ? false : undefined };
}
