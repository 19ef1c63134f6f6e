/**
 * What a client has tuned for one model, fitted to another of the same dialect: a virtual model may
 * send a request to a model that the client hasn't named. Only fields of chat completions that
 * providers refuse at some models; messages and tools go as they came.
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { parseJson } from "../body/json-value.js";
import { scanObject } from "../body/scan-json.js";
import { RequestCheck } from "./translation/request-check.js";
import type { JsonObject } from "./translation/translation.js";
import { fitChatTuning } from "./variants/fit-chat-request.js";
import { chatTraitsOf } from "./variants/target-traits.js";

interface TunedBody {
  readonly bytes: Buffer;
  /** Fields whose absence may change the answer. */
  readonly dropped: readonly string[];
}

const tuningFields = [
  "reasoning_effort",
  "temperature",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "max_tokens",
  "max_completion_tokens",
];

/**
 * A body of chat completions, which is valid. Null: the model takes it as it is, or the operator
 * wants nothing left out.
 */
export function tunedFor(provider: ProviderConfig, model: string, body: Buffer): TunedBody | null {
  if (provider.translation === "strict") return null;
  // Most requests have none of them, and needn't be parsed for it.
  if (!tuningFields.some((name) => body.includes(`"${name}"`))) return null;
  const tuning = tuningIn(parseJson(body.toString("latin1")));
  const check = new RequestCheck(false);
  const traits = chatTraitsOf(provider, model);
  const result = check.result(fitChatTuning(tuning, provider.chat.maxTokensField, traits, check));
  if (!result.ok) return null;
  const { body: fitted, dropped } = result;
  const names = new Set([...Object.keys(tuning), ...Object.keys(fitted)]);
  const changed = [...names].filter((name) => fitted[name] !== tuning[name]);
  return changed.length === 0 ? null : { bytes: withFields(body, changed, fitted), dropped };
}

/** A body with other values of these fields, or without them; all others keep every byte. */
function withFields(body: Buffer, names: readonly string[], values: JsonObject): Buffer {
  const text = body.toString("latin1");
  const members = scanObject(text)
    .filter(({ key }) => !names.includes(key))
    .map(({ key, start, end }) => `${JSON.stringify(key)}:${text.slice(start, end)}`);
  for (const name of names)
    if (values[name] !== undefined)
      members.push(`${JSON.stringify(name)}:${JSON.stringify(values[name])}`);
  return Buffer.from(`{${members.join(",")}}`, "latin1");
}

function tuningIn(body: unknown): JsonObject {
  const fields = isObject(body) ? body : {};
  const tuning: Record<string, unknown> = {};
  for (const name of tuningFields) if (!isAbsent(fields[name])) tuning[name] = fields[name];
  // Which tools there are doesn't matter.
  if (!isAbsent(fields["tools"])) tuning["tools"] = true;
  return tuning;
}
