/** The tools of an Anthropic request, and the choice among them, as a chat completion's. */
import { isAbsent } from "../../../shared/assert.js";
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

/** `choice`: undefined when it is the provider's own default. */
export interface ChatToolChoice {
  readonly choice: string | JsonObject | undefined;
  readonly parallel: false | undefined;
}

const words: ReadonlyMap<string, string | undefined> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["any", "required"],
  ["tool", undefined],
]);

/** Without tools there is nothing to choose, and OpenAI refuses a choice. */
export function messagesToolChoiceToChat(
  value: unknown,
  hasTools: boolean,
  reader: RequestReader,
): ChatToolChoice {
  if (isAbsent(value)) return { choice: undefined, parallel: undefined };
  const given = reader.object(value, "tool_choice");
  const word = reader.enumValue(
    reader.text(given["type"], "tool_choice.type"),
    words,
    "tool_choice.type",
  );
  const serial =
    reader.flag(given["disable_parallel_tool_use"], "tool_choice.disable_parallel_tool_use") ===
    true;
  if (!hasTools && (word === "auto" || word === "none"))
    return { choice: undefined, parallel: undefined };
  const choice =
    given["type"] === "tool"
      ? { type: "function", function: { name: reader.name(given["name"], "tool_choice.name") } }
      : word;
  return { choice, parallel: serial && word !== "none" ? false : undefined };
}
