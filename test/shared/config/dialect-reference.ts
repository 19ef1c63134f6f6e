/**
 * The tables of the page on dialects, made of the tables by which requests and reasons to stop are
 * translated. Pure.
 */
import * as chat from "../../../proxy/dialects/chat-to-messages/chat-request-fields.js";
import * as overResponses from "../../../proxy/dialects/chat-to-responses/chat-fields.js";
import * as google from "../../../proxy/dialects/google-to-chat/google-request-fields.js";
import * as messages from "../../../proxy/dialects/messages-to-chat/messages-request-fields.js";
import type { FieldTable } from "../../../proxy/dialects/shared/field-table.js";
import {
  finishReasons,
  googleFinishReasons,
  stopReasons,
} from "../../../proxy/dialects/shared/stop-reasons.js";
import { code, grouped, markdown } from "../../support/markdown-table.js";

/** The place of an object in a request, and its table for each dialect of a provider. */
type Places = readonly (readonly [place: string, ...tables: readonly (FieldTable | null)[]])[];

const chatPlaces: Places = [
  ["", chat.chatRequestFields, overResponses.chatRequestFields],
  ["messages[system].", chat.chatSystemFields, overResponses.chatMessageFields],
  ["messages[user].", chat.chatUserFields, overResponses.chatMessageFields],
  ["messages[tool].", chat.chatToolFields, overResponses.chatMessageFields],
  ["messages[assistant].", chat.chatAssistantFields, overResponses.chatAssistantFields],
  ["content[].", chat.chatPartFields, overResponses.chatPartFields],
  ["image_url.", chat.chatImageFields, null],
  ["file.", chat.chatFileFields, null],
  ["tool_calls[].", chat.chatToolCallFields, overResponses.chatToolCallFields],
  ["tool_calls[].function.", chat.chatFunctionCallFields, null],
  ["tools[].", chat.chatToolDefinitionFields, overResponses.chatToolFields],
  ["tools[].function.", chat.chatFunctionFields, null],
  ["json_schema.", chat.chatResponseFormatFields, null],
];

const messagesPlaces: Places = [
  ["", messages.messagesRequestFields],
  ["output_config.", messages.messagesOutputFields],
  ["messages[].", messages.messagesTurnFields],
  ["text.", messages.messagesTextFields],
  ["image.", messages.messagesImageFields],
  ["document.", messages.messagesDocumentFields],
  ["search_result.", messages.messagesSearchResultFields],
  ["tool_reference.", messages.messagesToolReferenceFields],
  ["tool_use.", messages.messagesToolUseFields],
  ["tool_result.", messages.messagesToolResultFields],
  ["thinking.", messages.messagesThinkingFields],
  ["tools[].", messages.messagesToolDefinitionFields],
];

const googlePlaces: Places = [
  ["", google.googleRequestFields],
  ["generationConfig.", google.googleConfigFields],
  ["contents[].", google.googleContentFields],
  ["parts[].", google.googlePartFields],
  ["functionCall.", google.googleCallFields],
  ["functionResponse.", google.googleResultFields],
  ["tools[].", google.googleToolFields],
  ["functionDeclarations[].", google.googleFunctionFields],
  ["toolConfig.", google.googleToolConfigFields],
];

/** The modules of field tables, each with the tables that the page shows. */
export const shownTables: readonly (readonly [module: object, places: Places])[] = [
  [chat, chatPlaces],
  [overResponses, chatPlaces],
  [messages, messagesPlaces],
  [google, googlePlaces],
];

/** Fields with the same handling in every dialect share a row. */
function tableOfFields(columns: readonly string[], places: Places): string {
  const rows = places.flatMap(([place, ...tables]) => {
    const names = new Set(tables.flatMap((table) => [...(table ?? new Map()).keys()]));
    return [...names].map((name) => ({
      name: code(`${place}${name}`),
      cells: tables.map((table) => handling(table, place, name)),
    }));
  });
  return markdown(
    ["field", ...columns],
    grouped(rows, ({ cells }) => cells.join(" | ")).map(([, alike]) => [
      alike.map(({ name }) => name).join(", "),
      ...alike[0]!.cells,
    ]),
  );
}

/** A field that only another table has is unknown, within an object by the object's type. */
function handling(table: FieldTable | null, place: string, name: string): string {
  const rule = table?.get(name);
  if (rule === undefined) return place === "" ? "dropped" : "–";
  if (rule.how === "mapped") return rule.note === code(name) ? "the same" : rule.note;
  if (rule.how === "left out") return "left out";
  return rule.must === "must be left out" ? rule.how : `${rule.how}: ${rule.must}`;
}

/** Reasons that become the same share a row. */
function tableOfReasons(head: readonly string[], reasons: ReadonlyMap<string, string>): string {
  return markdown(
    head,
    grouped([...reasons], ([, becomes]) => becomes).map(([becomes, alike]) => [
      alike.map(([reason]) => code(reason)).join(", "),
      code(becomes),
    ]),
  );
}

/** What a chat completion's reason becomes in the two dialects that have other ones. */
function tableOfFinishReasons(): string {
  const rows = [...stopReasons].map(([reason, becomes]) => ({
    reason,
    cells: [code(becomes), code(googleFinishReasons.get(reason) ?? null)],
  }));
  return markdown(
    ["`finish_reason`", "Anthropic's `stop_reason`", "Google's `finishReason`"],
    grouped(rows, ({ cells }) => cells.join()).map(([, alike]) => [
      alike.map(({ reason }) => code(reason)).join(", "),
      ...alike[0]!.cells,
    ]),
  );
}

export const dialectTables: Readonly<Record<string, () => string>> = {
  chat: () => tableOfFields(["Anthropic messages", "Responses"], chatPlaces),
  messages: () => tableOfFields(["chat completions"], messagesPlaces),
  google: () => tableOfFields(["chat completions"], googlePlaces),
  stop_reasons: () =>
    tableOfReasons(["Anthropic's `stop_reason`", "`finish_reason`"], finishReasons),
  finish_reasons: tableOfFinishReasons,
};
