/** How a provider is shown its key. */
import type { ProviderConfig } from "../../shared/config/config.js";

/**
 * The same for a path of the provider's origin: Gemini's own API, beside the OpenAI-compatible one
 * that is configured, takes keys in a header of its own; a bearer is an OAuth token to it.
 */
export function credentialHeadersAt(
  provider: Pick<ProviderConfig, "apiKey" | "credentialHeader" | "type" | "baseUrl">,
  path: string,
): readonly string[] {
  const { apiKey, credentialHeader, type, baseUrl } = provider;
  if (
    apiKey === null ||
    type !== "gemini" ||
    credentialHeader !== "authorization" ||
    path.startsWith(`${new URL(baseUrl).pathname}/`)
  )
    return credentialHeaders(provider);
  return ["x-goog-api-key", apiKey];
}

/** Flat names and values; empty without a key. */
export function credentialHeaders({
  apiKey,
  credentialHeader,
}: Pick<ProviderConfig, "apiKey" | "credentialHeader">): readonly string[] {
  if (apiKey === null) return [];
  return [credentialHeader, credentialHeader === "authorization" ? `Bearer ${apiKey}` : apiKey];
}
