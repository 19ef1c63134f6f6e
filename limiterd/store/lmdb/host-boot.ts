/** Identifies the host's current boot. */
import { readFileSync } from "node:fs";

/** A text that differs after each boot and is the same in all containers. */
export function hostBoot(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
