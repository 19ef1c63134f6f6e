/** `data:` URLs with base64, in which chat completions carry images and files. */

interface DataUrl {
  /** In lower case, without parameters. */
  readonly mediaType: string;
  readonly base64: string;
}

/** Null for anything but a `data:` URL in base64. The provider checks the base64 itself. */
export function readDataUrl(url: string): DataUrl | null {
  const comma = url.indexOf(",");
  if (comma === -1 || url.slice(0, 5).toLowerCase() !== "data:") return null;
  const [mediaType = "", ...parameters] = url.slice(5, comma).toLowerCase().split(";");
  return parameters.at(-1)?.trim() === "base64"
    ? { mediaType: mediaType.trim(), base64: url.slice(comma + 1) }
    : null;
}

/**
 * The media type of an image by its first bytes, where they tell; else the given one. Senders name
 * types wrongly, and `image/jpg` is none.
 */
export function imageType({ mediaType, base64 }: DataUrl): string {
  const found = imageBeginnings.find(([beginning]) => beginning.test(base64));
  return found?.[1] ?? (mediaType === "image/jpg" ? "image/jpeg" : mediaType);
}

/** In base64. */
const imageBeginnings: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, "image/jpeg"],
  [/^iVBORw0KGg/, "image/png"],
  [/^R0lGOD/, "image/gif"],
  [/^UklGR.{6}XRUJQ/, "image/webp"],
];

export function writeDataUrl({ mediaType, base64 }: DataUrl): string {
  return `data:${mediaType};base64,${base64}`;
}

export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/** The names of documents without a title: chat completions require one. */
export const namelessPdf = "document.pdf";
export const namelessText = "document.txt";
