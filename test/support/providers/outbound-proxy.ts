/**
 * A proxy on loopback that makes connections by CONNECT, and knows the hosts that it is told alone;
 * and the key and certificate of a provider that no public authority knows, made for these tests.
 */
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface OutboundProxy {
  /** With user and password. */
  readonly url: string;
  /** What was asked for, and by whom: `provider.test:80 user:pass`. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** `ports`: where each host really is, by `host:port`. Others are refused with 403. */
export async function startOutboundProxy(
  ports: ReadonlyMap<string, number>,
): Promise<OutboundProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => void response.writeHead(400).end());
  server.on("connection", (socket) => sockets.add(socket));
  server.on("connect", (request, client: Socket, head: Buffer) => {
    const [, basic = ""] = (request.headers["proxy-authorization"] ?? "").split(" ");
    asked.push(`${request.url} ${Buffer.from(basic, "base64").toString()}`);
    client.on("error", () => {});
    const port = ports.get(request.url ?? "");
    if (port === undefined) return void client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const remote = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      remote.write(head);
      remote.pipe(client).pipe(remote);
    });
    sockets.add(remote);
    remote.on("error", () => client.destroy());
    client.on("close", () => remote.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://user:p%40ss@127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** For `provider.test`, from 2020 to 2119. */
export const selfSigned = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHawGcEnVaoHijJMC
BE39hgXiqYQKXnp8p6VgpGlddBWhRANCAASh+0JspW3uk0P4RMf0QOD/l5riQ1Pd
9lm7qHIT5EbECLgQ+qy9lnThcuVpD2iOKlgAjl03RrkW1q9wAIL6HIQa
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBbDCCAROgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1wcm92aWRl
ci50ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1wcm92aWRlci50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEoftC
bKVt7pND+ETH9EDg/5ea4kNT3fZZu6hyE+RGxAi4EPqsvZZ04XLlaQ9ojipYAI5d
N0a5FtavcACC+hyEGqNMMEowGAYDVR0RBBEwD4INcHJvdmlkZXIudGVzdDAPBgNV
HRMBAf8EBTADAQH/MB0GA1UdDgQWBBTAifSA8rmPfB6znFL0UihcY3zJcDAKBggq
hkjOPQQDAgNHADBEAiBa+RTF4tSGa5lTYfvt9LlSlMBvgYH1E175aUUdLxBqnwIg
HAIpurxkzm81RjQ/E0lYuFmMTYXXLsIVRuseJRaqUnM=
-----END CERTIFICATE-----
`,
};
