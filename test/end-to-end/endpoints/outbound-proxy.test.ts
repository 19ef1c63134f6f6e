/**
 * Everything that a proxy asks for leaves through HTTP_PROXY: model calls, what passes, WebSockets,
 * and the keys of an issuer. The hosts' names are known to that proxy alone.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { WebSocket } from "ws";
import { keySet, makeSigner } from "../../support/jwt-signer.js";
import { makeSite } from "../../support/processes/processes.js";
import { startOutboundProxy } from "../../support/providers/outbound-proxy.js";
import { startPassthroughProvider } from "../../support/providers/passthrough-provider.js";
import { serveRealtime } from "../../support/providers/realtime-upstream.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

const signer = await makeSigner("k");
const keys = createServer((_, response) => void response.end(keySet(signer)));
await new Promise<void>((resolve) => keys.listen(0, "127.0.0.1", resolve));
const upstream = await startScriptedUpstream();
const passing = await startPassthroughProvider();
serveRealtime(passing);
const proxy = await startOutboundProxy(
  new Map([
    ["models.test:80", Number(new URL(upstream.baseUrl).port)],
    ["passing.test:80", Number(new URL(passing.origin).port)],
    ["keys.test:80", (keys.address() as AddressInfo).port],
  ]),
);
t.teardown(() => Promise.all([upstream.close(), passing.close(), proxy.close(), keys.close()]));
const site = makeSite(
  t,
  `
server: { passthrough: all }
providers:
  models: { base_url: "http://models.test/v1", models: [m] }
  passing: { base_url: "http://passing.test/v1", models: [m] }
jwt: [{ issuer: i, audience: a, jwks_url: "http://keys.test/keys", user_path: sub }]
`,
  { HTTP_PROXY: proxy.url },
);
await site.startDaemon();
const gateway = await site.startProxy();
const token = await signer.sign({ iss: "i", aud: "a", sub: "/team" });
const bearer = { authorization: `Bearer ${token}` };
const asked = (): string[] => proxy.asked.splice(0).map((line) => line.split(" ")[0]!);

t.test("a model call, and the keys of its caller's issuer", async (t) => {
  const response = await fetch(`${gateway.ready}/v1/chat/completions`, {
    method: "POST",
    headers: bearer,
    body: JSON.stringify({ model: "models/m", messages: [] }),
  });
  t.equal(response.status, 200);
  t.same(asked().sort(), ["keys.test:80", "models.test:80"]);
  t.notMatch(gateway.output(), /p%40ss|p@ss/, "its password isn't logged");
});

t.test("a request that passes, and a WebSocket", async (t) => {
  const response = await fetch(`${gateway.ready}/p/passing/v1/anything`, { headers: bearer });
  t.ok(response.status < 500, String(response.status));
  t.same(asked(), ["passing.test:80"]);
  const socket = new WebSocket(
    `${gateway.ready.replace("http", "ws")}/v1/realtime?model=passing/m`,
    {
      headers: bearer,
    },
  );
  await once(socket, "open");
  socket.terminate();
  t.same(asked(), ["passing.test:80"]);
});
