/**
 * Connections to the engine with ioredis: to one server, through Sentinels, or to a Cluster. The
 * automatic behaviour of ioredis is off: it doesn't reconnect, resend or queue. The package is
 * loaded with the first connection.
 */
import { readFile } from "node:fs/promises";
import net, { isIP } from "node:net";
import type { Writable } from "node:stream";
import tls, { type ConnectionOptions } from "node:tls";
import type { AbstractConnector, Cluster, Redis, RedisOptions } from "ioredis";
import { isCount } from "../../../shared/checked.js";
import type { ClusterConfig } from "../../../shared/cluster/cluster-config.js";
import type { ClientOptions, EngineClient, OpenClient, Send } from "./engine-client.js";
import { silentInTls, unreadableFile } from "./engine-faults.js";
import { guard } from "./reply-grammar.js";

/** A connection is broken if it is silent for this long while an answer is due, in ms. */
const silenceMs = 1000;
const connectMs = 2000;

export function openClients(config: ClusterConfig): OpenClient {
  return async (options) => {
    const { sentinel } = config;
    const [ca, password, sentinelPassword] = await Promise.all([
      contents(config.caFile, "cluster.ca_file"),
      contents(config.passwordFile, "cluster.password_file"),
      contents(sentinel?.passwordFile ?? null, "cluster.sentinel_password_file"),
    ]);
    const secrets = {
      ca,
      password: password?.trim() ?? config.credentials.password,
      sentinelPassword: sentinelPassword?.trim() ?? sentinel?.credentials.password ?? null,
    };
    return options.asCluster
      ? openCluster(config, secrets, options)
      : openServer(config, secrets, options);
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

const baseOptions = {
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

type Connector = new (options: unknown) => AbstractConnector;

interface SocketOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: ConnectionOptions;
  readonly connectionName?: string;
  readonly disconnectTimeout: number;
}

/** Like ioredis's own connector for one server, but checks the answers that its sockets receive. */
function guardedConnector(Base: typeof AbstractConnector): Connector {
  return class extends Base {
    readonly #place: SocketOptions;
    #isEnded = false;

    constructor(options: unknown) {
      const place = options as SocketOptions;
      super(place.disconnectTimeout);
      this.#place = place;
    }

    override async connect(): Promise<net.Socket> {
      this.connecting = true;
      this.#isEnded = false;
      const { host, port, tls: secure, connectionName } = this.#place;
      const socket =
        secure === undefined
          ? net.createConnection({ host, port })
          : tls.connect({ host, port, ...secure });
      socket.once("error", (error) => {
        this.firstError = error;
      });
      // ioredis reads the map of a Cluster's hash slots on a connection of its own.
      guard(socket, { onlyHashSlots: connectionName?.includes("refresher") === true });
      this.stream = socket;
      return socket;
    }

    override disconnect(): void {
      if (this.#isEnded) return;
      this.#isEnded = true;
      super.disconnect();
    }
  };
}

async function openServer(
  config: ClusterConfig,
  secrets: Secrets,
  options: ClientOptions,
): Promise<EngineClient> {
  const { sentinel, addresses, credentials } = config;
  const address = addresses[options.attempt % addresses.length]!;
  const place = {
    ...(sentinel === null ? address : await findPrimary(config, secrets, options.attempt)),
    tls: tlsFor(config, secrets.ca, address.host),
    username: credentials.username,
    password: secrets.password,
  };
  const status = { isDropped: false };
  const { client, lastError } = await connectTo(config, place);
  const ended = (error: Error): void => {
    if (status.isDropped) return;
    drop();
    options.onBroken(error);
  };
  client.once("end", () => ended(lastError()));
  const subscriber = createSubscriber(() => connectTo(config, place), {
    onMessage: options.onMessage,
    ended,
  });
  const send: Send = (name, words) => {
    writeTogether(client.stream);
    return client.call(name, [...words]);
  };
  function drop(): void {
    status.isDropped = true;
    client.disconnect();
    subscriber.drop();
  }
  return {
    send,
    sendForBytes(name, words) {
      writeTogether(client.stream);
      return client.callBuffer(name, [...words]);
    },
    primaries: () => new Map([["", send]]),
    subscribe: subscriber.subscribe,
    drop,
  };
}

/** A server with its credentials. */
interface ServerLogin {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions | undefined;
  readonly username: string | null;
  readonly password: string | null;
}

interface Connection {
  readonly client: Redis;
  readonly lastError: () => Error;
}

async function connectTo(
  config: ClusterConfig,
  { host, port, tls, username, password }: ServerLogin,
  options: RedisOptions = {},
): Promise<Connection> {
  const { Redis, AbstractConnector } = await import("ioredis");
  const client = new Redis({
    ...baseOptions,
    ...options,
    host,
    port,
    ...(tls === undefined ? {} : { tls }),
    Connector: guardedConnector(AbstractConnector),
    lazyConnect: true,
  });
  const lastError = await connectAndWatchErrors(client, config);
  client.on("error", (error: Error) => {
    if (isUnasked(error)) client.disconnect();
  });
  if (password !== null) await login(client, username, password);
  return { client, lastError };
}

/** The server that takes writes, by the first Sentinel that knows it. */
async function findPrimary(
  config: ClusterConfig,
  { ca, sentinelPassword: password }: Secrets,
  attempt: number,
): Promise<{ readonly host: string; readonly port: number }> {
  const { master, credentials } = config.sentinel!;
  let last: unknown = "none knows the name";
  for (const i of config.addresses.keys()) {
    const address = config.addresses[(attempt + i) % config.addresses.length]!;
    const tls = tlsFor(config, ca, address.host);
    try {
      const place = { ...address, tls, username: credentials.username, password };
      const { client } = await connectTo(config, place, { commandTimeout: silenceMs });
      const words = ["GET-MASTER-ADDR-BY-NAME", master];
      const answered = await client.call("SENTINEL", words).finally(() => client.disconnect());
      const [host, port] = Array.isArray(answered) ? (answered as readonly unknown[]) : [];
      if (typeof host === "string" && host !== "" && isPort(Number(port)))
        return { host, port: Number(port) };
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`All sentinels are unreachable. Last error: ${String(last)}`);
}

function isPort(port: number): boolean {
  return isCount(port, 1) && port <= 65_535;
}

interface Subscriber {
  readonly subscribe: EngineClient["subscribe"];
  drop(): void;
}

/** Subscribes on a second connection: one that subscribes can't send commands. */
function createSubscriber(
  connect: () => Promise<Connection>,
  {
    onMessage,
    ended,
  }: Pick<ClientOptions, "onMessage"> & { readonly ended: (error: Error) => void },
): Subscriber {
  let current: Promise<Connection> | null = null;
  const close = (connection: Promise<Connection> | null): void =>
    void connection?.then(
      ({ client }) => client.disconnect(),
      () => {
        // The connection was never ready.
      },
    );
  const open = (): Promise<Connection> => {
    const opening = connect();
    opening.then(
      ({ client, lastError }) => {
        client.on("message", (channel, message) => {
          if (current === opening) onMessage(channel, message);
        });
        client.once("end", () => {
          if (current === opening) ended(lastError());
        });
      },
      () => {
        // `subscribe` rejects with it.
      },
    );
    return opening;
  };
  return {
    async subscribe(channels, reconnect) {
      if (reconnect) {
        close(current);
        current = null;
      }
      current ??= open();
      await (await current).client.call("subscribe", [...channels]);
    },
    drop() {
      close(current);
      current = null;
    },
  };
}

async function openCluster(
  config: ClusterConfig,
  { ca, password }: Secrets,
  { onBroken, onMessage }: ClientOptions,
): Promise<EngineClient> {
  const { AbstractConnector, Cluster } = await import("ioredis");
  const { addresses, credentials } = config;
  const tls = tlsFor(config, ca, addresses[0]!.host);
  const cluster = new Cluster([...addresses], {
    redisOptions: {
      ...baseOptions,
      ...onlyIfSet("username", password === null ? null : credentials.username),
      ...onlyIfSet("password", password),
      ...(tls === undefined ? {} : { tls }),
      Connector: guardedConnector(AbstractConnector),
    },
    lazyConnect: true,
    enableOfflineQueue: false,
    slotsRefreshTimeout: silenceMs,
    slotsRefreshInterval: 5000,
    clusterRetryStrategy: () => null,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: 3,
    // Don't resolve names: certificates name hosts, not addresses.
    dnsLookup: (host, callback) => callback(null, host),
  });
  cluster.on("+node", (node: Redis) => {
    // ioredis drops this promise, and its rejection would end the process. The next command is
    // rejected as well.
    const asking = node.asking.bind(node);
    node.asking = () => {
      const answer = asking();
      answer.catch(() => {});
      return answer;
    };
  });
  // ioredis sets its timer again if a refresh ends after the client: it would refresh forever.
  cluster.once("end", () => {
    cluster.refreshSlotsCache = () => {};
  });
  const lastError = await connectAndWatchErrors(cluster, config);
  const status = { isDropped: false };
  cluster.on("node error", (error: Error) => {
    if (isUnasked(error)) cluster.disconnect();
  });
  cluster.once("end", () => {
    if (!status.isDropped) onBroken(lastError());
  });
  // One random server is enough: a message published on one server reaches all.
  const subscriber = createSubscriber(
    async () => {
      const nodes = cluster.nodes("master");
      const node = nodes[Math.floor(Math.random() * nodes.length)];
      if (node === undefined) throw new Error("Connection is closed.");
      const { host, port } = node.options;
      const place = { host: host!, port: port!, tls, username: credentials.username, password };
      return await connectTo(config, place);
    },
    { onMessage, ended() {} },
  );
  return {
    send: (name, words) => cluster.call(name, [...words]),
    sendForBytes: (name, words) => cluster.callBuffer(name, [...words]),
    primaries: () => primariesOf(cluster),
    subscribe: subscriber.subscribe,
    drop() {
      status.isDropped = true;
      cluster.disconnect();
      subscriber.drop();
    },
  };
}

/**
 * Whether the engine has sent an answer without a question: then later answers can't be matched to
 * their questions.
 */
function isUnasked(error: Error): boolean {
  return error.message.startsWith("Command queue state error");
}

/**
 * The primary servers. ioredis doesn't list a node that has lost its connection, but the node still
 * has its hash slots.
 */
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

function onlyIfSet<K extends string>(
  name: K,
  value: string | null,
): { readonly [key in K]?: string } {
  return value === null ? {} : ({ [name]: value } as { readonly [key in K]: string });
}

/**
 * Connects, and returns a function that returns the last error. If it fails, it throws the first
 * error: that names the cause, such as ECONNREFUSED, which the promise's own error often doesn't.
 */
async function connectAndWatchErrors(
  client: Redis | Cluster,
  { tls }: ClusterConfig,
): Promise<() => Error> {
  const errors: { first: Error | null; last: Error } = {
    first: null,
    last: new Error("Connection is closed."),
  };
  const note = (error: Error): void => {
    errors.first ??= error;
    errors.last = error;
  };
  client.on("error", note);
  client.on("node error", note);
  // ioredis gives up silently on a Cluster whose nodes agree on too little.
  const ended = new Promise<never>((_, reject) => {
    client.once("end", () => reject(new Error("Cluster isn't ready")));
  });
  ended.catch(() => {
    // Later errors have their own listener.
  });
  try {
    await Promise.race([client.connect(), ended]);
  } catch (error) {
    client.disconnect();
    const why = errors.first ?? error;
    // A server without TLS waits for the end of a line.
    throw tls && String(why).includes("ETIMEDOUT") ? silentInTls() : why;
  }
  return () => errors.last;
}

async function login(client: Redis, username: string | null, password: string): Promise<void> {
  try {
    await client.call("AUTH", username === null ? [password] : [username, password]);
  } catch (error) {
    // The engine needs no password, so the connection can be used.
    if (/without any password configured|no password is set/.test(String(error))) return;
    client.disconnect();
    throw error;
  }
}

/** Sends all commands of one turn of the event loop in one write. Call it before each command. */
export function writeTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
