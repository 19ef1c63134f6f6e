import type { ProviderConfig } from "../../shared/config/config.js";
import { providerTraits } from "../../shared/config/provider-type.js";

/** An OpenAI-compatible provider with the defaults, but for what a test says of it. */
export function providerConfig(
  own: Partial<ProviderConfig> & { readonly name: string },
): ProviderConfig {
  const traits = providerTraits[own.type ?? "openai"];
  return {
    type: "openai",
    operations: new Set(traits.operations),
    baseUrl: "http://127.0.0.1:1/v1",
    apiKey: null,
    apiKeys: null,
    apiKeyFile: null,
    apiKeyCommand: null,
    headers: [],
    headerFiles: [],
    credentialHeader: traits.credentialHeader,
    account: own.name,
    apiVersion: null,
    chat: traits.chat,
    responses: traits.responses,
    modelTraits: [],
    perModel: [],
    translation: "lenient",
    nativeRequests: "fitted",
    cache: "auto",
    maxTokensDefault: 32_000,
    models: null,
    passthrough: null,
    forwardHeaders: [],
    connectTimeoutMs: 5000,
    firstByteTimeoutMs: 600_000,
    idleTimeoutMs: 300_000,
    keepAliveMs: traits.keepAliveMs,
    connectionsMax: 4096,
    proxy: null,
    proxyFile: null,
    caFile: null,
    retries: 1,
    retryWaitMaxMs: 2000,
    breakerFailures: 5,
    breakerOpenMs: 10_000,
    upstreamLimits: { mode: "observe", trustsLimits: true, adaptive: null },
    ...own,
  };
}
