/** How much memory this process may use, as far as the system says. */
import { totalmem } from "node:os";
import { constrainedMemory } from "node:process";

/** The limit of its control group, or else what the machine has. */
export function memoryLimit(): number {
  const limit = constrainedMemory();
  // 0 where it isn't known; without a limit it is larger than any memory.
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
