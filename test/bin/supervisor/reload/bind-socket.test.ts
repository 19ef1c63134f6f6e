import { createServer } from "node:http";
import type net from "node:net";
import t from "tap";
import { bindSocket } from "../../../../bin/supervisor/reload/bind-socket.js";

t.test("a bound socket refuses no connection once another process has listened", async (t) => {
  const held = await bindSocket("127.0.0.1", 0);
  const server = createServer((_request, response) => response.end("served"));
  await new Promise<void>((resolve) => server.listen({ fd: held.fd }, resolve));
  const { port } = server.address() as net.AddressInfo;
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), "served");
  const error = await t.rejects(bindSocket("127.0.0.1", port));
  t.match(error, { code: "EADDRINUSE", address: "127.0.0.1", port });
  server.closeAllConnections();
  server.close();
});

t.test("a host that isn't this one's is refused by its name", async (t) => {
  await t.rejects(bindSocket("192.0.2.1", 0), {
    code: "EADDRNOTAVAIL",
  });
  await t.rejects(bindSocket("no.such.host.invalid", 0), { message: /no\.such\.host\.invalid/ });
});
