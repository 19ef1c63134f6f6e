/**
 * Holds the tree to the rules of the design: which way imports go, who may touch Node and the
 * clock, names and sizes.
 */
import t from "tap";
import { doors, programs } from "./tidy/doors.js";
import { openPatterns } from "./tidy/open-patterns.js";
import { cycles, roomGraph, withoutDoor } from "./tidy/room-graph.js";
import { readSources, type SourceFile, withoutTexts } from "./tidy/source-tree.js";
import { spreadCalls } from "./tidy/spread-calls.js";

const linesMax = 260;
const columnsMax = 100;

/**
 * The only files that may import `node:*` or a package, read a clock, set a timer or reach for the
 * process; each with the reason why it must. `main` wires adapters together, and is the only file
 * of the proxy and of the daemon that imports them.
 */
const impure: Readonly<
  Record<string, { readonly kind: "adapter" | "main"; readonly why: string }>
> = {
  "bin/session/ask-health.ts": {
    kind: "adapter",
    why: "asks a running proxy for /health, by node:http, with the key that may be in a file",
  },
  "bin/session/command-flags.ts": { kind: "adapter", why: "makes commander's options" },
  "bin/commands/up.ts": {
    kind: "main",
    why: "wires the supervisor: the scripts' own paths, signals",
  },
  "bin/commands/config/init.ts": {
    kind: "adapter",
    why: "writes a new configuration, with a random key in it",
  },
  "bin/checks/ask-provider.ts": {
    kind: "adapter",
    why: "asks a provider for its models, by node:http, with a deadline",
  },
  "bin/checks/host-facts.ts": {
    kind: "adapter",
    why: "reads modes, the disk and the limits of this host",
  },
  "bin/limits/read-input.ts": { kind: "adapter", why: "reads a file, or standard input" },
  "bin/checks/host-clock.ts": {
    kind: "adapter",
    why: "asks systemd and the kernel about the clock and a process",
  },
  "bin/checks/installed-units.ts": { kind: "adapter", why: "reads systemd's units" },
  "bin/checks/try-write.ts": { kind: "adapter", why: "writes a file and removes it" },
  "bin/checks/write-bundle.ts": { kind: "adapter", why: "writes a report for its owner alone" },
  "bin/text/raw-screen.ts": {
    kind: "adapter",
    why: "the whole terminal: keys, its size, and signals that put it back",
  },
  "bin/remote/gateway-connection.ts": {
    kind: "adapter",
    why: "requests to a gateway elsewhere, by node:http and node:https, with a deadline",
  },
  "bin/remote/open-remote.ts": { kind: "adapter", why: "reads the file of a key" },
  "bin/usage/export-file.ts": {
    kind: "adapter",
    why: "a file that is written beside its name and renamed; signals remove it",
  },
  "bin/commands/usage/usage-follow.ts": {
    kind: "adapter",
    why: "reads the file of a password or a token, and spreads its retries by chance",
  },
  "bin/usage/follow/cursor-file.ts": {
    kind: "adapter",
    why: "a small file that is exchanged as a whole, and a lock by node:net",
  },
  "bin/usage/follow/stop-signals.ts": { kind: "adapter", why: "the signals of this process" },
  "bin/usage/sinks/postgres-sink.ts": {
    kind: "adapter",
    why: "the client library of PostgreSQL, a deadline, and the file of authorities",
  },
  "bin/usage/sinks/ndjson-sinks.ts": { kind: "adapter", why: "an output file, cut and synced" },
  "bin/usage/sinks/https-sink.ts": {
    kind: "adapter",
    why: "requests by node:http and node:https, with a deadline",
  },
  "bin/session/unreadable-files.ts": {
    kind: "adapter",
    why: "looks whether the files that a configuration names can be read",
  },
  "bin/session/system-socket.ts": {
    kind: "adapter",
    why: "looks whether the system's socket is there",
  },
  "bin/session/new-command.ts": { kind: "adapter", why: "makes commander's commands" },
  "bin/session/resolve-targets.ts": {
    kind: "adapter",
    why: "asks the price list as of now: prices change by the hour",
  },
  "bin/supervisor/run-service.ts": {
    kind: "main",
    why: "runs one process: its arguments, signals, exit code and deadline",
  },
  "bin/supervisor/proxy-slots.ts": {
    kind: "adapter",
    why: "how long a successor may take: a timer",
  },
  "bin/supervisor/reload/hand-over.ts": {
    kind: "adapter",
    why: "starts the process that takes over, and waits for it: a timer",
  },
  "bin/supervisor/reload/take-sockets.ts": {
    kind: "adapter",
    why: "the environment and the id of this process, by which systemd gives it sockets",
  },
  "bin/supervisor/last-resort.ts": {
    kind: "adapter",
    why: "the events of a process for errors that nothing has caught",
  },
  "bin/supervisor/reload/self-reload.ts": {
    kind: "main",
    why: "wires how a service reloads itself: its own script and process id",
  },
  "bin/supervisor/metrics/watch-proxy.ts": {
    kind: "adapter",
    why: "the messages of a child process",
  },
  "bin/supervisor/metrics/proxy-channel.ts": {
    kind: "adapter",
    why: "the channel of this process to the one that has started it, with deadlines",
  },
  "bin/supervisor/metrics/worker-metrics.ts": {
    kind: "adapter",
    why: "sockets of proxies that share a port, by node:net, and the directory they are in",
  },
  "bin/supervisor/reload/bind-socket.ts": {
    kind: "adapter",
    why: "binds a socket by node:net, and looks its address up",
  },
  "bin/supervisor/reload/control-socket.ts": {
    kind: "adapter",
    why: "the socket that sluice reload asks on, by node:net, and the directory it is in",
  },
  "bin/supervisor/reload/daemon-part.ts": { kind: "adapter", why: "compares by node:util; no I/O" },
  "bin/supervisor/reload/service-requests.ts": {
    kind: "adapter",
    why: "the signals of a process, and its channel to the one that has started it",
  },
  "bin/sluice.ts": { kind: "main", why: "the command line: arguments in, exit code out" },
  "bin/supervisor/supervised-service.ts": {
    kind: "adapter",
    why: "a child process, its output and its restarts",
  },
  "bin/session/print-failure.ts": { kind: "adapter", why: "knows commander's own error" },
  "bin/session/terminal.ts": {
    kind: "adapter",
    why: "standard input, output, the environment and the clocks",
  },
  "proxy/capacity/create-capacity.ts": {
    kind: "main",
    why: "wires what the process can hold: the log, the clock",
  },
  "proxy/capacity/memory-limit.ts": {
    kind: "adapter",
    why: "asks the system how much memory the process may use",
  },
  "proxy/capacity/open-files.ts": {
    kind: "adapter",
    why: "reads the limit of open files, and opens one to see whether any is left; a timer",
  },
  "proxy/metrics/spans/otel-spans.ts": {
    kind: "adapter",
    why: "spans by the OpenTelemetry SDK, sent to a collector; a deadline at the end",
  },
  "proxy/metrics/spans/create-tracing.ts": {
    kind: "main",
    why: "wires the spans: clocks, chance, the log",
  },
  "proxy/create-metrics.ts": {
    kind: "main",
    why: "wires the metrics: a timer, the clock",
  },
  "shared/metrics/process-reading.ts": {
    kind: "adapter",
    why: "reads what the process says of itself: CPU, memory, its files, its event loop",
  },
  "proxy/create-dashboard.ts": {
    kind: "main",
    why: "wires the dashboard: its clocks, a timer, random tokens",
  },
  "proxy/connect-providers.ts": {
    kind: "main",
    why: "wires the ways to each provider",
  },
  "proxy/upstream/credentials/key-source.ts": {
    kind: "adapter",
    why: "reads a key from a file or by a command, with timers and clocks",
  },
  "proxy/egress/egress.ts": { kind: "adapter", why: "reads a file of certificates, by node:tls" },
  "proxy/egress/egress-agent.ts": { kind: "adapter", why: "Node's agents, through a proxy" },
  "proxy/egress/open-tunnel.ts": {
    kind: "adapter",
    why: "CONNECT to a proxy by node:http, with a deadline",
  },
  "proxy/handlers/openapi/openapi-file.ts": {
    kind: "adapter",
    why: "reads the document, by node:fs, and hashes it for its ETag",
  },
  "proxy/dashboard/bundle-files.ts": {
    kind: "adapter",
    why: "reads the dashboard's bundle, compresses and hashes it",
  },
  "proxy/digests.ts": {
    kind: "adapter",
    why: "hashes, and the random tokens of sessions, by node:crypto",
  },
  "limiterd/cluster/engine/connect-engine.ts": {
    kind: "adapter",
    why: "a connection that is kept: pauses between attempts, random ones",
  },
  "limiterd/cluster/engine/run-script.ts": {
    kind: "adapter",
    why: "the engine names scripts by their SHA-1",
  },
  "limiterd/cluster/engine/open-client.ts": {
    kind: "adapter",
    why: "connections to the engine, by ioredis; reads the files of its password and certificates",
  },
  "limiterd/cluster/engine/write-together.ts": {
    kind: "adapter",
    why: "what is sent in one turn of the event loop waits for its end",
  },
  "limiterd/store/lmdb/check-store-file.ts": {
    kind: "adapter",
    why: "reads the head of the store's file",
  },
  "limiterd/store/lmdb/check-in-process.ts": {
    kind: "adapter",
    why: "starts the process that reads a store before the daemon does",
  },
  "limiterd/store/lmdb/check-process.ts": {
    kind: "main",
    why: "a process that reads a store, in the daemon's place should that end it",
  },
  "limiterd/store/lmdb/migrate-store.ts": {
    kind: "adapter",
    why: "converts a store by lmdb, and keeps a copy of the file",
  },
  "limiterd/maintenance/read-lmdb-store.ts": {
    kind: "adapter",
    why: "opens a store's file to read it, by a name of its own",
  },
  "limiterd/maintenance/adopt-store.ts": {
    kind: "adapter",
    why: "opens a copy of a store by lmdb, with the host's uptime",
  },
  "limiterd/maintenance/copy-in-process.ts": {
    kind: "adapter",
    why: "starts the process that copies a store, and reads the copy",
  },
  "limiterd/maintenance/copy-store.ts": { kind: "adapter", why: "copies a store by lmdb" },
  "limiterd/maintenance/hold-store.ts": {
    kind: "adapter",
    why: "locks a data directory while no daemon runs",
  },
  "limiterd/maintenance/as-owner.ts": {
    kind: "adapter",
    why: "gives root's rights up for those of a directory's owner",
  },
  "limiterd/maintenance/replace-store.ts": {
    kind: "adapter",
    why: "the files of a store and of the one that takes its place",
  },
  "limiterd/maintenance/run-store-process.ts": {
    kind: "adapter",
    why: "starts the process that works on a store",
  },
  "limiterd/maintenance/lower-priority.ts": {
    kind: "adapter",
    why: "the priorities of this process's threads",
  },
  "limiterd/maintenance/store-process.ts": {
    kind: "main",
    why: "a process that works on a store, in another's place should that end it",
  },
  "limiterd/maintenance/verify-store-file.ts": {
    kind: "adapter",
    why: "opens a store's file to verify it, as of now",
  },
  "limiterd/store/lmdb/probe-disk.ts": {
    kind: "adapter",
    why: "writes to the disk to see whether it can be; the words of the operating system for its errors",
  },
  "limiterd/store/lmdb/lmdb-file.ts": {
    kind: "adapter",
    why: "opens the file by lmdb",
  },
  "limiterd/store/lmdb/lmdb-store.ts": {
    kind: "adapter",
    why: "the store port on LMDB",
  },
  "limiterd/store/lmdb/open-lmdb-store.ts": {
    kind: "adapter",
    why: "opens the store, or makes it where there is none",
  },
  "limiterd/store/lmdb/sealed-value.ts": { kind: "adapter", why: "CRC-32, by node:zlib; no I/O" },
  "limiterd/store/lmdb/store-file.ts": {
    kind: "adapter",
    why: "the store's file and those beside it",
  },
  "limiterd/store/lmdb/store-lock.ts": {
    kind: "adapter",
    why: "locks the data directory by a socket in it",
  },
  "limiterd/store/lmdb/host-boot.ts": {
    kind: "adapter",
    why: "reads which boot of the host this is",
  },
  "limiterd/store/lmdb/store-mark.ts": {
    kind: "adapter",
    why: "reads and writes the mark beside the store",
  },
  "limiterd/store/lmdb/store-owner.ts": {
    kind: "adapter",
    why: "looks in /proc whether a process still runs",
  },
  "limiterd/share-with-hosts.ts": {
    kind: "main",
    why: "wires a daemon to other hosts: the engine's client, clocks, timers, ids, the machine's name",
  },
  "limiterd/main.ts": {
    kind: "main",
    why: "wires the daemon: its clock, its timers and its randomness",
  },
  "proxy/upstream/call-deadlines.ts": {
    kind: "adapter",
    why: "one timer for the deadlines of a provider's calls",
  },
  "proxy/limiter/client/connect-limiter.ts": {
    kind: "adapter",
    why: "the limiter client's ports: monotonic clock, timers, the proxy's id",
  },
  "proxy/limiter/spool/delivery-line.ts": {
    kind: "adapter",
    why: "a connection to the daemon's socket, and how long that may be silent",
  },
  "proxy/limiter/spool/settle-directory.ts": {
    kind: "adapter",
    why: "the files in which stopped proxies leave their settles",
  },
  "proxy/limiter/spool/settle-file.ts": { kind: "adapter", why: "CRC-32, by node:zlib; no I/O" },
  "proxy/limiter/spool/settle-spool.ts": {
    kind: "adapter",
    why: "when a proxy looks for such files: timers, the wall clock, a name of its own",
  },
  "proxy/capacity/read-body.ts": {
    kind: "adapter",
    why: "reads Node's request to its end, and decodes gzip, deflate, Brotli and Zstandard by node:zlib",
  },
  "proxy/upstream/client/decoded-answer.ts": {
    kind: "adapter",
    why: "decodes gzip, deflate and Brotli by node:zlib, as the bytes come",
  },
  "proxy/http/http-listener.ts": {
    kind: "adapter",
    why: "node:http's server, its bounds and its end",
  },
  "proxy/upstream/passthrough/http-proxy-call.ts": {
    kind: "adapter",
    why: "the body stream and the socket events of one call by http-proxy",
  },
  "proxy/upstream/passthrough/http-proxy-upstream.ts": {
    kind: "adapter",
    why: "the passthrough port on http-proxy, with agents that keep connections alive",
  },
  "proxy/upstream/client/connection-pool.ts": { kind: "adapter", why: "connections, by undici" },
  "proxy/upstream/client/http-upstream.ts": {
    kind: "adapter",
    why: "the upstream port on undici's connections: a body in pieces is a stream",
  },
  "proxy/main.ts": {
    kind: "main",
    why: "wires the proxy: how it starts and ends, with its clock",
  },
  "proxy/create-gateway.ts": {
    kind: "main",
    why: "wires what handlers share: clocks, constant-time comparison, the makers of keys",
  },
  "proxy/http/drain/lingering.ts": {
    kind: "adapter",
    why: "reads sockets for a while before they close",
  },
  "proxy/http/drain/drain-server.ts": {
    kind: "adapter",
    why: "the end of node:http's server, with a timer and a clock",
  },
  "proxy/http/node-exchange.ts": {
    kind: "adapter",
    why: "the exchange port on Node's request and response, with timers",
  },
  "proxy/routing/price-list.ts": {
    kind: "adapter",
    why: "the price list of @pydantic/genai-prices, loaded when it is needed; no I/O of its own",
  },
  "proxy/http/refuse-unreadable.ts": {
    kind: "adapter",
    why: "answers on a bare socket, with a random request id",
  },
  "proxy/upstream/simulated-upstream.ts": {
    kind: "adapter",
    why: "the upstream port on timers and a clock, without a network",
  },
  "proxy/http/request-id.ts": { kind: "adapter", why: "random bits for new ids" },
  "proxy/http/spool-file.ts": {
    kind: "adapter",
    why: "uploads that don't fit into memory, in a file without a name",
  },
  "proxy/upstream/passthrough/tunnel.ts": {
    kind: "adapter",
    why: "a WebSocket's two sockets, and the time that the second has to end after the first",
  },
  "proxy/http/upgrade-exchange.ts": {
    kind: "adapter",
    why: "the exchange port on the bare socket of a WebSocket's handshake",
  },
  "proxy/auth/secret-files.ts": {
    kind: "adapter",
    why: "reads the files that hold the master key and secrets of issuers",
  },
  "proxy/auth/jose-issuers.ts": {
    kind: "adapter",
    why: "JWTs by jose; key sets from the file system and by node:http; SHA-256",
  },
  "shared/config/file/parse-yaml.ts": { kind: "adapter", why: "js-yaml, the parser; no I/O" },
  "shared/config/file/read-config-file.ts": {
    kind: "adapter",
    why: "looks for the configuration file and reads it",
  },
  "shared/config/kept/kept-configuration.ts": {
    kind: "adapter",
    why: "which program runs, by its own file",
  },
  "shared/config/kept/kept-file.ts": {
    kind: "adapter",
    why: "the file of what was parsed, and whose it is",
  },
  "shared/config/kept/seal-parsed.ts": {
    kind: "adapter",
    why: "encrypts by node:crypto; no I/O",
  },
  "shared/config/file/read-fields.ts": {
    kind: "adapter",
    why: "valibot, the checker of single fields; no I/O",
  },
  "shared/wire/daemon-client.ts": {
    kind: "adapter",
    why: "one connection over the socket, with a random id and deadlines",
  },
  "shared/socket/claim-socket.ts": {
    kind: "adapter",
    why: "the file system around the socket, and a look whether a daemon listens on it",
  },
  "shared/socket/inherited-listener.ts": {
    kind: "adapter",
    why: "where a descriptor's socket is bound, by /proc, and the mode of its file",
  },
  "shared/socket/socket-peer.ts": {
    kind: "adapter",
    why: "the socket's writes and its end, with timers",
  },
  "shared/socket/ipc.ts": { kind: "adapter", why: "the Unix socket, by node-ipc" },
  "shared/domain/key-secret.ts": {
    kind: "adapter",
    why: "random bytes and SHA-256, by node:crypto",
  },
  "shared/supervision/systemd-notices.ts": {
    kind: "adapter",
    why: "runs systemd-notify, since Node has no datagram sockets of Unix",
  },
  "shared/log.ts": { kind: "adapter", why: "standard output and timestamps, by pino" },
  "shared/wire/codec.ts": { kind: "adapter", why: "frames to bytes, by msgpackr; no I/O" },
};

/** Packages that one file alone imports, so that they can be exchanged or pinned in one place. */
const soleImporters = {
  "node-ipc": "shared/socket/ipc.ts",
  lmdb: "limiterd/store/lmdb/lmdb-file.ts",
  "@opentelemetry/api": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/exporter-trace-otlp-http": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/exporter-trace-otlp-proto": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/resources": "proxy/metrics/spans/otel-spans.ts",
  "@opentelemetry/sdk-trace-base": "proxy/metrics/spans/otel-spans.ts",
  undici: "proxy/upstream/client/connection-pool.ts",
  "http-proxy": "proxy/upstream/passthrough/http-proxy-upstream.ts",
  pino: "shared/log.ts",
  msgpackr: "shared/wire/codec.ts",
  jose: "proxy/auth/jose-issuers.ts",
  ioredis: "limiterd/cluster/engine/open-client.ts",
  pg: "bin/usage/sinks/postgres-sink.ts",
  "js-yaml": "shared/config/file/parse-yaml.ts",
  valibot: "shared/config/file/read-fields.ts",
  "@pydantic/genai-prices": "proxy/routing/price-list.ts",
};

const pageArea = "proxy/dashboard/web/";
const all = readSources(programs);
/** The dashboard's pages run in a browser, and have rules of their own, at the end. */
const pages = all.filter(({ path }) => path.startsWith(pageArea));
const sources = all.filter(({ path }) => !path.startsWith(pageArea));
const tests = readSources(["test"]);
const directoryOf = (path: string): string => path.slice(0, path.indexOf("/"));

/** Where a pattern is found, as `path:line`. */
function found(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, code }) =>
    [...code.matchAll(pattern)].map(
      (match) => `${path}:${code.slice(0, match.index).split("\n").length} ${match[0].trim()}`,
    ),
  );
}

t.test(
  "the reader of sources sees code and not what stands in comments, texts and expressions",
  async (t) => {
    const table = [
      ["let a; // let b", "let a; "],
      ["a /* any\n any */ b", "a \n b"],
      ['f("any // x") + 1', "f( ) + 1"],
      ["f('\\'any')", "f( )"],
      ["`any ${b + `x${c}`} any`", " b + c "],
      ['x = /[/"]any/.test(y) / 2', "x = 0 .test(y) / 2"],
    ] as const;
    for (const [text, code] of table) {
      t.equal(withoutTexts(text).replace(/ +/g, " "), code, text);
      t.equal(withoutTexts(text).length, text.length, "positions stay");
    }
    const ipc = sources.find(({ path }) => path === "shared/socket/ipc.ts")!;
    t.ok(ipc.imports.some(({ from, ours, typeOnly }) => from === "node-ipc" && !ours && !typeOnly));
    t.ok(
      sources
        .find(({ path }) => path === "proxy/handle-request.ts")!
        .imports.some(({ from, typeOnly }) => from === "proxy/gateway.ts" && typeOnly),
    );
    t.ok(sources.length > 80 && tests.length > 40, "all directories are read");
  },
);

/** Which program may import which. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  bin: ["bin", "proxy", "limiterd", "shared"],
  proxy: ["proxy", "shared"],
  limiterd: ["limiterd", "shared"],
  shared: ["shared"],
};

t.test(
  "imports go one way: bin to proxy and limiterd, these to shared; none to a test",
  async (t) => {
    const wrong = sources.flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ from, ours }) => ours && !mayImport[directoryOf(path)]!.includes(directoryOf(from)),
        )
        .map(({ from }) => `${path} imports ${from}`),
    );
    t.same(wrong, []);
  },
);

t.test(
  "rooms import each other through the doors of the table alone, types included",
  async (t) => {
    const graph = roomGraph(sources);
    t.same(withoutDoor(graph), []);
    t.same(
      Object.keys(doors).filter((room) => !graph.has(room)),
      [],
      "every room of the table exists",
    );
    const reached = [...graph].map(([room, others]) => [room, others.keys()] as const);
    t.same(cycles(new Map(reached)), [], "no rooms import each other in a cycle");
    t.same(cycles(new Map(Object.entries(doors))), [], "the table itself has no cycle");
  },
);

t.test(
  "a room has at most 15 files, a folder at most a dozen rooms, two levels deep",
  async (t) => {
    const rooms = new Map<string, number>();
    for (const { path } of [...sources, ...tests]) {
      const room = path.slice(0, path.lastIndexOf("/"));
      rooms.set(room, (rooms.get(room) ?? 0) + 1);
    }
    const parentOf = (room: string): string => room.slice(0, room.lastIndexOf("/"));
    const inFolder = new Map<string, number>();
    for (const room of rooms.keys()) {
      const folder = parentOf(room);
      inFolder.set(folder, (inFolder.get(folder) ?? 0) + 1);
    }
    t.same(
      [...rooms].filter(([room, files]) => files > (room === "test" ? 16 : 15)),
      [],
      "files per room",
    );
    // `test` has a room for each program and a file for each room, beside those of its own; the
    // proxy has the dashboard and metrics beside what a request needs, the daemon what hosts share.
    const roomsMax = (folder: string): number =>
      folder === "test" ? 18 : /^(?:test\/)?(?:proxy|limiterd|shared)$/.test(folder) ? 14 : 12;
    t.same(
      [...inFolder].filter(([folder, children]) => children > roomsMax(folder)),
      [],
      "rooms per folder",
    );
    const depth = (room: string): number => room.replace(/^test\//, "").split("/").length - 1;
    t.same(
      [...rooms.keys()].filter((room) => depth(room) > 2),
      [],
      "depth",
    );
  },
);

t.test("the tests stand in the rooms of what they test", async (t) => {
  const rooms = new Set(sources.map(({ path }) => path.slice(0, path.lastIndexOf("/"))));
  const testRooms = tests.map(({ path }) => path.slice("test/".length, path.lastIndexOf("/")));
  const mirrored = testRooms.filter((room) => programs.includes(directoryOf(`${room}/`)));
  t.same(
    [...new Set(mirrored)].filter((room) => !rooms.has(room)),
    [],
  );
});

/** Basenames that stand in more than one program because they mean the same in each. */
const sharedBasenames = ["main.ts"];

t.test("no two files of the programs have one name", async (t) => {
  const named = new Map<string, string[]>();
  for (const { path } of sources) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    named.set(name, [...(named.get(name) ?? []), path]);
  }
  t.same(
    [...named].filter(([name, paths]) => paths.length > 1 && !sharedBasenames.includes(name)),
    [],
  );
});

t.test("every export is imported somewhere", async (t) => {
  const unused = unusedExports(all, [...all, ...tests]);
  const pageList = pages.find(({ path }) => path === `${pageArea}pages.ts`)!;
  t.same(
    unused.filter((each) => {
      const [path, name] = each.split(": ") as [string, string];
      // A page is loaded when it is opened; parts are there for pages to come.
      if (path.startsWith(`${pageArea}pages/`)) return !pageList.text.includes(`page.${name})`);
      return !path.startsWith(`${pageArea}parts/`);
    }),
    [],
  );
  const at = { path: "a.ts", lines: 1, imports: [] };
  const source = { ...at, text: "export const used = 1;", code: "export const used = 1;" };
  t.same(unusedExports([source], [source]), ["a.ts: used"], "and one that isn't would be seen");
});

t.test("an export has one address: no file hands on what another one exports", async (t) => {
  t.same(
    found([...sources, ...tests], /^export\s+(?:type\s+)?(?:\{[^}]*\}|\*[^;]*?)\s*from\b/gm),
    [],
  );
});

/** The exports of some files that no file imports by name, each as `path: name`. */
function unusedExports(files: readonly SourceFile[], all: readonly SourceFile[]): string[] {
  const imported = new Set<string>();
  for (const { text } of all)
    for (const [, names] of text.matchAll(/^import\s+(?:type\s+)?\{([^}]*)\}\s*from/gm))
      for (const name of names!.split(",")) imported.add(importedName(name));
  const exported =
    /^export\s+(?:async\s+)?(?:declare\s+)?(?:abstract\s+)?(?:const|function\*?|class|interface|type)\s+(\w+)/gm;
  return files
    .filter(({ path }) => !path.endsWith(".d.ts"))
    .flatMap(({ path, code }) =>
      [...code.matchAll(exported)]
        .filter(([, name]) => !imported.has(name!))
        .map(([, name]) => `${path}: ${name}`),
    );
}

function importedName(written: string): string {
  return written
    .trim()
    .replace(/^type\s+/, "")
    .split(/\s+as\s+/)[0]!;
}

t.test("a program is one file: where a module of it lies, only these ask", async (t) => {
  t.same(
    sources.filter(({ code }) => code.includes("import.meta")).map(({ path }) => path),
    [
      // A program of its own, beside the daemon's (package.json, `programs`).
      "limiterd/maintenance/run-store-process.ts",
      "limiterd/store/lmdb/check-in-process.ts",
      // To find what the package ships.
      "proxy/dashboard/bundle-files.ts",
      "proxy/handlers/openapi/openapi-file.ts",
      // To find packages.
      "proxy/upstream/client/connection-pool.ts",
      "proxy/upstream/passthrough/http-proxy-upstream.ts",
      // Whether the program is in one file, and which.
      "shared/config/kept/kept-configuration.ts",
    ],
  );
});

t.test("every import of ours names a file that is there", async (t) => {
  const known = new Set([...all, ...tests].map(({ path }) => path));
  t.same(
    [...all, ...tests].flatMap(({ path, imports }) =>
      imports
        .filter(({ from, ours }) => ours && !known.has(from) && !from.endsWith(".css"))
        .map(({ from }) => `${path} imports ${from}`),
    ),
    [],
  );
});

t.test("no file imports itself in a cycle, types included", async (t) => {
  const graph = new Map(
    [...all, ...tests].map(({ path, imports }) => [
      path,
      imports.filter(({ ours }) => ours).map(({ from }) => from),
    ]),
  );
  t.same(cycles(graph), []);
  const cyclic = Object.entries({ a: ["b"], b: ["c"], c: ["b"] });
  t.same(cycles(new Map(cyclic)), ["b → c → b"], "and a cycle would be seen");
});

t.test("only the listed adapters and mains import Node's modules and packages", async (t) => {
  const outside = sources.filter(({ path }) => impure[path] === undefined);
  t.same(
    outside.flatMap(({ path, imports }) =>
      imports
        .filter(({ ours, typeOnly }) => !ours && !typeOnly)
        .map(({ from }) => `${path} imports ${from}`),
    ),
    [],
  );
});

/** Clocks, randomness, timers, and what else reaches out of the process without an import. */
const ambient =
  /\b(?:Date\.now|performance\.now|Math\.random|new Date\(\)|setTimeout|setInterval|setImmediate|fetch\(|console\.|process\.(?!\.))/g;

t.test(
  "only the listed adapters and mains read a clock, use randomness, set timers or touch the process",
  async (t) => {
    t.same(
      found(
        sources.filter(({ path }) => impure[path] === undefined),
        ambient,
      ),
      [],
    );
  },
);

t.test(
  "the list of adapters and mains holds no file that is gone or has become pure, and has a reason for each",
  async (t) => {
    for (const [path, { why }] of Object.entries(impure)) {
      const source = sources.find((file) => file.path === path);
      t.ok(
        source?.imports.some(({ ours, typeOnly }) => !ours && !typeOnly) ||
          (source !== undefined && found([source], ambient).length > 0),
        path,
      );
      t.ok(why.length > 10, `${path}: ${why}`);
    }
  },
);

t.test(
  "in the proxy and the daemon only adapters and mains import an adapter; pure files and steps are handed ports",
  async (t) => {
    const core = sources.filter(
      ({ path }) => ["proxy", "limiterd"].includes(directoryOf(path)) && impure[path] === undefined,
    );
    t.same(
      core.flatMap(({ path, imports }) =>
        imports
          .filter(({ from, typeOnly }) => !typeOnly && impure[from] !== undefined)
          .map(({ from }) => `${path} imports ${from}`),
      ),
      [],
    );
  },
);

t.test("these packages are imported by one file each", async (t) => {
  for (const [name, path] of Object.entries(soleImporters)) {
    t.same(
      sources
        .filter(({ imports }) =>
          imports.some(({ from }) => from === name || from.startsWith(`${name}/`)),
        )
        .map((file) => file.path),
      [path],
      name,
    );
  }
});

t.test("there is no any, no enum, no default export and no module-level variable", async (t) => {
  t.same(found([...all, ...tests], /(?:[:<|&,(=]|\bas|\bextends)\s*any\b/g), [], "any");
  t.same(found([...all, ...tests], /\benum\s+\w+\s*\{/g), [], "enum");
  t.same(found([...all, ...tests], /\bexport\s+default\b/g), [], "export default");
  t.same(found(all, /^(?:export\s+)?(?:let|var)\s+\w+/gm), [], "module-level let");
});

t.test("no list is spread into a call: each item of it goes onto the stack", async (t) => {
  t.same(
    sources.flatMap(({ path, code }) =>
      spreadCalls(code)
        // Pairs of a flag and its meaning.
        .filter((at) => !code.startsWith("...flagOptions.", at))
        .map((at) => `${path}:${code.slice(0, at).split("\n").length}`),
    ),
    [],
  );
  for (const call of ["a.push(...b)", "Math.max(0, ...f(x))", "f(a, ...b).c", "new F(...a)"])
    t.equal(spreadCalls(call).length, 1, call);
  for (const other of [
    "[...a]",
    "f([...a], { ...b })",
    "(...a) => b",
    "function f(...a) {",
    "m(...a): void",
  ])
    t.same(spreadCalls(other), [], other);
});

t.test("no pattern that is matched has a list that a longer one meets", async (t) => {
  t.same(
    tests.flatMap(({ path, code }) =>
      openPatterns(code).map((at) => `${path}:${code.slice(0, at).split("\n").length}`),
    ),
    [],
  );
  for (const one of [
    "t.match(a, [])",
    "t.match(f([]), { b: [c], d })",
    "t.match(a, [b], d)",
    "t.match(a[0], { b: c[0], d: [] })",
  ])
    t.equal(openPatterns(one).length, 1, one);
  for (const other of [
    "t.same(a, [])",
    "t.match([], { length: 0 })",
    "t.match(a, b[0])",
    "t.match(a, { [b]: c, d: [e, f].join(g) })",
    "t.match(a, b! as string[], [])",
    "t.match(a, exactly([[b], { c: [] }])); f(b, [])",
    "t.match(a, b ?? f(() => [c]))",
  ])
    t.same(openPatterns(other), [], other);
});

t.test("files are named in kebab case, after what they hold", async (t) => {
  const names = [...all, ...tests].map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
  t.same(
    names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.d)?\.tsx?$/.test(name)),
    [],
  );
  t.same(
    names.filter((name) => /utils|helpers|common|types|manager/.test(name)),
    [],
  );
});

t.test("every folder of tests is run: by one file of its name, or as it is", async (t) => {
  const folders = new Set(
    tests
      .filter(({ path }) => path.endsWith(".test.ts"))
      .map(({ path }) => path.split("/").slice(1, -1)[0])
      .filter((folder) => folder !== undefined),
  );
  folders.delete("end-to-end");
  for (const folder of folders)
    t.ok(
      tests.some(
        ({ path, text }) =>
          path === `test/${folder}.test.ts` && text.includes(`testFolder("${folder}"`),
      ),
      folder,
    );
});

t.test("every source begins with a comment on what it is for", async (t) => {
  t.same(
    all
      .filter(({ text }) => !/^\/\*\*[^]{20,}?\*\//.test(text.replace(/^#!.*\n/, "")))
      .map(({ path }) => path),
    [],
  );
});

t.test(`only a text that can't be broken reaches beyond column ${columnsMax}`, async (t) => {
  const wide = [...all, ...tests].flatMap(({ path, text, code }) => {
    const codeLines = code.split("\n");
    return text
      .split("\n")
      .map((line, i) => ({ line, code: codeLines[i]!, at: `${path}:${i + 1}` }))
      .filter(({ line }) => line.length > columnsMax)
      .filter(({ line, code }) => isComment(line) || reachesBeyond(line, code))
      .map(({ at }) => at);
  });
  t.same(wide, []);
});

/** Whether code reaches beyond the last column when its texts are empty; templates never break. */
function reachesBeyond(line: string, code: string): boolean {
  return !/`|\$\{/.test(line) && code.replace(/ {2,}/g, " ").length > columnsMax;
}

function isComment(line: string): boolean {
  return /^\s*(?:\/\*|\*|\/\/)/.test(line);
}

t.test(`no source has more than ${linesMax} lines`, async (t) => {
  t.same(
    all.filter(({ lines }) => lines > linesMax).map(({ path, lines }) => `${path}: ${lines}`),
    [],
  );
});

/**
 * The rooms of the pages, and what each may import of them besides itself; those of `pages/` are
 * one kind, and don't know each other. The files at the top wire them together.
 */
const pageDoors: Readonly<Record<string, readonly string[]>> = {
  logic: [],
  data: ["logic"],
  texts: [],
  parts: ["logic", "data", "texts"],
  page: ["logic", "data", "texts", "parts"],
};

/** What of the other programs pages may import: types, and files that are pure. */
const forPages =
  /^shared\/(?:api\/[\w-]+|domain\/(?:user-path|limit-key|money|rule|budget|reset-anchors|verdict)|usage\/hosts-text|time|utc-day)\.ts$/;
const packagesOfPages: Readonly<Record<string, RegExp>> = {
  preact: /./,
  "preact/hooks": /./,
  "@preact/signals": /./,
  uplot: /^proxy\/dashboard\/web\/parts\/line-chart\.tsx$/,
};

function pageRoom(path: string): string {
  const [room, ...below] = path.slice(pageArea.length).split("/");
  if (below.length === 0) return "top";
  return room === "pages" ? "page" : room!;
}

t.test("the pages import their own rooms, types, pure files and three packages", async (t) => {
  const wrong = pages.flatMap(({ path, imports }) =>
    imports
      .filter(({ from, ours, typeOnly }) => {
        if (!ours) return packagesOfPages[from]?.test(path) !== true;
        if (!from.startsWith(pageArea)) return !forPages.test(from);
        const [room, other] = [pageRoom(path), pageRoom(from)];
        if (room === "page" && other === "page") return directoryIn(path) !== directoryIn(from);
        return room !== "top" && room !== other && !pageDoors[room]!.includes(other) && !typeOnly;
      })
      .map(({ from }) => `${path} imports ${from}`),
  );
  t.same(wrong, []);
  t.ok(pages.length > 20, `${pages.length} files of pages`);
});

function directoryIn(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

t.test("the pages ask the gateway in one file, and never make markup of a text", async (t) => {
  const asking = pages.filter(({ path }) => !path.endsWith("/data/gateway-client.ts"));
  t.same(found(asking, /\bfetch\b|\bXMLHttpRequest\b|\bsendBeacon\b|\bWebSocket\b/g), []);
  const elsewhere = pages.filter(({ path }) => pageRoom(path) !== "data");
  t.same(found(elsewhere, /\bEventSource\b|\blocalStorage\b|\bsessionStorage\b/g), []);
  const markup =
    /dangerouslySetInnerHTML|\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML|document\.write|\beval\b/;
  t.same(
    pages.filter(({ text }) => markup.test(text)).map(({ path }) => path),
    [],
  );
});

t.test(
  "no two files of the pages have one name, and a room of theirs has at most 15",
  async (t) => {
    const names = pages.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
    t.same(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    );
    const rooms = new Map<string, number>();
    for (const { path } of pages)
      rooms.set(directoryIn(path), (rooms.get(directoryIn(path)) ?? 0) + 1);
    t.same(
      [...rooms].filter(([, files]) => files > 15),
      [],
    );
  },
);
