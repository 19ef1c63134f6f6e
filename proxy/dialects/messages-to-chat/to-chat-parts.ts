/** Anthropic's content blocks as the content of chat messages. */
import { isAbsent } from "../../../shared/assert.js";
import { namelessPdf, namelessText, writeDataUrl } from "../translation/data-url.js";
import type { FieldTable } from "../translation/field-table.js";
import type { Refusals } from "../translation/refusals.js";
import type { JsonObject } from "../translation/translation.js";
import {
  messagesDocumentFields,
  messagesImageFields,
  messagesTextFields,
} from "./messages-fields.js";

const blocks: ReadonlyMap<
  unknown,
  {
    readonly fields: FieldTable;
    readonly part: (block: JsonObject, at: string, refusals: Refusals) => JsonObject;
  }
> = new Map([
  ["text", { fields: messagesTextFields, part: textPart }],
  ["image", { fields: messagesImageFields, part: imagePart }],
  ["document", { fields: messagesDocumentFields, part: filePart }],
]);

/**
 * What may stand where, for the messages; only in the user's turns and in results it is more than
 * text that becomes a part.
 */
const supported = {
  user: "text, image, document or tool_result",
  result: "text, image or document",
  assistant: "text, thinking or tool_use",
  system: "text",
} as const;

/** One block as a part. A block of another type gives an empty text, and a refusal. */
export function toChatPart(
  block: JsonObject,
  where: keyof typeof supported,
  at: string,
  refusals: Refusals,
): JsonObject {
  const textOnly = where === "assistant" || where === "system";
  const known = textOnly && block["type"] !== "text" ? undefined : blocks.get(block["type"]);
  if (known === undefined) {
    refusals.unsupported(
      `${at}.type`,
      `must be ${supported[where]}`,
      "which has nothing else there",
    );
    return { type: "text", text: "" };
  }
  refusals.fields(block, known.fields, `${at}.`);
  return known.part(block, at, refusals);
}

/** A single text stands alone, as most clients write it and some providers want it. */
export function chatContent(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first["type"] === "text" ? (first["text"] as string) : parts;
}

/** Content that holds nothing but texts. */
export function toChatTexts(
  content: unknown,
  at: string,
  refusals: Refusals,
): string | readonly JsonObject[] {
  const given = refusals.content(content, at);
  if (typeof given === "string") return given;
  return chatContent(
    given.map((block, i) =>
      toChatPart(refusals.object(block, `${at}[${i}]`), "system", `${at}[${i}]`, refusals),
    ),
  );
}

function textPart(block: JsonObject, at: string, refusals: Refusals): JsonObject {
  return { type: "text", text: refusals.text(block["text"], `${at}.text`) };
}

function imagePart(block: JsonObject, at: string, refusals: Refusals): JsonObject {
  const source = refusals.object(block["source"], `${at}.source`);
  switch (source["type"]) {
    case "url":
      return {
        type: "image_url",
        image_url: { url: refusals.text(source["url"], `${at}.source.url`) },
      };
    case "base64":
      return { type: "image_url", image_url: { url: base64Url(source, `${at}.source`, refusals) } };
    default:
      return notHeld(`${at}.source.type`, "must be base64 or url", refusals);
  }
}

function filePart(block: JsonObject, at: string, refusals: Refusals): JsonObject {
  const source = refusals.object(block["source"], `${at}.source`);
  const title = isAbsent(block["title"]) ? "" : refusals.text(block["title"], `${at}.title`);
  switch (source["type"]) {
    case "base64":
      return {
        type: "file",
        file: {
          filename: title === "" ? namelessPdf : title,
          file_data: base64Url(source, `${at}.source`, refusals),
        },
      };
    case "text": {
      const base64 = Buffer.from(
        refusals.text(source["data"], `${at}.source.data`),
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
    default:
      return notHeld(`${at}.source.type`, "must be base64 or text", refusals);
  }
}

function base64Url(source: JsonObject, at: string, refusals: Refusals): string {
  return writeDataUrl({
    mediaType: refusals.name(source["media_type"], `${at}.media_type`),
    base64: refusals.text(source["data"], `${at}.data`),
  });
}

function notHeld(param: string, must: string, refusals: Refusals): JsonObject {
  refusals.unsupported(
    param,
    must,
    "which doesn't have the files of Anthropic, and fetches no documents",
  );
  return { type: "text", text: "" };
}
