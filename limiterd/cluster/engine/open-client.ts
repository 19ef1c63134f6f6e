/**
 * Connections to the engine, by ioredis: to one server, by Sentinels, or to a Cluster. What ioredis
 * would do by itself is switched off: it neither connects again, nor sends anything again, nor
 * keeps what can't be sent now. The package is loaded when the first connection is opened.
 */
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { Cluster, Redis, RedisOptions } from "ioredis";
import type { ClusterConfig } from "../../../shared/cluster/cluster-config.js";
import type { ClientOptions, EngineClient, OpenClient, Send } from "./engine-client.js";
import { silentInTls, unreadableFile } from "./engine-faults.js";
import { writeTogether } from "./write-together.js";

/** A connection that is silent for so long, while it owes an answer, is broken. */
const silenceMs = 1000;
const connectMs = 2000;

export function openClients(config: ClusterConfig): OpenClient {
  return async (options) => {
    const { sentinel } = config;
    const [ca, password, ofSentinels] = await Promise.all([
      contents(config.caFile, "cluster.ca_file"),
      contents(config.passwordFile, "cluster.password_file"),
      contents(sentinel?.passwordFile ?? null, "cluster.sentinel_password_file"),
    ]);
    const secrets = {
      ca,
      password: password?.trim() ?? config.credentials.password,
      sentinelPassword: ofSentinels?.trim() ?? sentinel?.credentials.password ?? null,
    };
    return options.asCluster
      ? openCluster(config, secrets, options)
      : openOne(config, secrets, options);
  };
}

async function contents(path: string | null, setting: string): Promise<string | null> {
  if (path === null) return null;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw unreadableFile(setting, error);
  }
}

interface Secrets {
  readonly ca: string | null;
  readonly password: string | null;
  readonly sentinelPassword: string | null;
}

const plain = {
  connectTimeout: connectMs,
  socketTimeout: silenceMs,
  disableClientInfo: true,
  enableReadyCheck: false,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
} satisfies RedisOptions;

function tlsFor(
  { tls }: ClusterConfig,
  ca: string | null,
  host: string,
): ConnectionOptions | undefined {
  if (!tls) return undefined;
  return { ...(ca === null ? {} : { ca }), ...(isIP(host) === 0 ? { servername: host } : {}) };
}

async function openOne(
  config: ClusterConfig,
  { ca, password, sentinelPassword }: Secrets,
  { attempt, broken, heard }: ClientOptions,
): Promise<EngineClient> {
  const { Redis } = await import("ioredis");
  const { sentinel, addresses } = config;
  const address = addresses[attempt % addresses.length]!;
  const tls = tlsFor(config, ca, address.host);
  const withTls = tls === undefined ? {} : { tls };
  const place: RedisOptions =
    sentinel === null
      ? { ...address, ...withTls }
      : {
          sentinels: [...addresses],
          name: sentinel.master,
          ...given("sentinelUsername", sentinel.credentials.username),
          ...given("sentinelPassword", sentinelPassword),
          sentinelCommandTimeout: silenceMs,
          sentinelRetryStrategy: () => null,
          updateSentinels: false,
          ...withTls,
          ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
        };
  const ends = { isDropped: false };
  const connect = async (options: RedisOptions): Promise<Redis> => {
    const client = new Redis({ ...plain, ...place, ...options, lazyConnect: true });
    const lastError = await ready(client, config);
    if (password !== null) await login(client, config.credentials.username, password);
    client.once("end", () => {
      if (ends.isDropped) return;
      drop();
      broken(lastError());
    });
    return client;
  };
  const client = await connect({});
  const send: Send = (name, words) => {
    writeTogether(client.stream);
    return client.call(name, [...words]);
  };
  let subscriber: Promise<Redis> | null = null;
  function drop(): void {
    ends.isDropped = true;
    client.disconnect();
    subscriber?.then(
      (each) => each.disconnect(),
      () => {
        // It never stood.
      },
    );
  }
  const openSubscriber = async (): Promise<Redis> => {
    const opened = await connect({});
    opened.on("message", heard);
    if (ends.isDropped) opened.disconnect();
    return opened;
  };
  return {
    send,
    primaries: () => new Map([["", send]]),
    async subscribe(channel) {
      subscriber ??= openSubscriber();
      await (await subscriber).subscribe(channel);
    },
    async unsubscribe(channel) {
      await (await subscriber)?.unsubscribe(channel);
    },
    drop,
  };
}

async function openCluster(
  config: ClusterConfig,
  { ca, password }: Secrets,
  { broken, heard }: ClientOptions,
): Promise<EngineClient> {
  const { Cluster } = await import("ioredis");
  const { addresses, credentials } = config;
  const tls = tlsFor(config, ca, addresses[0]!.host);
  const cluster = new Cluster([...addresses], {
    redisOptions: {
      ...plain,
      ...given("username", password === null ? null : credentials.username),
      ...given("password", password),
      ...(tls === undefined ? {} : { tls }),
    },
    lazyConnect: true,
    enableOfflineQueue: false,
    slotsRefreshTimeout: silenceMs,
    slotsRefreshInterval: 5000,
    clusterRetryStrategy: () => null,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: 3,
    // Certificates name hosts, and not the addresses that a look-up finds.
    dnsLookup: (host, found) => found(null, host),
  });
  const lastError = await ready(cluster, config);
  const ends = { isDropped: false };
  cluster.on("message", heard);
  cluster.once("end", () => {
    if (!ends.isDropped) broken(lastError());
  });
  return {
    send: (name, words) => cluster.call(name, [...words]),
    primaries: () => primariesOf(cluster),
    async subscribe(channel) {
      await cluster.subscribe(channel);
    },
    async unsubscribe(channel) {
      await cluster.unsubscribe(channel);
    },
    drop() {
      ends.isDropped = true;
      cluster.disconnect();
    },
  };
}

/** One whose connection is lost isn't among the nodes any more, but it has its slots. */
function primariesOf(cluster: Cluster): ReadonlyMap<string, Send> {
  const nodes = new Map<string, Send>(
    cluster
      .nodes("master")
      .map((node) => [
        `${node.options.host}:${node.options.port}`,
        (name, words) => node.call(name, [...words]),
      ]),
  );
  const owners = new Set(cluster.slots.map(([owner]) => owner));
  for (const owner of owners)
    if (owner !== undefined && !nodes.has(owner)) nodes.set(owner, notConnected);
  return nodes;
}

const notConnected: Send = () => Promise.reject(new Error("Connection is closed."));

function given<K extends string>(name: K, value: string | null): { readonly [key in K]?: string } {
  return value === null ? {} : ({ [name]: value } as { readonly [key in K]: string });
}

/**
 * Connects, and returns what tells the last error. The first one says why, such as ECONNREFUSED;
 * that of the promise often doesn't.
 */
async function ready(client: Redis | Cluster, { tls }: ClusterConfig): Promise<() => Error> {
  const seen: { first: Error | null; last: Error } = {
    first: null,
    last: new Error("Connection is closed."),
  };
  const note = (error: Error): void => {
    seen.first ??= error;
    seen.last = error;
  };
  client.on("error", note);
  client.on("node error", note);
  // A Cluster whose nodes agree on too little is given up without a word.
  const ended = new Promise<never>((_, reject) => {
    client.once("end", () => reject(new Error("Cluster isn't ready")));
  });
  ended.catch(() => {
    // Later it is told of by its own listener.
  });
  try {
    await Promise.race([client.connect(), ended]);
  } catch (error) {
    client.disconnect();
    const why = seen.first ?? error;
    // A server without TLS waits for the end of a line.
    throw tls && String(why).includes("ETIMEDOUT") ? silentInTls() : why;
  }
  return () => seen.last;
}

async function login(client: Redis, username: string | null, password: string): Promise<void> {
  try {
    await client.call("AUTH", username === null ? [password] : [username, password]);
  } catch (error) {
    // The engine wants none: nothing is lost.
    if (/without any password configured|no password is set/.test(String(error))) return;
    client.disconnect();
    throw error;
  }
}
