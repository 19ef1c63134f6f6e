/**
 * A proxy that could be filled up, by connections, bodies, or for want of file descriptors: it is
 * still probed, says what it lacks, and its other clients lose nothing.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import t, { type Test } from "tap";
import { chat, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";

const models = "sim: { type: simulator }";

async function idle(t: Test, url: string, count: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
  }
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

/** The head of a request, with so many bytes of a body to come. */
const headOf = (length: number, key = ""): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n${key}content-length: ${length}\r\n\r\n`;

/** What `/health` says of the memory that requests hold. */
async function heldBytes(url: string): Promise<number> {
  const health = (await (await fetch(`${url}/health`)).json()) as {
    capacity: { held_bytes: number };
  };
  return health.capacity.held_bytes;
}

const status = async (url: string): Promise<number> =>
  (await fetch(url, { headers: { connection: "close" } })).status;

t.test("idle connections by the hundred don't keep probes and requests out", async (t) => {
  const site = makeSite(t, `providers: { ${models} }\nserver: { max_connections: 20 }\n`);
  await site.startDaemon();
  const proxy = await site.startProxy();
  const sockets = await idle(t, proxy.ready, 300);
  t.equal(await status(`${proxy.ready}/ready`), 200);
  t.equal((await chat(proxy.ready, { model: "sim/x" })).status, 200);
  await until(
    async () => sockets.filter((socket) => socket.destroyed || socket.readableEnded).length,
    (closed) => closed >= 270,
  );
  await proxy.printed(/connection limit reached/);
  t.equal(proxy.output().match(/connection limit reached/g)?.length, 1);
});

t.test("few file descriptors lower the bound of connections, and the log says so", async (t) => {
  const site = makeSite(t, `providers: { ${models} }\n`);
  await site.startDaemon();
  const proxy = await site.startProxy(site.socket, { filesMax: 128 });
  await idle(t, proxy.ready, 300);
  t.equal(await status(`${proxy.ready}/ready`), 200);
  t.equal((await chat(proxy.ready, { model: "sim/x" })).status, 200);
  await proxy.printed(/"max":30,"wanted":10000,"files_max":128.*server.max_connections is lowered/);
});

t.test(
  "a proxy without file descriptors answers 503 of its own, isn't ready, and recovers",
  async (t) => {
    const holding: Socket[] = [];
    const provider = createServer((socket) => {
      socket.on("error", () => {});
      holding.push(socket);
    });
    provider.listen(0, "127.0.0.1");
    await once(provider, "listening");
    t.teardown(() => void provider.close());
    const { port } = provider.address() as { port: number };
    const site = makeSite(
      t,
      `providers: { ${models}, slow: { type: openai, base_url: "http://127.0.0.1:${port}/v1", models: [m] } }\n`,
    );
    await site.startDaemon();
    const proxy = await site.startProxy(site.socket, { filesMax: 128 });
    execFileSync("prlimit", [`--pid=${proxy.child.pid}`, "--nofile=48:48"]);
    // One connection with many requests: a provider's connection each.
    const body = JSON.stringify({ model: "slow/m", messages: [] });
    const one = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const [client] = await idle(t, proxy.ready, 1);
    client!.write(one.repeat(28));
    await proxy.printed(/no file descriptors are left/);
    await proxy.printed(/"status":503,"outcome":"overloaded".*"note":"EMFILE"/);
    t.notMatch(proxy.output(), /"status":502/);
    const ready = await fetch(`${proxy.ready}/ready`, { headers: { connection: "close" } });
    t.same(
      [ready.status, await ready.json()],
      [503, { status: "not ready", reason: "file_descriptors" }],
    );
    const refused = await chat(proxy.ready, { model: "sim/x" });
    t.same([refused.status, refused.headers.get("retry-after")], [503, "1"]);
    t.match(await refused.json(), { error: { type: "internal_error", code: "overloaded" } });
    client!.destroy();
    for (const socket of holding) socket.destroy();
    await until(
      () => status(`${proxy.ready}/ready`),
      (now) => now === 200,
    );
    t.equal((await chat(proxy.ready, { model: "sim/x" })).status, 200);
    t.equal(proxy.output().match(/no file descriptors are left/g)?.length, 1);
    t.notMatch(proxy.output(), /MaxListeners/);
  },
);

t.test("bodies that don't fit into the memory any more get 503, and fit again later", async (t) => {
  const site = makeSite(t, `providers: { ${models} }\nserver: { max_held_bytes: 1048576 }\n`);
  await site.startDaemon();
  const proxy = await site.startProxy();
  const body = (bytes: number): string =>
    JSON.stringify({ model: "sim/x", messages: [{ role: "user", content: "x".repeat(bytes) }] });
  const large = body(700_000);
  const [client] = await idle(t, proxy.ready, 1);
  let answer = "";
  client!.on("data", (bytes: Buffer) => (answer += bytes.toString("latin1")));
  client!.write(headOf(large.length));
  client!.write(large.slice(0, 650_000));
  await until(
    () => heldBytes(proxy.ready),
    (held) => held >= 650_000,
  );
  const refused = await fetch(`${proxy.ready}/v1/chat/completions`, {
    method: "POST",
    body: body(400_000),
  });
  t.same([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  t.match(await refused.json(), { error: { type: "internal_error", code: "overloaded" } });
  t.equal((await chat(proxy.ready, { model: "sim/x" })).status, 200, "a small one fits");
  client!.write(large.slice(650_000));
  await until(
    () => Promise.resolve(answer),
    (text) => text.startsWith("HTTP/1.1 200"),
  );
  await until(
    () => heldBytes(proxy.ready),
    (held) => held === 0,
  );
  const again = await fetch(`${proxy.ready}/v1/chat/completions`, {
    method: "POST",
    body: body(400_000),
  });
  t.equal(again.status, 200);
  await proxy.printed(/memory limit reached/);
  await proxy.printed(/"status":503,"outcome":"overloaded"/);
  t.notMatch(proxy.output(), /MaxListeners/);
});
