/**
 * The operator's overrides for requests to a model (docs/reference/configuration.md, `per_model`),
 * and a body with the overridden fields. The body is in the provider's dialect.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { type ModelOverrides, tunedOperations } from "../../shared/config/model-overrides.js";
import type { Operation } from "../../shared/operation.js";
import { type JsonMember, scanObject } from "../body/scan-json.js";
import { namesModel } from "./fit/target-traits.js";

/** The first entry for the model and the operation, or null. */
export function overridesFor(
  { perModel }: Pick<ProviderConfig, "perModel">,
  model: string,
  operation: Operation,
): ModelOverrides | null {
  const name = model.toLowerCase();
  const match = perModel.find(
    ({ models, operations }) =>
      (operations === null || operations.includes(operation)) &&
      models.some((pattern) => namesModel(pattern, name)),
  );
  return match ?? null;
}

interface OverriddenBody {
  readonly bytes: Buffer;
  /** Fields of the request that were left out. */
  readonly dropped: readonly string[];
}

interface OverridableRequest {
  readonly operation: Operation;
  readonly body: Buffer;
  readonly dropped: readonly string[];
}

/** A request with the operator's overrides: the same object, changed. */
export function overrideRequest<R extends OverridableRequest>(
  request: R,
  provider: Pick<ProviderConfig, "perModel">,
  model: string,
): R {
  const { operation, body, dropped } = request;
  const overrides = overridesFor(provider, model, operation);
  const overridden = overrides === null ? null : overriddenBody(overrides, operation, body);
  if (overridden === null) return request;
  return Object.assign(request, {
    body: overridden.bytes,
    dropped: [...dropped, ...overridden.dropped],
  });
}

const tuned: readonly string[] = tunedOperations;

/** `body` is a valid JSON object. Null if nothing in it changes. */
function overriddenBody(
  { set, defaults, drop }: ModelOverrides,
  operation: Operation,
  body: Buffer,
): OverriddenBody | null {
  if (!tuned.includes(operation) || set.length + defaults.length + drop.length === 0) return null;
  const text = body.toString("utf8");
  const members = scanObject(text);
  const present = new Set(members.filter((member) => !isNull(text, member)).map(({ key }) => key));
  const added = [...set, ...defaults.filter(({ name }) => !present.has(name))];
  const removed = new Set([...added.map(({ name }) => name), ...drop]);
  const dropped = drop.filter((name) => present.has(name));
  if (added.length === 0 && !members.some(({ key }) => removed.has(key))) return null;
  const remaining = members
    .filter(({ key }) => !removed.has(key))
    .map(({ key, start, end }) => `${JSON.stringify(key)}:${text.slice(start, end)}`);
  const all = [...remaining, ...added.map(({ name, json }) => `"${name}":${json}`)];
  return { bytes: Buffer.from(`{${all.join(",")}}`), dropped };
}

function isNull(text: string, { start, end }: JsonMember): boolean {
  return end - start === 4 && text.startsWith("null", start);
}
