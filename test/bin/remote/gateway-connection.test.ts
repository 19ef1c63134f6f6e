import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import tls from "node:tls";
import t from "tap";
import { openConnection } from "../../../bin/remote/gateway-connection.js";

t.test("TLS against plain text is named, in both directions", async (t) => {
  for (const [scheme, server, message] of [
    ["http", tls.createServer(), /hung up without an answer: if it speaks TLS, try https:\/\/$/],
    ["https", http.createServer(), /doesn't speak TLS: try http:\/\/$/],
    // A server whose TLS answers plain text with an alert.
    [
      "http",
      net.createServer((socket) => void socket.end(Buffer.from("15030100020246", "hex"))),
      /doesn't speak HTTP: try https:\/\/$/,
    ],
  ] as const) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/health`;
    const connection = openConnection(url);
    await t.rejects(connection.send({ method: "GET", url, headers: {}, body: null }), { message });
    connection.close();
    server.close();
  }
});
