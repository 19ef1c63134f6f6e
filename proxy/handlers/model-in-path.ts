/**
 * Requests whose path names the model, in Azure's way or Google's: it counts, and where a body in
 * Gemini's own dialect repeats it, as requests for embeddings do, it must be the target's too.
 */
import type { Operation } from "../../shared/operation.js";
import { applySplices } from "../body/edit-model-body.js";
import type { OtherModel } from "../body/model-body.js";
import { type JsonItem, type JsonMember, scanArray, scanObject } from "../body/scan-json.js";
import type { Exchange } from "../http/exchange.js";
import { wantsEvents } from "../upstream/upstream-path.js";

/** The model that the path names; or a default, where clients may leave it out. */
export function otherModel(
  operation: Operation,
  { modelInPath }: Pick<Exchange, "modelInPath">,
): OtherModel | null {
  if (modelInPath !== null) return { name: modelInPath, isMeant: true };
  return operation === "moderations" ? { name: "omni-moderation-latest", isMeant: false } : null;
}

/**
 * The body with this model in each place where it has one: a field may be there twice. All other
 * bytes are the same. `members`: of the body, or of what it was rewritten from, for their names; if
 * none of them can hold a model, the same Buffer is returned.
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

/** How a client that calls this wants its stream: Google's, without `alt=sse`, as one array. */
export function streamForm(operation: Operation, query: string): "events" | "array" {
  return operation === "stream_generate_content" && !wantsEvents(query) ? "array" : "events";
}

/** Google reads both spellings of a name. */
const innerNames = ["requests", "generateContentRequest", "generate_content_request"];
const holderNames = ["model", ...innerNames];

/** Where that API has a model in a body, in order. */
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
