/** Texts in percent form, as parts of URLs are. */

/** Null: the percent form is broken, or isn't of UTF-8. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
