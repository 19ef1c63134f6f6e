/** The mappings and lists of the schema of `sluice.yaml`. */
import type { JsonSchema } from "../kinds/value-kind.js";

export type Properties = Readonly<Record<string, JsonSchema>>;

/** A mapping of these keys and no others; an empty one may be left out. */
export function mapping(properties: Properties, required: readonly string[] = []): JsonSchema {
  return {
    type: required.length === 0 ? ["object", "null"] : "object",
    ...(required.length === 0 ? {} : { required }),
    properties,
    additionalProperties: false,
  };
}

/** One that must have an item can't be empty. */
export function listOf(
  items: JsonSchema,
  { min = 0, max }: { readonly min?: number; readonly max?: number } = {},
): JsonSchema {
  return {
    type: min === 0 ? ["array", "null"] : "array",
    ...(min === 0 ? {} : { minItems: min }),
    ...(max === undefined ? {} : { maxItems: max }),
    items,
  };
}
