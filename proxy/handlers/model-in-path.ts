/**
 * Requests whose path names the model, as Azure's and Google's do. The path wins; where a Gemini
 * body repeats the model, as in embeddings, it is replaced by the target's.
 */
import type { DefaultModel } from "../../shared/config/kinds/list-kinds.js";
import type { Operation } from "../../shared/operation.js";
import { applySplices } from "../body/edit-model-body.js";
import type { OtherModel } from "../body/model-body.js";
import { type JsonItem, type JsonMember, scanArray, scanObject } from "../body/scan-json.js";
import type { Exchange } from "../http/exchange.js";
import { wantsEvents } from "../upstream/upstream-path.js";

/** The model of the path, or the default of the operation. */
export function otherModel(
  operation: Operation,
  { modelInPath }: Pick<Exchange, "modelInPath">,
  defaults: readonly DefaultModel[],
): OtherModel | null {
  if (modelInPath !== null) return { name: modelInPath, isMeant: true };
  const name = defaultModel(operation, defaults);
  return name === null ? null : { name, isMeant: false };
}

/** OpenAI's own defaults, of the operations where its clients may omit the model. */
const openaiDefaults: ReadonlyMap<Operation, string> = new Map([
  ["moderations", "omni-moderation-latest"],
  ["images", "dall-e-2"],
  ["image_edits", "gpt-image-1.5"],
  ["image_variations", "dall-e-2"],
]);

/** `defaults`: those of the configuration, which take precedence. */
export function defaultModel(
  operation: Operation,
  defaults: readonly DefaultModel[],
): string | null {
  const own = defaults.find((each) => each.operation === operation);
  return own?.model ?? openaiDefaults.get(operation) ?? null;
}

/**
 * The body with this model in every place that names one; all other bytes stay the same. `members`:
 * of the body, or of the body before rewriting, for their names; if none can hold a model, returns
 * the same Buffer.
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
