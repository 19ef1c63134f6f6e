/** Writes more changes than one commit should hold. */
import { windowsPerSlice } from "../../shared/bounds.js";
import type { Change } from "./store.js";
import type { Writer } from "./writer.js";

/** Queues any number of changes in slices, in order, so that no commit stalls the event loop. */
export async function writeSlices(writer: Writer, changes: readonly Change[]): Promise<void> {
  const slices: Promise<void>[] = [];
  for (let i = 0; i < changes.length; i += windowsPerSlice)
    slices.push(writer.write(changes.slice(i, i + windowsPerSlice)));
  await Promise.all(slices);
}

/**
 * As `Writer.tryWrite`, for any number of changes, in slices and in order: after a crash, a prefix
 * of them is written.
 */
export function tryWriteSlices(writer: Writer, changes: readonly Change[]): Promise<Error | null> {
  let at = 0;
  for (; changes.length - at > windowsPerSlice; at += windowsPerSlice)
    void writer.write(changes.slice(at, at + windowsPerSlice));
  return writer.tryWrite(changes.slice(at));
}
