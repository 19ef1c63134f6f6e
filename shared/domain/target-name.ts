/** A target as people read it: in answers, headers, logs and tables. Pure. */
import type { Target } from "../wire/message.js";

/** `provider/model`; `provider/-` for a request that names no model. */
export function targetName({ provider, model }: Target): string {
  return `${provider}/${model === "" ? "-" : model}`;
}
