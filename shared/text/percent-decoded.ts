/** Percent-decoding, as for parts of URLs. */

/** Null if the encoding is invalid or isn't UTF-8. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
