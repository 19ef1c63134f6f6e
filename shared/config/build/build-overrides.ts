/** What the operator says of requests to a provider's models, from the entries of the file. */
import { type DeclaredProvider, validFields } from "../file/config-file.js";
import type { ModelOverrides } from "../model-overrides.js";

export function buildOverrides(
  { at, perModel }: Pick<DeclaredProvider, "at" | "perModel">,
  problems: string[],
): readonly ModelOverrides[] {
  return perModel.flatMap(({ fields }, index): ModelOverrides[] => {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    const { set, defaults, drop } = valid;
    const given = [
      ["set", (set ?? []).map(({ name }) => name)],
      ["defaults", (defaults ?? []).map(({ name }) => name)],
      ["drop", drop ?? []],
    ] as const;
    const first = new Map<string, string>();
    for (const [key, names] of given)
      for (const name of names) {
        const earlier = first.get(name);
        if (earlier !== undefined)
          problems.push(
            `${at}.per_model[${index}].${key} names ${name}, which ${earlier} names too: keep one of them`,
          );
        first.set(name, earlier ?? key);
      }
    return [
      {
        models: valid.models ?? [],
        operations: valid.operations,
        firstByteTimeoutMs: valid.first_byte_timeout_ms,
        totalTimeoutMs: valid.total_timeout_ms,
        set: set ?? [],
        defaults: defaults ?? [],
        drop: drop ?? [],
      },
    ];
  });
}
