/**
 * Fits a client's own request to a provider of the same dialect: to what its host is known to
 * refuse and, if the client hasn't named this model (a virtual model, an alias, a failover), to
 * what the model refuses. All other fields stay byte for byte.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { scanObject } from "../../body/scan-json.js";
import { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { callIdsStep } from "./call-ids-for-anthropic.js";
import { googleModelStep } from "./fit-google.js";
import { messagesModelStep, otherMessagesStep } from "./fit-messages.js";
import { encryptedReasoningStep, hostResponsesStep, responsesModelStep } from "./fit-responses.js";
import { chatStep, type FitStep, type FitTarget } from "./fit-tuning.js";
import { signedStep } from "./signed-for-anthropic.js";

interface FittedBody {
  readonly bytes: Buffer;
  /** Fields whose absence may change the answer. */
  readonly dropped: readonly string[];
}

/** `bytes`: a valid body of the operation. Empty if the target accepts it unchanged. */
export function fitSteps(
  operation: Operation,
  target: FitTarget,
  bytes: Buffer,
): readonly FitStep[] {
  return stepsOf(operation, target, bytes).filter((step) => step !== null);
}

function stepsOf(
  operation: Operation,
  target: FitTarget,
  bytes: Buffer,
): readonly (FitStep | null)[] {
  switch (operation) {
    case "chat_completions":
      return [chatStep(target, bytes)];
    case "messages":
    case "count_tokens":
      return [
        otherMessagesStep(target),
        signedStep(target, bytes),
        callIdsStep(target, bytes),
        messagesModelStep(target, bytes),
      ];
    case "responses":
    case "compact":
    case "input_tokens":
      return [
        hostResponsesStep(target, bytes),
        responsesModelStep(target, bytes),
        encryptedReasoningStep(target, bytes),
      ];
    case "generate_content":
    case "stream_generate_content":
      return [googleModelStep(target, bytes)];
    default:
      return [];
  }
}

/** Null if nothing changes, or if the body can't be fitted; then the provider checks it. */
export function fittedBody(bytes: Buffer, steps: readonly FitStep[]): FittedBody | null {
  const body = parseBodyExactly(bytes.toString("utf8"));
  if (!isObject(body) || nestedDeeperThan(body, jsonDepthMax)) return null;
  const check = new RequestCheck(false);
  const fitted = steps.reduce((before, step) => step(before, check), body);
  const names = new Set([...Object.keys(body), ...Object.keys(fitted)]);
  const changed = [...names].filter((name) => fitted[name] !== body[name]);
  const result = check.result(fitted);
  return changed.length === 0 || !result.ok
    ? null
    : { bytes: withMembers(bytes, changed, fitted), dropped: result.dropped };
}

/** A body with these fields replaced or removed. All other fields keep every byte. */
function withMembers(body: Buffer, names: readonly string[], values: JsonObject): Buffer {
  const text = body.toString("utf8");
  const members = scanObject(text)
    .filter(({ key }) => !names.includes(key))
    .map(({ key, start, end }) => `${JSON.stringify(key)}:${text.slice(start, end)}`);
  for (const name of names)
    if (values[name] !== undefined)
      members.push(`${JSON.stringify(name)}:${writeExactly(values[name])}`);
  return Buffer.from(`{${members.join(",")}}`);
}
