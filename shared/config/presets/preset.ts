/**
 * A provider that Sluice knows by name, and the names of its variables; the table of them is
 * `presets.ts`.
 */
import type { Operation } from "../../operation.js";
import type { ChatTraits, ResponsesTraits } from "../host-traits.js";
import { type ProviderType, providerTraits } from "../provider-type.js";

export interface Preset {
  /** The instance name that its key registers. */
  readonly name: string;
  readonly type: ProviderType;
  readonly keyVariable: string;
  /** What the names of its other variables begin with. */
  readonly variables: string;
  /** Null: there is no common address, as with a server of one's own. */
  readonly baseUrl: string | null;
  /** Whether it works without a key, so that its address or models alone register it. */
  readonly keyless: boolean;
  readonly operations: readonly Operation[];
  readonly listsModels: boolean;
  /** How its chat completions differ from others'. */
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
}

/** A row of the table: what it leaves out is that of its type. */
type Row = Pick<Preset, "name" | "type" | "keyVariable"> & Partial<Preset>;

/** The rest is that of its type. */
export function preset(row: Row): Preset {
  const { baseUrl, operations, listsModels, chat, responses } = providerTraits[row.type];
  const variables = row.keyVariable.replace(/_API_KEY$/, "");
  const ofType = { baseUrl, operations, listsModels, chat, responses };
  return { variables, ...ofType, keyless: false, ...row };
}

/** `OPENAI_API_KEY_FILE` beside `OPENAI_API_KEY`. */
export function keyFileVariable({ keyVariable }: Preset): string {
  return `${keyVariable}_FILE`;
}

/** `OPENAI_BASE_URL` beside `OPENAI_API_KEY`. */
export function baseUrlVariable({ variables }: Preset): string {
  return `${variables}_BASE_URL`;
}

/** `OPENAI_MODELS` beside `OPENAI_API_KEY`. */
export function modelsVariable({ variables }: Preset): string {
  return `${variables}_MODELS`;
}
