/**
 * Requests whose path names the model, in Azure's way or Google's: it counts, and where a body in
 * Gemini's own dialect repeats it, as requests for embeddings do, it must be the target's too.
 */
import { isObject } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { parseBodyExactly, writeExactly } from "../body/exact-json.js";
import type { OtherModel } from "../body/model-body.js";
import type { Exchange } from "../http/exchange.js";

/** The model that the path names; or a default, where clients may leave it out. */
export function otherModel(
  operation: Operation,
  { modelInPath }: Pick<Exchange, "modelInPath">,
): OtherModel | null {
  if (modelInPath !== null) return { name: modelInPath, isMeant: true };
  return operation === "moderations" ? { name: "omni-moderation-latest", isMeant: false } : null;
}

/** The same Buffer, if it names no model. */
export function googleBody(bytes: Buffer, model: string): Buffer {
  const text = bytes.toString("latin1");
  if (!text.includes('"model"') && !text.includes("\\u")) return bytes;
  const body = parseBodyExactly(bytes.toString("utf8"));
  const name = model.startsWith("tunedModels/") ? model : `models/${model}`;
  let isChanged = false;
  for (const holder of modelHolders(body)) {
    if (holder["model"] === undefined || holder["model"] === name) continue;
    holder["model"] = name;
    isChanged = true;
  }
  return isChanged ? Buffer.from(writeExactly(body)) : bytes;
}

type Holder = Record<string, unknown>;

/** Where that API has a model in a body. */
function modelHolders(body: unknown): readonly Holder[] {
  if (!isObject(body)) return [];
  const { requests, generateContentRequest } = body;
  const inner = Array.isArray(requests) ? (requests as readonly unknown[]) : [];
  return [body, generateContentRequest, ...inner].filter((value): value is Holder =>
    isObject(value),
  );
}
