/** The headers that carry Sluice's key to a provider. */
import type { ProviderConfig } from "../../../shared/config/config.js";

/**
 * The headers for any path of the provider's origin. Gemini's own API, which is beside the
 * configured OpenAI-compatible one, takes keys in a header of its own, and would read a bearer
 * token as an OAuth token.
 */
export function credentialHeadersAt(
  provider: Pick<ProviderConfig, "credentialHeader" | "type" | "baseUrl">,
  key: string | null,
  path: string,
): readonly string[] {
  const { credentialHeader, type, baseUrl } = provider;
  if (
    key === null ||
    type !== "gemini" ||
    credentialHeader !== "authorization" ||
    path.startsWith(`${new URL(baseUrl).pathname}/`)
  )
    return credentialHeaders(provider, key);
  return ["x-goog-api-key", key];
}

/** The headers for the configured API: flat names and values; empty without a key. */
export function credentialHeaders(
  { credentialHeader }: Pick<ProviderConfig, "credentialHeader">,
  key: string | null,
): readonly string[] {
  if (key === null) return [];
  return [credentialHeader, credentialHeader === "authorization" ? `Bearer ${key}` : key];
}

/** The caller's headers, in which the operator's headers replace those of the same name. */
export function withOwnHeaders(
  given: readonly string[],
  own: readonly string[],
): readonly string[] {
  if (own.length === 0) return given;
  const names = new Set(own.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  const kept: string[] = [];
  for (let i = 0; i < given.length; i += 2)
    if (!names.has(given[i]!.toLowerCase())) kept.push(given[i]!, given[i + 1]!);
  return [...kept, ...own];
}

/** Removes the values of the operator's headers, which may be secrets, from a provider's text. */
export function redactHeaders(text: string, own: readonly string[]): string {
  return own.reduce(
    (clean, value, i) =>
      i % 2 === 0 || value.length < secretCharsMin ? clean : clean.replaceAll(value, "[redacted]"),
    text,
  );
}

/** Shorter values are words rather than secrets. */
const secretCharsMin = 8;
