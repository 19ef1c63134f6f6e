/** Which boot of the host this is. */
import { readFileSync } from "node:fs";

/** A text that is another one after each boot; the same in all containers. */
export function hostBoot(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
