/** `server.tls` through real processes: certificates, their renewal, and clients' certificates. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import t, { type Test } from "tap";
import { askHealth } from "../../../bin/session/ask-health.js";
import { makeSite } from "../../support/processes/processes.js";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const options = { skip: hasOpenssl ? false : "openssl isn't installed" };
const masterKey = "master-key-of-the-test";

function openssl(...words: readonly string[]): void {
  const { status, stderr } = spawnSync("openssl", words, { encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${words.join(" ")}: ${stderr}`);
}

/** A directory with an authority and certificates of it. */
class Authority {
  readonly directory: string;

  constructor(t: Test) {
    this.directory = mkdtempSync(join(tmpdir(), "sluice-tls-"));
    t.teardown(() => rmSync(this.directory, { recursive: true, force: true }));
    const [key, cert] = [this.at("ca.key"), this.at("ca.crt")];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl(
      "req",
      "-x509",
      ...curve,
      "-days",
      "30",
      "-subj",
      "/CN=ca",
      "-keyout",
      key,
      "-out",
      cert,
    );
  }

  at(name: string): string {
    return join(this.directory, name);
  }

  /** Makes `NAME.crt` and `NAME.key` for these names. */
  issue(name: string, subjectAltName: string, days = 30): void {
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    const [key, csr, cert, extensions] = ["key", "csr", "crt", "ext"].map((end) =>
      this.at(`${name}.${end}`),
    ) as [string, string, string, string];
    openssl("req", "-new", ...curve, "-subj", `/CN=${name}`, "-keyout", key, "-out", csr);
    writeFileSync(extensions, `subjectAltName=${subjectAltName}\n`);
    const ca = ["-CA", this.at("ca.crt"), "-CAkey", this.at("ca.key"), "-CAcreateserial"];
    openssl(
      "x509",
      "-req",
      "-in",
      csr,
      ...ca,
      "-days",
      `${days}`,
      "-extfile",
      extensions,
      "-out",
      cert,
    );
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly serial: string;
}

interface Call {
  readonly authority: Authority;
  /** The name of the client's certificate. */
  readonly as?: string;
  readonly key?: string;
  readonly path?: string;
  readonly json?: object;
}

function call(
  url: string,
  { authority, as, key, path = "/v1/usage", json }: Call,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url + path,
      {
        method: json === undefined ? "GET" : "POST",
        agent: false,
        ca: readFileSync(authority.at("ca.crt")),
        headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
        ...(as === undefined
          ? {}
          : {
              cert: readFileSync(authority.at(`${as}.crt`)),
              key: readFileSync(authority.at(`${as}.key`)),
            }),
      },
      (answer) => {
        const { serialNumber } = (answer.socket as TLSSocket).getPeerCertificate();
        let body = "";
        answer.setEncoding("utf8");
        answer.on("data", (text: string) => (body += text));
        answer.on("end", () => resolve({ status: answer.statusCode!, body, serial: serialNumber }));
      },
    );
    asked.on("error", reject);
    asked.end(json === undefined ? undefined : JSON.stringify(json));
  });
}

const chat = { model: "sim-fast", messages: [{ role: "user", content: "hello" }] };

t.test("TLS with a certificate that is renewed without a restart", options, async (t) => {
  const authority = new Authority(t);
  authority.issue("first", "DNS:localhost,IP:127.0.0.1");
  authority.issue("second", "DNS:localhost,IP:127.0.0.1");
  const replace = (name: string, ...ends: readonly string[]): void => {
    for (const end of ends)
      copyFileSync(authority.at(`${name}.${end}`), authority.at(`tls.${end}`));
  };
  replace("first", "crt", "key");
  const site = makeSite(
    t,
    `
server:
  master_key: "${masterKey}"
  tls: { cert_file: ${authority.at("tls.crt")}, key_file: ${authority.at("tls.key")} }
  admin: { port: 0 }
metrics: { port: 0 }
providers: { sim: { type: simulator } }
`,
  );
  await site.startDaemon();
  const proxy = await site.startProxy(site.socket, { intervals: { 10000: 500 } });
  t.match(proxy.ready, /^https:\/\//);
  const ask = { authority, key: masterKey };
  const answered = await call(proxy.ready, { ...ask, path: "/v1/chat/completions", json: chat });
  t.equal(answered.status, 200, answered.body);
  const stream = { ...chat, stream: true };
  const streamed = await call(proxy.ready, { ...ask, path: "/v1/chat/completions", json: stream });
  t.match(streamed.body, /data: \[DONE\]\n\n$/);
  await proxy.printed(/"metrics_url":"http:[^"]+"/);
  const [, adminUrl = ""] = /"admin_url":"([^"]+)"/.exec(proxy.output()) ?? [];
  t.equal((await call(adminUrl, { ...ask, path: "/admin/status" })).status, 200);
  const [, metricsUrl = ""] = /"metrics_url":"([^"]+)"/.exec(proxy.output()) ?? [];
  t.equal((await fetch(`${metricsUrl}/health`)).status, 200, "probes need no TLS");
  const plainUrl = proxy.ready.replace("https", "http");
  for (const sent of [{}, { method: "POST", body: "a".repeat(300_000) }]) {
    const plain = await fetch(plainUrl, sent);
    t.equal(plain.status, 400, "plain HTTP is told to use TLS");
    t.match(await plain.json(), { error: { message: /begin the URL with https:\/\// } });
  }
  const port = Number(new URL(proxy.ready).port);
  const health = await askHealth(`https://127.0.0.1:${port}`, 5000, masterKey);
  t.match(health, { reachable: true, status: 200 });

  // A certificate without its key changes nothing.
  replace("second", "crt");
  await proxy.printed(
    /the changed TLS files can't be used.*|"reason":"the certificate and the key/,
  );
  t.equal((await call(proxy.ready, ask)).serial, answered.serial);
  replace("second", "key");
  await proxy.printed(/TLS certificate renewed/);
  const renewed = await call(proxy.ready, ask);
  t.equal(renewed.status, 200);
  t.not(renewed.serial, answered.serial);
  await proxy.kill("SIGTERM");
  t.equal(proxy.child.exitCode, 0);
});

t.test("a client certificate gives its user path", options, async (t) => {
  const authority = new Authority(t);
  authority.issue("server", "DNS:localhost,IP:127.0.0.1");
  authority.issue("app", "URI:spiffe://example.org/ns/team-a/sa/app");
  authority.issue("other", "URI:spiffe://elsewhere.example/ns/team-a/sa/app");
  const strangers = new Authority(t);
  strangers.issue("app", "URI:spiffe://example.org/ns/team-a/sa/app");
  const site = makeSite(
    t,
    `
server:
  master_key: "${masterKey}"
  tls:
    cert_file: ${authority.at("server.crt")}
    key_file: ${authority.at("server.key")}
    client_ca_file: ${authority.at("ca.crt")}
    client_id: "spiffe://example.org/ns/{namespace}/sa/{account}"
    user_path: "/k8s/{namespace}/{account}"
providers: { sim: { type: simulator } }
`,
  );
  await site.startDaemon();
  const { ready: url, kill } = await site.startProxy();
  const path = "/v1/chat/completions";
  // OpenAI's libraries always send a key.
  for (const key of [undefined, "sk-unused"]) {
    const ask = { authority, as: "app", ...(key === undefined ? {} : { key }) };
    const { status, body } = await call(url, { ...ask, path, json: chat });
    t.equal(status, 200, body);
    t.match(await call(url, ask), { status: 200, body: /"user_path": ?"\/k8s\/team-a\/app"/ });
    t.equal((await call(url, { ...ask, path: "/admin/status" })).status, 401);
  }
  t.equal((await call(url, { authority, as: "other" })).status, 401, "another trust domain");
  t.equal((await call(url, { authority, as: "other", key: masterKey })).status, 200);
  await t.rejects(call(url, { authority }), "no certificate");
  const reason = /^it requires a client certificate; metrics\.port, /;
  t.match(await askHealth(url, 60_000, null), { reachable: false, reason });
  await t.rejects(
    call(url, {
      authority: {
        at: (name) => (name === "ca.crt" ? authority.at(name) : strangers.at(name)),
      } as Authority,
      as: "app",
    }),
    "a stranger's certificate",
  );

  // Connections that never finish their handshake don't keep the proxy from ending.
  const { port } = new URL(url);
  const idle = connectPlain(Number(port), "127.0.0.1");
  await once(idle, "connect");
  const secure = connect({
    port: Number(port),
    ca: readFileSync(authority.at("ca.crt")),
    cert: readFileSync(authority.at("app.crt")),
    key: readFileSync(authority.at("app.key")),
  });
  await once(secure, "secureConnect");
  const closed = Promise.all([once(idle, "close"), once(secure, "close")]);
  idle.on("error", () => {});
  secure.on("error", () => {});
  idle.resume();
  secure.resume();
  await kill("SIGTERM");
  await closed;
});

t.test("wrong TLS files end the start with their names", options, async (t) => {
  const authority = new Authority(t);
  authority.issue("a", "DNS:localhost");
  authority.issue("b", "DNS:localhost");
  writeFileSync(authority.at("text"), "no certificate");
  for (const [cert, key, said] of [
    [
      "a.crt",
      "b.key",
      /don't belong together: server\.tls\.cert_file .*a\.crt, server\.tls\.key_file .*b\.key/,
    ],
    ["missing", "a.key", /server\.tls\.cert_file can't be read: .*missing \(ENOENT\)/],
    ["text", "a.key", /aren't a PEM certificate and its key/],
  ] as const) {
    const site = makeSite(
      t,
      `server: { tls: { cert_file: ${authority.at(cert)}, key_file: ${authority.at(key)} } }`,
    );
    await site.startDaemon();
    await t.rejects(site.startProxy(), said);
  }
});
