/** A followed record as a line of NDJSON: the fields of an export, and whose record it is. Pure. */
import type { Batch } from "./sink.js";

export function recordLines({ records, storeId, host }: Batch): string {
  return records
    .map((record) => `${JSON.stringify({ store_id: storeId, host, ...record })}\n`)
    .join("");
}
