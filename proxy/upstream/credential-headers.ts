/** The headers that carry our key to a provider. */
import type { ProviderConfig } from "../../shared/config/config.js";

/**
 * For any path of the provider's origin: Gemini's own API, beside the OpenAI-compatible one that is
 * configured, takes keys in a header of its own; to it a bearer token is an OAuth token.
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

/** For the configured API: flat names and values; empty without a key. */
export function credentialHeaders({
  apiKey,
  credentialHeader,
}: Pick<ProviderConfig, "apiKey" | "credentialHeader">): readonly string[] {
  if (apiKey === null) return [];
  return [credentialHeader, credentialHeader === "authorization" ? `Bearer ${apiKey}` : apiKey];
}
