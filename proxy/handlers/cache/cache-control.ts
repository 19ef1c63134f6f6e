/**
 * The directives of a request for the response cache, in its `Cache-Control` header (RFC 9111
 * section 5.2.1).
 */

interface CacheControl {
  /** The largest acceptable age; 0 for a fresh answer. */
  readonly ageMsMax: number;
  /** Whether the answer may be stored. */
  readonly store: boolean;
}

const unrestricted: CacheControl = { ageMsMax: Infinity, store: true };

/**
 * Reads `no-store`, `no-cache` and `max-age`, and ignores other directives. An invalid or repeated
 * `max-age` requests a fresh answer.
 */
export function readCacheControl(header: string | undefined): CacheControl {
  if (header === undefined) return unrestricted;
  let ageMsMax = Infinity;
  let store = true;
  for (const piece of header.split(",")) {
    const [name = "", value = ""] = piece.toLowerCase().split("=", 2).map(trimmed);
    if (name === "no-store") {
      store = false;
      ageMsMax = 0;
    } else if (name === "no-cache") ageMsMax = 0;
    else if (name === "max-age")
      ageMsMax =
        ageMsMax === Infinity && /^"?\d{1,15}"?$/.test(value)
          ? Number(value.replaceAll('"', "")) * 1000
          : 0;
  }
  return { ageMsMax, store };
}

function trimmed(text: string): string {
  return text.trim();
}
