/**
 * Requests of Gemini's API, whose path names the model: if a body repeats the name, as in
 * embeddings, it is replaced with that of the target's model. Also the form of that API's streams.
 */
import type { Operation } from "../../shared/operation.js";
import { applySplices } from "../body/edit-model-body.js";
import { type JsonItem, type JsonMember, scanArray, scanObject } from "../body/scan-json.js";
import { wantsEvents } from "../upstream/upstream-path.js";

/**
 * The body with this model in each place that names one; all other bytes stay. `members`: those of
 * the body, or of the body before rewriting, for their names; if none can contain a model, the same
 * Buffer is returned.
 */
export function googleBody(
  bytes: Buffer,
  model: string,
  members: readonly Pick<JsonMember, "key">[],
): Buffer {
  if (!members.some(({ key }) => holderNames.includes(key))) return bytes;
  const name = model.startsWith("tunedModels/") ? model : `models/${model}`;
  const text = JSON.stringify(name);
  const places = modelPlaces(bytes.toString("latin1"));
  return applySplices(
    bytes,
    places.map(({ start, end }) => ({ start, end, text })),
  );
}

/** The form of the client's stream: Google's clients without `alt=sse` expect one array. */
export function streamForm(operation: Operation, query: string): "events" | "array" {
  return operation === "stream_generate_content" && !wantsEvents(query) ? "array" : "events";
}

/** Google reads both spellings of a name. */
const innerNames = ["requests", "generateContentRequest", "generate_content_request"];
const holderNames = ["model", ...innerNames];

/** The positions of models in a Gemini body, in order. */
function modelPlaces(text: string): readonly JsonItem[] {
  return scanObject(text).flatMap((member) => {
    if (member.key === "model") return [member];
    if (!innerNames.includes(member.key)) return [];
    const holders = text[member.start] === "[" ? scanArray(text, member.start) : [member];
    return holders
      .filter(({ start }) => text[start] === "{")
      .flatMap(({ start }) => scanObject(text, start).filter(({ key }) => key === "model"));
  });
}
