/** Translates Anthropic's content blocks to the content of chat messages. */
import { isAbsent } from "../../../shared/checked.js";
import { chatContent } from "../shared/chat-request.js";
import { namelessPdf, namelessText, writeDataUrl } from "../shared/data-url.js";
import type { FieldTable } from "../shared/field-table.js";
import type { RequestReader } from "../shared/request-reader.js";
import { fittingToolName } from "../shared/tool-call.js";
import type { JsonObject } from "../shared/translation.js";
import {
  messagesDocumentFields,
  messagesImageFields,
  messagesSearchResultFields,
  messagesTextFields,
  messagesToolReferenceFields,
} from "./messages-request-fields.js";

const translations: ReadonlyMap<
  unknown,
  {
    readonly fields: FieldTable;
    readonly part: (block: JsonObject, path: string, reader: RequestReader) => JsonObject;
  }
> = new Map([
  ["text", { fields: messagesTextFields, part: textPart }],
  ["image", { fields: messagesImageFields, part: imagePart }],
  ["document", { fields: messagesDocumentFields, part: filePart }],
  ["search_result", { fields: messagesSearchResultFields, part: searchResultPart }],
  ["tool_reference", { fields: messagesToolReferenceFields, part: toolReferencePart }],
]);

/** The blocks that each kind of content allows, for error messages. */
const supported = {
  user: "text, image, document, search_result or tool_result",
  result: "text, image, document, search_result or tool_reference",
  assistant: "text, thinking or tool_use",
  system: "text",
} as const;

/**
 * Translates one block to a part. A block of any other type is refused, and becomes an empty text.
 */
export function messagesBlockToChat(
  block: JsonObject,
  where: keyof typeof supported,
  path: string,
  reader: RequestReader,
): JsonObject {
  const { type } = block;
  const isTextOnly = where === "assistant" || where === "system";
  const isElsewhere = isTextOnly
    ? type !== "text"
    : type === "tool_reference" && where !== "result";
  const translate = isElsewhere ? undefined : translations.get(type);
  if (translate === undefined) {
    reader.unsupported(
      `${path}.type`,
      `must be ${supported[where]}`,
      "which supports nothing else there",
    );
    return { type: "text", text: "" };
  }
  reader.fields(block, translate.fields, `${path}.`);
  return translate.part(block, path, reader);
}

/** Translates content that may only hold text. */
export function messagesTextsToChat(
  content: unknown,
  path: string,
  reader: RequestReader,
): string | readonly JsonObject[] {
  const blocks = reader.content(content, path);
  if (typeof blocks === "string") return blocks;
  return chatContent(
    blocks.map((block, i) =>
      messagesBlockToChat(reader.object(block, `${path}[${i}]`), "system", `${path}[${i}]`, reader),
    ),
  );
}

function textPart(block: JsonObject, path: string, reader: RequestReader): JsonObject {
  return { type: "text", text: reader.text(block["text"], `${path}.text`) };
}

/** A search result that the client provides. */
function searchResultPart(block: JsonObject, path: string, reader: RequestReader): JsonObject {
  const title = reader.text(block["title"], `${path}.title`);
  const source = reader.text(block["source"], `${path}.source`);
  const content = messagesTextsToChat(block["content"], `${path}.content`, reader);
  const texts = typeof content === "string" ? [content] : content.map(({ text }) => text);
  return { type: "text", text: [`${title} (${source})`, ...texts].join("\n") };
}

/** The result of a client's own tool search, after which it loads the tools, as in Claude Code. */
function toolReferencePart(block: JsonObject, path: string, reader: RequestReader): JsonObject {
  const name = fittingToolName(reader.name(block["tool_name"], `${path}.tool_name`));
  return { type: "text", text: `The tool ${name} is loaded.` };
}

function imagePart(block: JsonObject, path: string, reader: RequestReader): JsonObject {
  const source = reader.object(block["source"], `${path}.source`);
  switch (source["type"]) {
    case "url":
      return {
        type: "image_url",
        image_url: { url: reader.text(source["url"], `${path}.source.url`) },
      };
    case "base64":
      return { type: "image_url", image_url: { url: base64Url(source, `${path}.source`, reader) } };
    default:
      return unsupportedSource(`${path}.source.type`, "must be base64 or url", reader);
  }
}

function filePart(block: JsonObject, path: string, reader: RequestReader): JsonObject {
  const source = reader.object(block["source"], `${path}.source`);
  const title = isAbsent(block["title"]) ? "" : reader.text(block["title"], `${path}.title`);
  switch (source["type"]) {
    case "base64":
      return {
        type: "file",
        file: {
          filename: title === "" ? namelessPdf : title,
          file_data: base64Url(source, `${path}.source`, reader),
        },
      };
    case "text": {
      const base64 = Buffer.from(
        reader.text(source["data"], `${path}.source.data`),
        "utf8",
      ).toString("base64");
      return {
        type: "file",
        file: {
          filename: title === "" ? namelessText : title,
          file_data: writeDataUrl({ mediaType: "text/plain", base64 }),
        },
      };
    }
    case "url":
      if (reader.takesFileUrls)
        return { type: "file", file: fileUrlPart(source["url"], `${path}.source.url`, reader) };
  }
  return unsupportedSource(`${path}.source.type`, "must be base64 or text", reader);
}

/**
 * The address of a file. Chat completions have no such field: it only passes through them to
 * another dialect.
 */
function fileUrlPart(url: unknown, path: string, reader: RequestReader): JsonObject {
  return { file_url: reader.text(url, path) };
}

function base64Url(source: JsonObject, path: string, reader: RequestReader): string {
  return writeDataUrl({
    mediaType: reader.name(source["media_type"], `${path}.media_type`),
    base64: reader.text(source["data"], `${path}.data`),
  });
}

function unsupportedSource(param: string, must: string, reader: RequestReader): JsonObject {
  reader.unsupported(
    param,
    must,
    "which has no access to Anthropic's files and fetches no documents",
  );
  return { type: "text", text: "" };
}
