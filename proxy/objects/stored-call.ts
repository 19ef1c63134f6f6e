/** Whether a call makes something that its provider keeps. */
import type { Operation } from "../../shared/operation.js";
import { scanObject } from "../body/scan-json.js";

interface Call {
  readonly operation: Operation;
  readonly body: Buffer | null;
}

/** Whether the provider keeps the answer, as OpenAI does with responses unless told otherwise. */
export function isStoredCall({ operation, body }: Call): boolean {
  if (operation !== "responses" || body === null) return false;
  const text = body.toString("latin1");
  if (!text.includes("false")) return true;
  // One that is given twice may be read either way: remembering too much does no harm.
  const stores = scanObject(text).filter(({ key }) => key === "store");
  return !(
    stores.length > 0 && stores.every(({ start, end }) => text.slice(start, end) === "false")
  );
}
