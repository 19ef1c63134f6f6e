import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import t, { type Test } from "tap";
import { prepareProxy, RunningHandlers } from "../../proxy/main.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { createLog } from "../../shared/log.js";

/** A configuration, and the daemon's socket that it names. */
function withDaemon(t: Test) {
  const dir = mkdtempSync(join(tmpdir(), "sluice-"));
  const socket = join(dir, "limiterd.sock");
  const loaded = loadConfig({ file: undefined, env: {}, cwd: dir, uid: 0 });
  if (!loaded.ok) throw new Error("the configuration is wrong");
  const daemon = net.createServer().listen(socket);
  t.teardown(() => {
    daemon.close();
    rmSync(dir, { recursive: true });
  });
  const config = { ...loaded.config, limiter: { ...loaded.config.limiter, socket } };
  return { daemon, config, log: createLog("proxy", "error") };
}

t.test("a proxy that can't be made asks the daemon nothing", async (t) => {
  const { daemon, config, log } = withDaemon(t);
  daemon.on("connection", () => t.fail("it has connected"));
  const [provider] = config.providers;
  const broken = { ...provider!, type: "openai", baseUrl: "no URL" } as typeof provider;
  await t.rejects(prepareProxy({ config: { ...config, providers: [broken!] }, log }), {
    message: /Invalid URL/,
  });
  await nextTurn();
});

t.test("a start that fails ends its attempts to reach the daemon", async (t) => {
  const { daemon, config, log } = withDaemon(t);
  const taken = net.createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.teardown(() => taken.close());
  const { port } = taken.address() as net.AddressInfo;
  const closed: Promise<unknown>[] = [];
  daemon.on("connection", (connection) => {
    closed.push(once(connection.resume(), "close"));
  });
  const server = { ...config.server, host: "127.0.0.1", port };
  const start = await prepareProxy({ config: { ...config, server }, log });
  await t.rejects(start(), { code: "EADDRINUSE" });
  // Connections are accepted in their order: after this one, the start's has been, if it made one.
  const last = once(daemon, "connection");
  net.connect(daemon.address() as string).end();
  await last;
  await t.resolves(Promise.all(closed));
});

t.test("nothing to wait for while no handler runs", async () => {
  const running = new RunningHandlers();
  await running.none();
  running.began();
  running.ended();
  await running.none();
});

t.test("each wait for running handlers ends with the last of them", async (t) => {
  const running = new RunningHandlers();
  for (let round = 0; round < 2; round++) {
    running.began();
    running.began();
    let resolved = 0;
    const waits = [1, 2].map(() => running.none().then(() => resolved++));
    running.ended();
    await nextTurn();
    t.equal(resolved, 0, "one still runs");
    running.ended();
    await Promise.all(waits);
    t.equal(resolved, 2);
  }
});
