/** Connections through a proxy, and to a provider whose certificate only a file knows. */
import { writeFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer as createTcp } from "node:net";
import { join } from "node:path";
import t from "tap";
import { createEgress } from "../../../proxy/egress/egress.js";
import { createHttpUpstream } from "../../../proxy/upstream/client/http-upstream.js";
import { createHttpProxyUpstream } from "../../../proxy/upstream/passthrough/http-proxy-upstream.js";
import type { UpstreamCall, UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { keyless } from "../../support/keyless.js";
import { providerConfig } from "../../support/provider-config.js";
import { selfSigned, startOutboundProxy } from "../../support/providers/outbound-proxy.js";

const answer: RequestListener = (_, response) => void response.end("{}");
const plain = createHttp(answer);
const secure = createHttps(selfSigned, answer);
const silent = createTcp(() => {});
for (const server of [plain, secure, silent]) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
}
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;
const proxy = await startOutboundProxy(
  new Map([
    ["provider.test:80", portOf(plain)],
    ["provider.test:443", portOf(secure)],
    ["provider.test:8443", portOf(secure)],
    ["[2001:db8::1]:80", portOf(plain)],
  ]),
);
t.teardown(() => proxy.close());
const caFile = join(t.testdir(), "ca.pem");
writeFileSync(caFile, selfSigned.cert);

function outcome(send: (sink: UpstreamSink) => UpstreamCall): Promise<string> {
  return new Promise((resolve, reject) => {
    let status = 0;
    send({
      onHead(code) {
        status = code;
      },
      onData() {},
      onEnd: () => resolve(String(status)),
      onFailure: ({ kind, reason }) => resolve(`${kind}: ${reason}`),
      onBug: reject,
    });
  });
}

interface Way {
  readonly baseUrl: string;
  readonly proxy?: string | null;
  readonly caFile?: string | null;
  readonly connectTimeoutMs?: number;
}

/** How a model call and a request that passes end. */
async function outcomes(way: Way): Promise<readonly string[]> {
  const config = providerConfig({ name: "x", connectTimeoutMs: 20_000, ...way });
  const egress = createEgress(config);
  const upstream = createHttpUpstream(config, egress, keyless());
  const passing = createHttpProxyUpstream(config, egress, keyless());
  const given = { headers: [], body: null };
  const ended = await Promise.all([
    outcome((sink) =>
      upstream.send({ ...given, method: "POST", path: "/x", isRepeatable: true }, sink),
    ),
    outcome((sink) => passing.send({ ...given, method: "GET", path: "/x" }, sink)),
  ]);
  await upstream.close();
  await passing.close();
  return ended;
}

t.test("every connection goes through the proxy, with its user and password", async (t) => {
  for (const [baseUrl, authority] of [
    ["http://provider.test/v1", "provider.test:80"],
    ["https://provider.test/v1", "provider.test:443"],
    ["https://provider.test:8443", "provider.test:8443"],
    ["http://[2001:db8::1]", "[2001:db8::1]:80"],
  ] as const) {
    proxy.asked.length = 0;
    t.same(await outcomes({ baseUrl, proxy: proxy.url, caFile }), ["200", "200"], baseUrl);
    t.same(proxy.asked, [`${authority} user:p@ss`, `${authority} user:p@ss`]);
  }
});

t.test("what the proxy doesn't do is a target that can't be reached", async (t) => {
  const refused = "unreachable: the proxy answered 403";
  t.same(await outcomes({ baseUrl: "http://other.test", proxy: proxy.url }), [refused, refused]);
  const [call, passing] = await outcomes({
    baseUrl: "http://provider.test",
    proxy: "http://127.0.0.1:1",
  });
  t.same([call, passing], ["unreachable: ECONNREFUSED", "unreachable: ECONNREFUSED"]);
  const silentUrl = `http://127.0.0.1:${portOf(silent)}`;
  const late = "unreachable: the proxy gave no connection for 300 ms";
  const way = { baseUrl: "http://provider.test", proxy: silentUrl, connectTimeoutMs: 300 };
  t.same(await outcomes(way), [late, late]);
});

t.test("a certificate is trusted by its file alone, with a proxy and without one", async (t) => {
  const baseUrl = "https://provider.test";
  for (const ended of await outcomes({ baseUrl, proxy: proxy.url }))
    t.match(ended, /^unreachable: (?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED|UNABLE_TO)/);
  const direct = `https://127.0.0.1:${portOf(secure)}`;
  for (const ended of await outcomes({ baseUrl: direct, caFile }))
    t.match(ended, /ERR_TLS_CERT_ALTNAME_INVALID/, "it is trusted, and the name is checked");
});

t.test("a file without certificates is refused by name", async (t) => {
  const directory = t.testdir();
  const text = join(directory, "text.pem");
  writeFileSync(text, "nothing");
  const broken = join(directory, "broken.pem");
  writeFileSync(broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  for (const [path, message] of [
    ["/nowhere/ca.pem", /^ca_file can't be read: .*ENOENT.*\/nowhere\/ca\.pem/],
    [text, /^ca_file .*text\.pem holds no certificate in PEM form/],
    [broken, /^ca_file .*broken\.pem holds a broken certificate/],
  ] as const)
    t.throws(() => createEgress({ proxy: null, caFile: path }), { message });
});
