/** Wires the ways to each provider: its keys, its connections, what passes to it as it is. */
import type { Config, ProviderConfig } from "../shared/config/config.js";
import type { Log } from "../shared/log.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import { createEgress } from "./egress/egress.js";
import type { Provider } from "./gateway.js";
import { passedHeaders } from "./http/passed-headers.js";
import { passesTrace } from "./http/tracing/propagation.js";
import { createHttpUpstream } from "./upstream/client/http-upstream.js";
import { openKeySource } from "./upstream/credentials/key-source.js";
import { createHttpProxyUpstream } from "./upstream/passthrough/http-proxy-upstream.js";
import { createSimulatedUpstream } from "./upstream/simulated-upstream.js";

interface Parts {
  readonly files: ProxyCapacity["files"];
  readonly log: Log;
}

/** By name, once the keys of each have been read, or could not be. */
export async function connectProviders(
  config: Pick<Config, "providers" | "server" | "tracing">,
  parts: Parts,
): Promise<ReadonlyMap<string, Provider>> {
  const connected = await Promise.all(
    config.providers.map((provider) => connectProvider(provider, config, parts)),
  );
  return new Map(connected.map((provider) => [provider.config.name, provider]));
}

async function connectProvider(
  config: ProviderConfig,
  { server: { userPathHeader }, tracing }: Pick<Config, "server" | "tracing">,
  { files, log }: Parts,
): Promise<Provider> {
  const getsTrace = passesTrace(config.baseUrl, tracing.propagate);
  const passed = passedHeaders(config, userPathHeader, getsTrace);
  if (config.type === "simulator")
    return { config, passed, upstream: createSimulatedUpstream(), passthrough: null };
  const egress = createEgress(config);
  const source = openKeySource(config, { log, monoMs: () => performance.now() });
  await source.ready;
  const upstream = createHttpUpstream(config, egress, source.keys, files.blame);
  return {
    config,
    passed,
    upstream: {
      ...upstream,
      close() {
        source.close();
        return upstream.close();
      },
    },
    passthrough: createHttpProxyUpstream(config, egress, source.keys, files.blame),
  };
}
