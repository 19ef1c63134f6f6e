/** Whether a call makes something that its provider keeps. */
import type { Operation } from "../../shared/operation.js";
import type { NamedValues } from "../body/scan-json.js";

interface Call extends NamedValues {
  readonly operation: Operation;
}

/** Whether the provider keeps the answer, as OpenAI does with responses unless told otherwise. */
export function isStoredCall(call: Call): boolean {
  if (call.operation !== "responses") return false;
  // One that is given twice may be read either way: remembering too much does no harm.
  const stores = call.valuesOf("store");
  return stores.length === 0 || stores.some((value) => value !== "false");
}

/** Whether the provider is to go on with it though its client has left. */
export function isBackgroundCall(call: Call): boolean {
  return (
    call.operation === "responses" && call.valuesOf("background").some((value) => value === "true")
  );
}
