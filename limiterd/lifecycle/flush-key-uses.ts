/**
 * Writes when keys were last used, a slice at a call: each at most once in `keyUseWrittenMs`,
 * however many requests call with it. Nobody waits for it; a crash loses as much of it.
 */
import { keyUsesPerFlush } from "../../shared/domain/credential-bounds.js";
import { keyChange } from "../keys/stored-key.js";
import type { DaemonState } from "../state.js";
import { writeSlices } from "../store/write-slices.js";

export function flushKeyUses(
  { keys, writer }: Pick<DaemonState, "keys" | "writer">,
  count = keyUsesPerFlush,
): void {
  // What waits for a store that fails needn't grow.
  if (writer.failing !== null) return;
  void writeSlices(writer, keys.takeUsed(count).map(keyChange));
}
