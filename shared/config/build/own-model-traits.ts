/** What the operator says of a provider's models, from the entries of the file. */
import { type DeclaredProvider, validFields } from "../file/config-file.js";
import type { OwnModelTraits } from "../model-traits.js";

export function ownModelTraits(
  declared: DeclaredProvider["modelTraits"],
): readonly OwnModelTraits[] {
  return declared.flatMap(({ fields }): OwnModelTraits[] => {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    return [
      {
        models: valid.models ?? [],
        like: valid.like,
        outputTokensMax: valid.max_output_tokens,
        efforts: valid.efforts,
        reasoningWithTools: valid.reasoning_with_tools,
        sampling: valid.sampling,
        thinking: valid.thinking,
        takesOutputSchema: valid.output_schema,
        takesImages: valid.images,
        takesForcedCalls: valid.forced_calls,
      },
    ];
  });
}
