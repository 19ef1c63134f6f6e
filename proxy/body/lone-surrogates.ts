/**
 * Removes lone surrogates: halves of characters, from agents that cut a text in the middle of an
 * emoji. JSON's escapes can represent them, UTF-8 can't. Anthropic refuses a request that contains
 * one, and so every later turn of its conversation.
 */

/** Matches an escape: a whole character of two halves, a lone half, or anything else. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

/**
 * The body with U+FFFD in place of each lone half; the same Buffer if it has none. `bytes`: JSON.
 */
export function withoutLoneSurrogates(bytes: Buffer): Buffer {
  if (!bytes.includes("\\ud") && !bytes.includes("\\uD")) return bytes;
  let isChanged = false;
  const text = bytes.toString("latin1").replace(escapes, (match, half?: string) => {
    if (half === undefined) return match;
    isChanged = true;
    return "\\ufffd";
  });
  return isChanged ? Buffer.from(text, "latin1") : bytes;
}
