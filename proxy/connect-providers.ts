/** Wires the ways to each provider: its keys, its connections, what passes to it as it is. */
import type { Config, ProviderConfig } from "../shared/config/config.js";
import type { Log } from "../shared/log.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import { createEgress } from "./egress/egress.js";
import type { Provider } from "./gateway.js";
import { passedHeaders } from "./http/passed-headers.js";
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
  { providers, server }: Pick<Config, "providers" | "server">,
  parts: Parts,
): Promise<ReadonlyMap<string, Provider>> {
  const connected = await Promise.all(
    providers.map((provider) => connectProvider(provider, server, parts)),
  );
  return new Map(connected.map((provider) => [provider.config.name, provider]));
}

async function connectProvider(
  config: ProviderConfig,
  { userPathHeader }: Pick<Config["server"], "userPathHeader">,
  { files, log }: Parts,
): Promise<Provider> {
  const passed = passedHeaders(config, userPathHeader);
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
