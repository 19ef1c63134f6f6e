/**
 * Requests whose path names the model, in Azure's way or Google's: it counts, and where a body in
 * Gemini's own dialect repeats it, as requests for embeddings do, it must be the target's too.
 */
import { jsonDepthMax } from "../../shared/bounds.js";
import { isObject } from "../../shared/checked.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { parseExactly, writeExactly } from "../body/exact-json.js";
import { nestedDeeperThan } from "../body/json-depth.js";
import type { OtherModel } from "../body/model-body.js";
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
 * Why a body in that dialect can't be sent: it would be written again, which recurses. To be asked
 * before its request is admitted. `fields`: what was parsed of it.
 */
export function googleProblem(bytes: Buffer, fields: unknown): Failure | null {
  return mayNameModel(bytes) && nestedDeeperThan(fields, jsonDepthMax)
    ? invalid(`the body must not be nested deeper than ${jsonDepthMax} levels`, "body")
    : null;
}

/**
 * The same Buffer, if it names no model. Any other is written again, whatever model it names: one
 * of its fields may be there twice.
 */
export function googleBody(bytes: Buffer, model: string): Buffer {
  if (!mayNameModel(bytes)) return bytes;
  const body = parseExactly(bytes.toString("utf8"));
  if (!isObject(body) || !holderNames.some((name) => name in body)) return bytes;
  const name = model.startsWith("tunedModels/") ? model : `models/${model}`;
  for (const holder of modelHolders(body)) if ("model" in holder) holder["model"] = name;
  return Buffer.from(writeExactly(body));
}

/** How a client that calls this wants its stream: Google's, without `alt=sse`, as one array. */
export function streamForm(operation: Operation, query: string): "events" | "array" {
  return operation === "stream_generate_content" && !wantsEvents(query) ? "array" : "events";
}

function mayNameModel(bytes: Buffer): boolean {
  return bytes.includes('"model"') || bytes.includes("\\u");
}

/** Google reads both spellings of a name. */
const holderNames = ["model", "requests", "generateContentRequest", "generate_content_request"];

type Holder = Record<string, unknown>;

/** Where that API has a model in a body. */
function modelHolders(body: Holder): readonly Holder[] {
  const inner = holderNames.slice(1).flatMap((name) => body[name]);
  return [body, ...inner].filter((value): value is Holder => isObject(value));
}
