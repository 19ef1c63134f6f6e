/** How a provider is shown its key. */
import type { ProviderConfig } from "../shared/config/config.js";

/** Flat names and values; empty without a key. */
export function credentialHeaders({ apiKey, credentialHeader }: Pick<ProviderConfig, "apiKey" | "credentialHeader">): readonly string[] {
  if (apiKey === null) return [];
  return [credentialHeader, credentialHeader === "authorization" ? `Bearer ${apiKey}` : apiKey];
}
