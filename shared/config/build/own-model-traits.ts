/** What the operator says of a provider's models, from the entries of the file. */
import type { Operation } from "../../operation.js";
import { type DeclaredProvider, validFields } from "../file/config-file.js";
import type { OwnModelTraits } from "../model-traits.js";

export function ownModelTraits(
  { at, modelTraits }: Pick<DeclaredProvider, "at" | "modelTraits">,
  operations: ReadonlySet<Operation>,
  problems: string[],
): readonly OwnModelTraits[] {
  return modelTraits.flatMap(({ fields }, index): OwnModelTraits[] => {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) return [];
    if (valid.reasoning_with_tools === "responses" && !operations.has("responses"))
      problems.push(
        `${at}.model_traits[${index}].reasoning_with_tools must not be responses: the provider's operations are without responses`,
      );
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
