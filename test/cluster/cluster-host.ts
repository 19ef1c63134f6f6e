/** One of several hosts in a test: a daemon and a proxy, real processes, that share an engine. */
import type { Test } from "tap";
import type { NetworkNamespace } from "../support/processes/network-namespace.js";
import { makeSite, type Part } from "../support/processes/processes.js";
import type { RunningEngine } from "../support/processes/start-engine.js";

const masterKey = "test-master-key-of-two-hosts";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

export interface ClusterHost {
  readonly daemon: Part;
  /** SIGKILL, and started again. */
  restartDaemon(): Promise<void>;
  get(path: string): Promise<Answer>;
  /** An admin request. */
  admin(method: string, path: string, body?: object): Promise<Answer>;
  /** A question to a model, as the master key or with this one. */
  chat(userPath: string, key?: string, model?: string): Promise<Answer>;
  /** What a caller with this key is answered. */
  statusWith(key: string): Promise<number>;
}

interface HostOptions {
  /** Its configuration; one without providers has the simulator. */
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The network that it is in, with its own wire to the engine. */
  readonly network?: NetworkNamespace;
}

export async function startHost(
  t: Test,
  { url, port }: Pick<RunningEngine, "url" | "port">,
  { yaml = "", env = {}, network }: HostOptions = {},
): Promise<ClusterHost> {
  const site = makeSite(t, yaml, {
    SLUICE_CLUSTER_URL: network === undefined ? url : `valkey://${network.engineAddress}:${port}`,
    SLUICE_MASTER_KEY: masterKey,
    ...(network === undefined ? {} : { HOST: network.address }),
    ...env,
  });
  const as = network === undefined ? {} : { namespace: network.name };
  let daemon = await site.startDaemon(as);
  const proxy = await site.startProxy(site.socket, as);
  const ask = async (path: string, options: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`${proxy.ready}${path}`, options);
    const body: unknown = await response.json().catch(() => null);
    return { status: response.status, body, headers: response.headers };
  };
  const bearer = (key: string) => ({
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
  });
  return {
    get daemon() {
      return daemon;
    },
    async restartDaemon() {
      await daemon.kill("SIGKILL");
      daemon = await site.startDaemon(as);
    },
    get: (path) => ask(path, { headers: bearer(masterKey) }),
    admin: (method, path, body) =>
      ask(`/admin/${path}`, {
        method,
        headers: bearer(masterKey),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    chat: (userPath, key = masterKey, model = "sim-fast") =>
      ask("/v1/chat/completions", {
        method: "POST",
        headers: {
          ...bearer(key),
          ...(key === masterKey ? { "x-sluice-user-path": userPath } : {}),
        },
        body: JSON.stringify({
          model,
          messages: [{ role: "user", content: "Hello!" }],
        }),
      }),
    statusWith: async (key) => (await ask("/v1/usage", { headers: bearer(key) })).status,
  };
}

/** Asks again until it is so; returns after how many ms, from the first question on. */
export async function untilSo(
  isSo: () => Promise<boolean>,
  what: string,
  withinMs = 15_000,
): Promise<number> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > withinMs)
      throw new Error(`not within ${withinMs / 1000} seconds: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return performance.now() - began;
}
