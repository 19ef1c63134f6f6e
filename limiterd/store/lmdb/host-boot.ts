/** Identifies the host's current boot. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

const unknownBoot = randomUUID();

/**
 * A text that differs after each boot and is the same in all containers. Without Linux's `/proc` it
 * differs in each process, as if the host had booted since: a start then checks the whole store.
 */
export function hostBoot(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return unknownBoot;
  }
}
