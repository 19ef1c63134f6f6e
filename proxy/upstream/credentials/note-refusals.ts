/** Tells a provider's keys how it answered one of them. */
import { readRetryAfterMs } from "../retry-wait.js";
import { type ProviderKeys, refusesKey } from "./provider-keys.js";

/** For the head of an answer. It is made here so that it keeps nothing of its call in memory. */
export function noteRefusals(
  keys: ProviderKeys,
  key: string,
): (status: number, rawHeaders: readonly (Buffer | string)[]) => void {
  return (status, rawHeaders) => {
    if (refusesKey(status)) keys.refused(key, status, readRetryAfterMs(rawHeaders));
  };
}
