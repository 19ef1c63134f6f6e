/**
 * Removes from a client's own request of the Responses API what its host refuses: fields that a
 * known host doesn't have; and, if the conversation began at another model, the reasoning that
 * Sluice kept for that model and the signatures that it put into call ids. All other fields stay
 * byte for byte.
 *
 * Not here: requests that need features that the host lacks, which go there in another dialect
 * (`offeredTo`).
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent, isObject } from "../../../shared/checked.js";
import { parseBodyExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { RequestCheck } from "../shared/request-check.js";
import { readSignedId, signedMark } from "../shared/thought-signature.js";
import type { JsonObject } from "../shared/translation.js";
import { type TunedBody, type TunedTarget, withMembers } from "./fit-tuning.js";

/** The beginning, in JSON, of all reasoning that Sluice keeps. */
const keptMark = '"sluice_';

/** Whether the body may contain something to remove. */
export function mayBeForeign({ provider }: TunedTarget, bytes: Buffer): boolean {
  if (provider.nativeRequests === "untouched") return false;
  const isIn = (text: string): boolean => bytes.includes(text);
  const { refusedFields } = provider.responses;
  return isIn(keptMark) || isIn(signedMark) || refusedFields.some((name) => isIn(`"${name}"`));
}

/** Null if there is nothing to remove. */
export function responsesForHost(target: TunedTarget, bytes: Buffer): TunedBody | null {
  if (!mayBeForeign(target, bytes)) return null;
  const body = parseBodyExactly(bytes.toString("latin1"));
  if (!isObject(body) || nestedDeeperThan(body, jsonDepthMax)) return null;
  const check = new RequestCheck(false);
  const out: Record<string, unknown> = { ...body };
  for (const name of target.provider.responses.refusedFields) {
    if (body[name] === undefined) continue;
    if (!isDefault(name, body[name]))
      check.drop(name, "must be left out: the provider has no such field");
    delete out[name];
  }
  const { input } = body;
  if (Array.isArray(input)) {
    const items = input.filter((item) => !isKeptReasoning(item, check)).map(withOwnId);
    if (items.length !== input.length || items.some((item, i) => item !== input[i]))
      out["input"] = items;
  }
  const changed = Object.keys(body).filter((name) => out[name] !== body[name]);
  const result = check.result(out);
  return changed.length === 0 || !result.ok
    ? null
    : { bytes: withMembers(bytes, changed, out), dropped: result.dropped };
}

/** Whether the value is what a host without the field does anyway. */
function isDefault(name: string, value: unknown): boolean {
  if (isAbsent(value)) return true;
  if (name === "store") return value === false;
  return name === "truncation" ? value === "disabled" : Array.isArray(value) && value.length === 0;
}

/**
 * Whether an item is reasoning that Sluice kept. The host's models can't read it, and refuse
 * reasoning that they haven't encrypted.
 */
function isKeptReasoning(item: unknown, check: RequestCheck): boolean {
  if (!isObject(item) || item["type"] !== "reasoning") return false;
  const { encrypted_content: encrypted } = item;
  if (typeof encrypted !== "string" || !encrypted.startsWith(keptMark.slice(1))) return false;
  check.drop("input[]", "must be of the model", "input[] (reasoning)");
  return true;
}

/** The same object if the call's id has no signature. */
function withOwnId(item: unknown): unknown {
  if (!isObject(item) || typeof item["call_id"] !== "string") return item;
  const { id } = readSignedId(item["call_id"]);
  return id === item["call_id"] ? item : ({ ...item, call_id: id } satisfies JsonObject);
}
