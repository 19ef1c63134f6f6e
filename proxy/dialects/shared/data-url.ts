/** `data:` URLs in base64, in which chat completions carry images and files. */

interface DataUrl {
  /** The type in lower case, without parameters. */
  readonly mediaType: string;
  readonly base64: string;
}

/** Null for anything but a `data:` URL in base64. The provider checks the base64. */
export function readDataUrl(url: string): DataUrl | null {
  const comma = url.indexOf(",");
  if (comma === -1 || url.slice(0, 5).toLowerCase() !== "data:") return null;
  const [mediaType = "", ...parameters] = url.slice(5, comma).toLowerCase().split(";");
  return parameters.at(-1)?.trim() === "base64"
    ? { mediaType: mediaType.trim(), base64: url.slice(comma + 1) }
    : null;
}

/**
 * The media type of an image by its first bytes if they show it; otherwise the given type. Senders
 * often give wrong types, and `image/jpg` isn't a type.
 */
export function imageType({ mediaType, base64 }: DataUrl): string {
  const found = imageBeginnings.find(([beginning]) => beginning.test(base64));
  return found?.[1] ?? (mediaType === "image/jpg" ? "image/jpeg" : mediaType);
}

/** The first bytes of images, in base64. */
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

/** Names for documents without a title, because chat completions require a name. */
export const namelessPdf = "document.pdf";
export const namelessText = "document.txt";
