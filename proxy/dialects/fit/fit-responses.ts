/**
 * A client's own request of the Responses API, without what its host refuses: fields that a known
 * host doesn't have; and of a conversation that began at another model, reasoning that Sluice has
 * kept for it and the signatures that it has put into ids of calls. All else goes as it came, byte
 * for byte.
 *
 * Not here: requests that ask for what the host hasn't got at all, which go there in another
 * dialect (`offeredTo`).
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent, isObject } from "../../../shared/checked.js";
import { parseBodyExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { RequestCheck } from "../shared/request-check.js";
import { readSignedId, signedMark } from "../shared/thought-signature.js";
import type { JsonObject } from "../shared/translation.js";
import { type TunedBody, type TunedTarget, withMembers } from "./fit-tuning.js";

/** In JSON, the beginning of all reasoning that Sluice has kept. */
const keptMark = '"sluice_';

/** Whether the body may have something of that. */
export function mayBeForeign({ provider }: TunedTarget, bytes: Buffer): boolean {
  if (provider.nativeRequests === "untouched") return false;
  const isIn = (text: string): boolean => bytes.includes(text);
  const { refusedFields } = provider.responses;
  return isIn(keptMark) || isIn(signedMark) || refusedFields.some((name) => isIn(`"${name}"`));
}

/** Null if it has none of it. */
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

/** What a host without the field does anyway. */
function isDefault(name: string, value: unknown): boolean {
  if (isAbsent(value)) return true;
  if (name === "store") return value === false;
  return name === "truncation" ? value === "disabled" : Array.isArray(value) && value.length === 0;
}

/** Its models can't read it, and refuse what they haven't encrypted. */
function isKeptReasoning(item: unknown, check: RequestCheck): boolean {
  if (!isObject(item) || item["type"] !== "reasoning") return false;
  const { encrypted_content: encrypted } = item;
  if (typeof encrypted !== "string" || !encrypted.startsWith(keptMark.slice(1))) return false;
  check.drop("input[]", "must be of the model", "input[] (reasoning)");
  return true;
}

/** The same object, if its call has no signature in its id. */
function withOwnId(item: unknown): unknown {
  if (!isObject(item) || typeof item["call_id"] !== "string") return item;
  const { id } = readSignedId(item["call_id"]);
  return id === item["call_id"] ? item : ({ ...item, call_id: id } satisfies JsonObject);
}
