/**
 * What a request is charged for that only the request says: the characters to speak, and the
 * pictures with their quality and size.
 */
import { isCount, isObject, parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import {
  callsPerResponseMax,
  detailsOf,
  measurePerResponseMax,
  type UsageDetails,
} from "../../shared/usage/usage-details.js";
import type { RequestBody } from "../upstream/upstream.js";
import type { Usage } from "./usage.js";

const pictures: ReadonlySet<Operation | null> = new Set<Operation | null>([
  "images",
  "image_edits",
  "image_variations",
]);

/**
 * The usage with these units. The tokens of a picture that aren't detailed are all the picture's.
 */
export function withRequestedUnits(
  usage: Usage,
  operation: Operation | null,
  body: RequestBody | undefined,
): Usage {
  if (operation === "speech") {
    const characters = Array.from(textOf(fieldsOf(body)["input"])).length;
    return withCounts(usage, { characters: Math.min(characters, measurePerResponseMax) });
  }
  if (!pictures.has(operation)) return usage;
  const { n, quality, size } = fieldsOf(body);
  const images = isCount(n, 1) && n <= callsPerResponseMax ? n : 1;
  const kind = [quality, size].map(textOf).filter((text) => text !== "" && text !== "auto");
  const isDetailed = (usage.details?.counts.imageOutputTokens ?? 0) > 0;
  const imageOutputTokens = isDetailed ? {} : { imageOutputTokens: usage.outputTokens };
  return {
    ...withCounts(usage, { images, ...imageOutputTokens }),
    imageKind: kind.join("/").slice(0, 64),
  };
}

function withCounts(usage: Usage, more: Partial<UsageDetails["counts"]>): Usage {
  const { details } = usage;
  const { serviceTier = null, region = null, counts = {} } = details ?? {};
  return { ...usage, details: detailsOf(serviceTier, { ...counts, ...more }, region) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fieldsOf(body: RequestBody | undefined): Readonly<Record<string, unknown>> {
  const fields = Buffer.isBuffer(body) ? parseJson(body.toString("utf8")) : null;
  return isObject(fields) ? fields : {};
}
