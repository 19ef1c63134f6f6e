/**
 * The token counts that an upstream reports. They come from outside and are charged to limits, so each
 * is checked: nonsense is named, logged by the caller, and not charged.
 *
 * Not here: finding the `usage` object in an answer or a stream, and guessing when there is none.
 */
import { isCount } from "../shared/assert.js";
import { tokensPerResponseMax } from "../shared/bounds.js";
import { show } from "../shared/rule.js";

export type UsageReading =
  | { readonly kind: "usage"; readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number }
  | { readonly kind: "absent" }
  | { readonly kind: "absurd"; readonly reason: string };

/** The one reading of "there is none", so that streams don't make a new one for each chunk. */
export const absentUsage: UsageReading = { kind: "absent" };

/**
 * Reads the value of `usage` in a chat completion or in a chunk of one. A sane `total_tokens` is the
 * total, whatever its parts say; otherwise the sum of `prompt_tokens` and `completion_tokens` (or
 * `input_tokens` and `output_tokens`), a missing one being 0. A total of 0 beside parts that aren't is
 * not sane: some upstreams leave it unset.
 */
export function readUsage(usage: unknown): UsageReading {
  if (usage === undefined || usage === null) return absentUsage;
  if (typeof usage !== "object" || Array.isArray(usage)) return absurd("usage", usage);
  const fields = usage as Readonly<Record<string, unknown>>;
  const input = fields["prompt_tokens"] ?? fields["input_tokens"];
  const output = fields["completion_tokens"] ?? fields["output_tokens"];
  const total = fields["total_tokens"];
  if (isAbsent(input) && isAbsent(output) && isAbsent(total)) return absentUsage;
  const inputTokens = isSane(input) ? input : 0;
  const outputTokens = isSane(output) ? output : 0;
  if (isSane(total) && (total > 0 || inputTokens + outputTokens === 0)) return { kind: "usage", inputTokens, outputTokens, totalTokens: total };
  if (isAbsent(input) && isAbsent(output)) return absurd("total_tokens", total);
  if (!isAbsent(input) && !isSane(input)) return absurd("prompt_tokens", input);
  if (!isAbsent(output) && !isSane(output)) return absurd("completion_tokens", output);
  const totalTokens = inputTokens + outputTokens;
  return isSane(totalTokens) ? { kind: "usage", inputTokens, outputTokens, totalTokens } : absurd("the sum of prompt_tokens and completion_tokens", totalTokens);
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function isSane(value: unknown): value is number {
  return isCount(value) && value <= tokensPerResponseMax;
}

function absurd(name: string, value: unknown): UsageReading {
  return { kind: "absurd", reason: `${name} must be an integer from 0 to ${tokensPerResponseMax}, not ${show(value)}` };
}
