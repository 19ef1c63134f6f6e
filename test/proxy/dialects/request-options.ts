/** What a translation is told about the provider, for tests where it doesn't matter. */
import type { RequestOptions } from "../../../proxy/dialects/shared/translation.js";

export const options: RequestOptions = {
  maxTokensDefault: 4096,
  isStrict: false,
  takesCustomTools: true,
  provider: "openai",
  takesFilesInResults: false,
  takesUnsignedThinking: false,
  takesFileUrls: false,
};
