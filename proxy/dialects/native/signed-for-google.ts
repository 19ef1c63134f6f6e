/**
 * A body of Gemini's own API for a model of Google's: what Sluice has put into signatures, for the
 * thinking of other models, becomes the word that Google gives for calls of other models.
 *
 * Source: ai.google.dev, "Thought signatures", and gemini-cli, which sends it.
 */
import { signatureOfOthers } from "../translation/thought-signature.js";

/** In base64, the beginning of every signature that Sluice has written. */
const own = "c2x1aWNlX3";
const ownSignature = new RegExp(`("thought(?:S|_s)ignature"\\s*:\\s*")${own}[^"]*"`, "g");

/** The same Buffer, if it has none. A quote in a text is escaped, so what is found is a field. */
export function signedForGoogle(body: Buffer): Buffer {
  if (!body.includes(own)) return body;
  const text = body.toString("latin1").replace(ownSignature, `$1${signatureOfOthers}"`);
  return Buffer.from(text, "latin1");
}
