/** The tables in docs/reference/dialects.md are those of the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import * as chat from "../../../proxy/dialects/chat-to-messages/chat-request-fields.js";
import * as overResponses from "../../../proxy/dialects/chat-to-responses/chat-fields.js";
import * as google from "../../../proxy/dialects/google-to-chat/google-request-fields.js";
import * as messages from "../../../proxy/dialects/messages-to-chat/messages-request-fields.js";
import type { FieldTable } from "../../../proxy/dialects/translation/field-table.js";
import {
  finishReasons,
  googleFinishReasons,
  stopReasons,
} from "../../../proxy/dialects/translation/stop-reasons.js";
import { root } from "../../tidy/source-tree.js";

const page = readFileSync(join(root, "docs/reference/dialects.md"), "utf8");
const overResponsesPage = readFileSync(
  join(root, "docs/reference/dialects-over-responses.md"),
  "utf8",
);

const googlePage = readFileSync(join(root, "docs/reference/dialects-google.md"), "utf8");

/** The rows of the tables below a heading, without the header rows. */
function rowsBelow(part: string, heading: string): readonly string[] {
  const partAt = page.indexOf(`\n## ${part}\n`);
  return rowsAt(page, page.indexOf(`\n### ${heading}\n`, partAt));
}

function rowsAt(page: string, at: number): readonly string[] {
  const next = page.indexOf("\n#", at + 1);
  return page
    .slice(at, next)
    .split("\n")
    .filter((line) => line.startsWith("| `"));
}

const rows = (table: FieldTable): readonly string[] =>
  [...table].map(
    ([field, rule]) =>
      `| \`${field}\` | ${"must" in rule ? `${rule.how}: ${rule.must}` : rule.how} | ${rule.note} |`,
  );

const fromChat: Readonly<Record<string, FieldTable>> = {
  "The request": chat.chatRequestFields,
  "`response_format.json_schema`": chat.chatResponseFormatFields,
  "A system message": chat.chatSystemFields,
  "A user message": chat.chatUserFields,
  "A part of a message": chat.chatPartFields,
  "`image_url`": chat.chatImageFields,
  "`file`": chat.chatFileFields,
  "An assistant message": chat.chatAssistantFields,
  "A tool call": chat.chatToolCallFields,
  "`function` of a tool call": chat.chatFunctionCallFields,
  "A tool message": chat.chatToolFields,
  "A tool": chat.chatToolDefinitionFields,
  "`function` of a tool": chat.chatFunctionFields,
};

const fromMessages: Readonly<Record<string, FieldTable>> = {
  "The request": messages.messagesRequestFields,
  "`output_config`": messages.messagesOutputFields,
  "A message": messages.messagesTurnFields,
  "`text`": messages.messagesTextFields,
  "`image`": messages.messagesImageFields,
  "`document`": messages.messagesDocumentFields,
  "`search_result`": messages.messagesSearchResultFields,
  "`tool_reference`": messages.messagesToolReferenceFields,
  "`tool_use`": messages.messagesToolUseFields,
  "`tool_result`": messages.messagesToolResultFields,
  "`thinking` and `redacted_thinking`": messages.messagesThinkingFields,
  "A tool": messages.messagesToolDefinitionFields,
};

t.test("the page has every field of every table, with its handling", async (t) => {
  for (const [heading, table] of Object.entries(fromChat))
    t.same(
      rowsBelow("Chat completions, from an Anthropic provider", heading),
      rows(table),
      heading,
    );
  for (const [heading, table] of Object.entries(fromMessages))
    t.same(
      rowsBelow("Messages, from a provider of chat completions", heading),
      rows(table),
      heading,
    );
});

const fromChatOverResponses: Readonly<Record<string, FieldTable>> = {
  "## The request": overResponses.chatRequestFields,
  "### A message": overResponses.chatMessageFields,
  "### An assistant message": overResponses.chatAssistantFields,
  "### A part of a message": overResponses.chatPartFields,
  "### A tool call": overResponses.chatToolCallFields,
  "### A tool": overResponses.chatToolFields,
};

t.test("and the page about Responses has its own", async (t) => {
  for (const [heading, table] of Object.entries(fromChatOverResponses))
    t.same(
      rowsAt(overResponsesPage, overResponsesPage.indexOf(`\n${heading}\n`)),
      rows(table),
      heading,
    );
});

const fromGoogle: Readonly<Record<string, FieldTable>> = {
  "## The request": google.googleRequestFields,
  "### `generationConfig`": google.googleConfigFields,
  "### A content": google.googleContentFields,
  "### A part": google.googlePartFields,
  "### `functionCall`": google.googleCallFields,
  "### `functionResponse`": google.googleResultFields,
  "### A tool": google.googleToolFields,
  "### A function declaration": google.googleFunctionFields,
  "### `toolConfig`": google.googleToolConfigFields,
};

t.test("and the page about Gemini's own API has its own", async (t) => {
  for (const [heading, table] of Object.entries(fromGoogle))
    t.same(rowsAt(googlePage, googlePage.indexOf(`\n${heading}\n`)), rows(table), heading);
  for (const [reason, becomes] of googleFinishReasons)
    t.ok(googlePage.includes(`| \`${reason}\` | \`${becomes}\` |`), reason);
});

t.test("no table is missing from the page", async (t) => {
  t.equal(Object.keys(fromChat).length, Object.keys(chat).length);
  t.equal(Object.keys(fromMessages).length, Object.keys(messages).length);
  const tables = Object.values(google).filter((value) => value instanceof Map);
  t.equal(Object.keys(fromGoogle).length, tables.length);
  t.equal(Object.keys(fromChatOverResponses).length, Object.keys(overResponses).length);
});

t.test("the page has every reason why an answer ends", async (t) => {
  for (const [reason, becomes] of [...finishReasons, ...stopReasons])
    t.ok(page.includes(`| \`${reason}\` | \`${becomes}\` |`), reason);
});
