/** Writes more changes than one commit should hold. */
import { windowsPerSlice } from "../../shared/bounds.js";
import type { Change } from "./store.js";
import type { Writer } from "./writer.js";

/**
 * Queues changes of any number in slices, in their order, so that none of their commits stalls the
 * loop.
 */
export async function writeSlices(writer: Writer, changes: readonly Change[]): Promise<void> {
  const slices: Promise<void>[] = [];
  for (let i = 0; i < changes.length; i += windowsPerSlice)
    slices.push(writer.write(changes.slice(i, i + windowsPerSlice)));
  await Promise.all(slices);
}
