import { ProviderKeys } from "../../proxy/upstream/credentials/provider-keys.js";

/** The keys of a provider that needs none, or these. */
export function keyless(...keys: readonly string[]): ProviderKeys {
  return new ProviderKeys(
    keys.map((key) => ({ key, weight: 1 })),
    { monoMs: () => 0 },
  );
}
