/**
 * The fields of an object of Gemini's own API. Its servers read JSON as protocol buffers do: each
 * name in camel case, or with underscores. Not for objects whose names are the client's own, such
 * as the arguments of a call.
 */
import type { JsonObject } from "../translation/translation.js";

/** The same object, if all of its names are in camel case already. */
export function camelFields(object: JsonObject): JsonObject {
  for (const name in object) if (name.includes("_")) return renamed(object);
  return object;
}

/** `_responseJsonSchema` is the older name of `responseJsonSchema`. */
function renamed(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name.replace(/^_/, "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
