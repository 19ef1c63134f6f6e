/**
 * What answers on the daemon's socket may be anything: the proxy closes it, serves by its failure
 * mode, and finds the daemon when it is there again.
 */
import { mkdirSync, rmSync } from "node:fs";
import net from "node:net";
import { dirname } from "node:path";
import t from "tap";
import { encodeFrame } from "../../../shared/wire/codec.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

/** What it says to each hello, and whether that is enough to be closed for. */
const answers: readonly (readonly [name: string, bytes: Buffer, closed: boolean])[] = [
  ["a length of zero", Buffer.alloc(4), true],
  ["four gigabytes announced", Buffer.from([255, 255, 255, 255]), true],
  ["HTTP", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), true],
  ["a frame that isn't msgpack", Buffer.from([0, 0, 0, 2, 0xc1, 0xc1]), true],
  ["a frame of no kind", encodeFrame(["obey", 1]), false],
  ["a welcome without its fields", encodeFrame(["welcome", 1]), false],
  [
    "a verdict on an unknown admission",
    encodeFrame(["refused", 77, "user_path", "/", 60, "requests", 1, 1]),
    false,
  ],
  ["half a frame, and silence", Buffer.from([0, 0, 1, 0, 0x93]), false],
];

t.test("a stranger on the daemon's socket", async (t) => {
  const upstream = await startScriptedUpstream();
  const site = makeSite(
    t,
    `
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
limiter: { deadline_ms: 100 }
rate_limits: { user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000 }] }] }
`,
  );
  t.teardown(() => upstream.close());
  mkdirSync(dirname(site.socket), { recursive: true });
  let [says, closings]: [Buffer, number] = [answers[0]![1], 0];
  const sockets = new Set<net.Socket>();
  const otherServer = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", () => socket.write(says));
    socket.on("close", () => {
      closings++;
      sockets.delete(socket);
    });
  });
  await new Promise<void>((resolve) => otherServer.listen(site.socket, resolve));
  const proxy = await site.startProxy();
  for (const [name, bytes, closed] of answers) {
    says = bytes;
    for (const socket of sockets) socket.destroy();
    const before = closings;
    await until(
      async () => (closed ? closings > before + 1 : sockets.size > 0),
      (met) => met,
    );
    const response = await chat(proxy.ready, {});
    t.equal(response.status, 503, name);
    t.match(await response.json(), { error: { code: "limiter_unavailable" } });
    t.match(await (await fetch(`${proxy.ready}/health`)).json(), {
      status: "degraded",
      limiter: { reachable: false },
    });
  }
  t.equal(upstream.calls.length, 0);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => otherServer.close(resolve));
  rmSync(site.socket, { force: true });
  await site.startDaemon();
  await until(
    () => chat(proxy.ready, {}),
    (response) => response.status === 200,
  );
  t.equal(proxy.child.exitCode, null, "the same process, all the time");
});
