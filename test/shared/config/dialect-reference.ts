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
import { code, grouped, markdown, meanings } from "../../support/markdown-table.js";

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

interface Row {
  readonly name: string;
  /** Its handling in each dialect of a provider. */
  readonly cells: readonly Handling[];
}

interface Handling {
  /** `changed` is a mapping that a client may notice. */
  readonly how: "as is" | "changed" | Loss;
  readonly text: string;
}

type Loss = "left out" | "dropped" | "refused";
/** What is left out makes no difference, so the page has no list of it. */
const losses: readonly Loss[] = ["dropped", "refused"];

/**
 * A table of the fields whose translation a client may notice, and a list of those that a provider
 * doesn't get. A field that only gets another name is in neither.
 */
function fieldsOf(dialects: readonly string[], places: Places): string {
  const found = places.flatMap(([place, ...tables]) => {
    const names = new Set(tables.flatMap((table) => [...(table ?? new Map()).keys()]));
    return [...names].map((name) => ({
      field: name,
      name: code(`${place}${name}`),
      cells: tables.map((table) => handling(table, place, name)),
    }));
  });
  const byField = new Map(grouped(found, ({ field }) => field));
  const rows = found.flatMap((row): readonly Row[] => {
    const alike = byField.get(row.field)!;
    if (!isAlikeAnywhere(alike)) return [row];
    return row === alike[0] ? [{ ...row, name: `${code(row.field)} anywhere` }] : [];
  });
  const isChanged = ({ cells }: Row): boolean => cells.some(({ how }) => how === "changed");
  return `${tableOfChanges(dialects, rows.filter(isChanged))}\nNot sent:\n\n${listOfLosses(
    dialects,
    rows.filter((row) => !isChanged(row)),
  )}`;
}

/** Of a field of many objects, such as `cache_control`. */
function isAlikeAnywhere(rows: readonly Row[]): boolean {
  const [first, ...others] = rows.map(({ cells }) => cells.map(({ text }) => text).join(" | "));
  return others.length > 1 && others.every((each) => each === first);
}

/** A list for each dialect. Fields with the same handling in every dialect share a row. */
function tableOfChanges(dialects: readonly string[], rows: readonly Row[]): string {
  const textsOf = ({ cells }: Row): readonly string[] => cells.map(({ text }) => text);
  const changes = grouped(rows, (row) => textsOf(row).join(" | ")).map(([, alike]) => ({
    names: alike.map(({ name }) => name).join(", "),
    cells: alike[0]!.cells,
  }));
  const lists = dialects.map((_, at) =>
    meanings(
      changes
        .filter(({ cells }) => cells[at]!.how !== "as is")
        .map(({ names, cells }) => [names, cells[at]!.text]),
    ),
  );
  if (lists.length === 1) return lists[0]!;
  return lists.map((list, at) => `For ${dialects[at]}:\n\n${list}`).join("\n");
}

/** What is lost on the way to every dialect, and behind it what is lost on the way to one. */
function listOfLosses(dialects: readonly string[], rows: readonly Row[]): string {
  const lines = losses.flatMap((loss) => {
    const lost = rows.flatMap(({ name, cells }) => {
      const where = cells.flatMap(({ how }, at) => (how === loss ? [dialects[at]!] : []));
      const unless = cells.find(({ how }) => how === loss)?.text.slice(loss.length + 1) ?? "";
      const shown = unless === "" ? name : `${name} (${unless})`;
      return where.length === 0 ? [] : [{ shown, where: where.join(" and ") }];
    });
    return grouped(lost, ({ where }) => where).map(([where, alike]) => {
      const of = where === dialects.join(" and ") ? "" : ` for ${where}`;
      return `- **${loss}**${of}: ${alike.map(({ shown }) => shown).join(", ")}\n`;
    });
  });
  return lines.join("");
}

/** The accepted value as the page names it: `must be 1` as `unless 1`. */
function unlessIt(must: string): string {
  const [, value] = /^must be (.+)$/.exec(must) ?? [];
  if (value !== undefined) return `unless ${/^\W/.test(value) ? code(value) : value}`;
  return must.replace(/^must only clear/, "unless it only clears").replace("must not be", "if");
}

/** A field that only another table has is unknown; within an object, the object has been mapped. */
function handling(table: FieldTable | null, place: string, name: string): Handling {
  const rule = table?.get(name);
  if (rule === undefined)
    return place === "" ? { how: "dropped", text: "dropped" } : { how: "as is", text: "the same" };
  if (rule.how === "mapped") {
    if (/^`[^`]+`$/.test(rule.note) || rule.note === "the same")
      return { how: "as is", text: rule.note === code(name) ? "the same" : rule.note };
    return { how: "changed", text: rule.note };
  }
  if (rule.how === "left out") return { how: rule.how, text: rule.how };
  const text = rule.must === "must be left out" ? rule.how : `${rule.how} ${unlessIt(rule.must)}`;
  return { how: rule.how, text };
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
  chat: () => fieldsOf(["Anthropic messages", "Responses"], chatPlaces),
  messages: () => fieldsOf(["chat completions"], messagesPlaces),
  google: () => fieldsOf(["chat completions"], googlePlaces),
  stop_reasons: () =>
    tableOfReasons(["Anthropic's `stop_reason`", "`finish_reason`"], finishReasons),
  finish_reasons: tableOfFinishReasons,
};
