/**
 * Sessions of the dashboard through real processes, as a browser uses them: a daemon and two
 * proxies, each kind of key, pages of other sites, and the end of keys, sessions and the daemon.
 */
import { request as httpRequest } from "node:http";
import t, { type Test } from "tap";
import { version } from "../../../shared/version.js";
import { until } from "../../support/client.js";
import { makeSigner, signWithSecret } from "../../support/jwt-signer.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite, type Part, type Site } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const secret = "a-secret-of-the-issuer-that-is-long-enough";
const byMaster = { authorization: `Bearer ${masterKey}` };
const yaml = `
server: { master_key: "\${MASTER}", trusted_proxies: [127.0.0.9] }
providers: { sim: { type: simulator } }
jwt: [{ issuer: backoffice, audience: sluice, secret: ${secret}, user_path: "/jwt/{sub}" }]
rate_limits: { user_paths: [{ path: /, limits: [{ period: day, max_requests: 100000 }] }] }
`;

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** From another address of this host. */
  readonly from?: string;
}

function ask(
  url: string,
  what: string,
  { headers = {}, body, from }: Asked = {},
): Promise<Answered> {
  const [method, path] = what.split(" ") as [string, string];
  const sent = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const asked = httpRequest(
      url + path,
      { method, headers, agent: false, ...(from === undefined ? {} : { localAddress: from }) },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        answer.on("end", () => {
          const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : {};
          resolve({
            status: answer.statusCode!,
            headers: answer.headers,
            body: parsed as Answered["body"],
            text,
          });
        });
      },
    );
    asked.on("error", reject).end(sent);
  });
}

/** What a browser adds to the requests of the dashboard's own page. */
function ownPage(url: string): Record<string, string> {
  return { origin: url, "sec-fetch-site": "same-origin", "content-type": "application/json" };
}

const signIn = (url: string, key: unknown, { headers, ...more }: Asked = {}): Promise<Answered> =>
  ask(url, "POST /dashboard/session", {
    headers: { ...ownPage(url), ...headers },
    body: { key },
    ...more,
  });

function cookieOf({ headers }: Answered): string {
  return headers["set-cookie"]![0]!.split(";")[0]!;
}

async function signedIn(url: string, key: string): Promise<string> {
  const answer = await signIn(url, key);
  if (answer.status !== 204) throw new Error(`${answer.status} ${answer.text}`);
  return cookieOf(answer);
}

const statusOf = (url: string, cookie?: string): Promise<Answered> =>
  ask(url, "GET /dashboard/session", { headers: cookie === undefined ? {} : { cookie } });
const admin = (url: string, cookie: string): Promise<number> =>
  ask(url, "GET /admin/status", { headers: { cookie } }).then(({ status }) => status);

async function issue(url: string, key: object): Promise<{ id: string; value: string }> {
  const { body } = await ask(url, "POST /admin/auth-keys", { headers: byMaster, body: key });
  return body as { id: string; value: string };
}

function makeGateway(t: Pick<Test, "teardown">, master = masterKey): Site {
  return makeSite(t, yaml, { MASTER: master });
}

const site = makeGateway(t);
await site.startDaemon();
const { ready: url, ...first } = await site.startProxy();
const { ready: other } = await site.startProxy();
const soon = (): number => Math.floor(Date.now() / 1000) + 3600;
const jwtOf = (claims: object): Promise<string> =>
  signWithSecret(secret, { iss: "backoffice", aud: "sluice", exp: soon(), ...claims });

t.test("each kind of key opens a session, which tells whose it is on every proxy", async (t) => {
  const key = await issue(url, { name: "CI", user_path: "/team", labels: ["ci"] });
  const unbound = await issue(url, {});
  const jwt = await jwtOf({ sub: "ann", jti: "1" });
  const self = (user_path: string) => ({ kind: "self", user_path });
  const table: readonly (readonly [string, object])[] = [
    [masterKey, { kind: "admin" }],
    [
      ` ${key.value}\n`,
      { ...self("/team"), key_id: key.id, key_name: "CI", labels: ["ci"], tls: false, version },
    ],
    [unbound.value, { ...self("/"), key_name: null }],
    [jwt, self("/jwt/ann")],
  ];
  for (const [credential, whose] of table) {
    const answer = await signIn(url, credential);
    t.match(answer, { status: 204, text: "", headers: { "cache-control": "no-store" } });
    t.match(
      answer.headers["set-cookie"],
      exactly([/^sluice=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/]),
    );
    for (const proxy of [url, other]) {
      const { status, body, headers } = await statusOf(proxy, cookieOf(answer));
      t.match({ status, body }, { status: 200, body: whose });
      t.match(body, { signed_in_at: /Z$/, expires_at: /Z$/, server_time: /Z$/ });
      t.equal(headers["cache-control"], "no-store");
    }
    const isAdmin = credential === masterKey;
    t.equal(await admin(other, cookieOf(answer)), isAdmin ? 200 : 403);
    const health = await ask(url, "GET /health", { headers: { cookie: cookieOf(answer) } });
    t.equal("limiter" in health.body, isAdmin, "an operator's session reads the details");
    const usage = await ask(url, "GET /v1/usage", { headers: { cookie: cookieOf(answer) } });
    t.match(usage, { status: 200, body: { user_path: isAdmin ? "/" : /^\// } });
  }
  const { body } = await statusOf(url, await signedIn(url, jwt));
  t.ok(Date.parse(String(body["expires_at"])) <= soon() * 1000, "no longer than the JWT");
  t.same(Object.keys((await statusOf(url)).body), [
    "kind",
    "server_time",
    "version",
    "tls",
    "oidc",
  ]);
  t.match((await statusOf(url)).body, { kind: "none" });
});

t.test("a self session sees its own path, whatever header it sends", async (t) => {
  const key = await issue(url, { user_path: "/team/a" });
  const unbound = await issue(url, {});
  const usage = async (credential: string): Promise<unknown> => {
    const headers = { cookie: await signedIn(url, credential), "x-sluice-user-path": "/x" };
    return (await ask(url, "GET /v1/usage", { headers })).body["user_path"];
  };
  t.equal(await usage(key.value), "/team/a");
  t.equal(await usage(unbound.value), "/x", "as its key may");
  t.equal(await usage(masterKey), "/x");
});

t.test("no model endpoint takes a session", async (t) => {
  const cookie = await signedIn(url, masterKey);
  const headers = { ...ownPage(url), cookie };
  const chat = { model: "sim-fast", messages: [{ role: "user", content: "hi" }] };
  for (const what of [
    "POST /v1/chat/completions",
    "POST /v1/messages",
    "POST /v1/messages/count_tokens",
    "POST /v1/embeddings",
    "POST /v1/batches",
    "GET /v1/batches",
    "GET /v1/files",
    "GET /v1/models",
    "GET /v1beta/models",
    "GET /v1/responses/resp_1",
    "POST /p/sim/v1/chat/completions",
    "GET /v1/realtime?model=sim-fast",
  ])
    t.equal(
      (await ask(url, what, { headers, ...(what.startsWith("POST") ? { body: chat } : {}) }))
        .status,
      401,
      what,
    );
  t.equal(await admin(url, cookie), 200, "where it counts, it does");
});

t.test("wrong keys get one answer, and ten of them a minute are enough", async (t) => {
  const key = await issue(url, { user_path: "/team" });
  await ask(url, `POST /admin/auth-keys/${key.id}/deactivate`, { headers: byMaster });
  const forger = await makeSigner("forger");
  const wrong = [
    "wrong",
    `${masterKey}x`,
    masterKey.toUpperCase(),
    `sk-sluice-${"A".repeat(43)}`,
    key.value,
    "e30.e30.sig",
    await forger.sign({ iss: "backoffice", aud: "sluice", exp: soon(), sub: "ann" }),
    await signWithSecret("another-secret-that-is-long-enough-too", { iss: "backoffice" }),
    await jwtOf({ sub: "a/b" }),
    "x".repeat(10_000),
  ];
  const from = "127.0.0.2";
  const answers = [];
  for (const credential of wrong) answers.push(await signIn(url, credential, { from }));
  for (const { status, text, headers } of answers) {
    t.equal(status, 401);
    t.equal(text, answers[0]!.text);
    t.equal(headers["set-cookie"], undefined);
  }
  t.match(answers[0]!.body, { type: "authentication_error", message: "authentication failed" });
  const eleventh = await signIn(url, masterKey, { from });
  t.equal(eleventh.status, 429, "the right one isn't told from a wrong one then");
  t.match(eleventh.body, { type: "rate_limit_error", status_code: 429 });
  const wait = Number(eleventh.headers["retry-after"]);
  t.ok(wait >= 1 && wait <= 60, `an honest wait: ${wait}`);
  t.equal((await signIn(url, masterKey)).status, 204, "others may");
  const proxied = (client: string): Asked => ({
    from: "127.0.0.9",
    headers: { "x-forwarded-for": client },
  });
  for (let i = 0; i < 10; i++) await signIn(url, "wrong", proxied(`2001:db8::${i}`));
  t.equal((await signIn(url, masterKey, proxied("2001:db8::ffff"))).status, 429, "one network");
  t.equal((await signIn(url, masterKey, proxied("2001:db8:1::1"))).status, 204);
  const invented = { from, headers: { "x-forwarded-for": "192.0.2.1" } };
  t.equal(
    (await signIn(url, masterKey, invented)).status,
    429,
    "only trusted proxies are believed",
  );
});

t.test("a body without a key gets an error, and isn't repeated anywhere", async (t) => {
  const key = "sk-sluice-typed-into-the-wrong-place";
  for (const body of [`{"key": ${key}}`, "", "[]", { key: "" }, { key: 5 }, { key, more: 1 }, {}]) {
    const headers = { ...ownPage(url) };
    const { status, text } = await ask(url, "POST /dashboard/session", { headers, body });
    t.equal(status, 400, JSON.stringify(body));
    t.notMatch(text, "typed");
  }
  const large = await signIn(url, "x".repeat(20_000));
  t.equal(large.status, 413);
  // Nothing that a stranger sends is decoded.
  const compressed = await signIn(url, masterKey, { headers: { "content-encoding": "br" } });
  t.equal(compressed.status, 415);
});

t.test("what other sites make a browser send has no effect", async (t) => {
  const cookie = await signedIn(url, masterKey);
  const rule = { user_path: "/evil", limit_key: { period: "day" }, max_requests: 1 };
  const form = { "content-type": "text/plain" };
  const json = { "content-type": "application/json" };
  const crossSite = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  const sameSite = { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:1" };
  const attempts: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ["PUT /admin/rate-limits", { ...crossSite, ...json }],
    ["PUT /admin/rate-limits", { ...sameSite, ...json }],
    ["PUT /admin/rate-limits", { ...json, origin: "null" }],
    ["PUT /admin/rate-limits", json],
    ["PUT /admin/rate-limits", { ...ownPage(url), ...form }],
    ["POST /admin/rate-limits/reset", { ...crossSite, ...form }],
    ["GET /admin/rate-limits", crossSite],
    ["GET /admin/status", { ...sameSite, accept: "text/event-stream" }],
    ["GET /v1/usage", crossSite],
    ["POST /dashboard/session", { ...crossSite, ...json }],
    ["POST /dashboard/session", { ...ownPage(url), ...form }],
    ["DELETE /dashboard/session", crossSite],
    ["GET /dashboard/session", crossSite],
  ];
  for (const [what, headers] of attempts) {
    const body = what.startsWith("GET") ? undefined : rule;
    const answer = await ask(url, what, { headers: { ...headers, cookie }, body });
    t.equal(answer.status, 403, `${what} ${JSON.stringify(headers)}`);
    t.match(answer.text, "permission_error");
  }
  const { body } = await ask(url, "GET /admin/rate-limits", { headers: { cookie } });
  t.match(body["rate_limits"], exactly([{ subject: "/" }]));
  t.equal((body["rate_limits"] as unknown[]).length, 1);
  const changed = await ask(url, "PUT /admin/rate-limits", {
    headers: { ...ownPage(url), cookie },
    body: { ...rule, user_path: "/mine" },
  });
  t.equal(changed.status, 200, "the dashboard's own page changes what it likes");
});

t.test("a session ends with its key, immediately and on every proxy", async (t) => {
  const sessionOf = async (): Promise<{ id: string; cookie: string }> => {
    const { id, value } = await issue(url, { user_path: "/team" });
    return { id, cookie: await signedIn(url, value) };
  };
  const usage = async (cookie: string): Promise<readonly number[]> =>
    Promise.all(
      [url, other].map((proxy) =>
        ask(proxy, "GET /v1/usage", { headers: { cookie } }).then(({ status }) => status),
      ),
    );
  const ends: readonly (readonly [string, (id: string) => [string, unknown]])[] = [
    ["deactivated", (id) => [`POST /admin/auth-keys/${id}/deactivate`, undefined]],
    ["deleted", (id) => [`DELETE /admin/auth-keys/${id}`, undefined]],
    ["rotated away", (id) => [`POST /admin/auth-keys/${id}/rotate`, { overlap_seconds: 0 }]],
  ];
  for (const [how, request] of ends) {
    const { id, cookie } = await sessionOf();
    t.same(await usage(cookie), [200, 200]);
    const [what, body] = request(id);
    const done = await ask(other, what, { headers: byMaster, body });
    t.ok(done.status < 300, `${done.status} ${done.text}`);
    t.same(await usage(cookie), [401, 401], how);
    t.match((await statusOf(url, cookie)).body, { kind: "none" });
  }
  const cookie = await signedIn(url, await jwtOf({ sub: "bob", jti: "2" }));
  t.same(await usage(cookie), [200, 200]);
  await ask(other, "PUT /admin/denied-jwts", { headers: byMaster, body: { jti: "2" } });
  t.same(await usage(cookie), [401, 401], "a denied JWT's too");
});

t.test(
  "signing out ends the session in the daemon; signing in again ends the former",
  async (t) => {
    const cookie = await signedIn(url, masterKey);
    const again = await signIn(url, masterKey, { headers: { cookie } });
    t.equal(await admin(other, cookie), 401);
    const current = cookieOf(again);
    const out = await ask(url, "DELETE /dashboard/session", {
      headers: { ...ownPage(url), cookie: current },
    });
    t.equal(out.status, 204);
    t.match(out.headers["set-cookie"], exactly([/^sluice=; .*Max-Age=0$/]));
    t.equal(await admin(other, current), 401, "whoever has kept the cookie is signed out, too");
    const nobody = await ask(url, "DELETE /dashboard/session", { headers: ownPage(url) });
    t.equal(nobody.status, 204);
  },
);

t.test("over TLS the cookie is one that no other host can set or see", async (t) => {
  const tls = { from: "127.0.0.9", headers: { "x-forwarded-proto": "https" } };
  const secure = /^__Host-sluice=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/;
  const answer = await signIn(url, masterKey, tls);
  t.match(answer.headers["set-cookie"], exactly([secure]));
  const plain = await signedIn(url, masterKey);
  const overTls = (cookie: string): Promise<Answered> =>
    ask(url, "GET /dashboard/session", { ...tls, headers: { ...tls.headers, cookie } });
  t.match((await overTls(cookieOf(answer))).body, { kind: "admin", tls: true });
  t.match((await overTls(plain)).body, { kind: "none", tls: true });
  const { host } = new URL(url);
  const untrusted = await signIn(url, masterKey, { headers: { origin: `https://${host}` } });
  t.match(
    untrusted.headers["set-cookie"],
    exactly([secure]),
    "the page itself says that it is over TLS",
  );
  t.match((await statusOf(url, cookieOf(untrusted))).body, { kind: "admin", tls: true });
});

t.test("no log line holds a key, a token of a session or a hash of one", async (t) => {
  const cookie = await signedIn(url, masterKey);
  await first.printed(/signed in: the master key/);
  t.notMatch(first.output(), cookie.split("=")[1]!);
  t.notMatch(first.output(), masterKey);
});

t.test("sessions survive the daemon's absence, but not its restart", async (t) => {
  const site = makeGateway(t);
  let daemon: Part = await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const cookie = await signedIn(url, masterKey);
  await daemon.kill("SIGKILL");
  const away = await until(
    () => ask(url, "GET /admin/status", { headers: { cookie } }),
    ({ status }) => status !== 200,
  );
  t.match(away, { status: 503, headers: { "retry-after": "1" } });
  t.equal((await statusOf(url, cookie)).status, 503);
  const out = await ask(url, "DELETE /dashboard/session", {
    headers: { ...ownPage(url), cookie },
  });
  t.equal(out.status, 503);
  t.equal(out.headers["set-cookie"], undefined);
  t.equal((await signIn(url, masterKey)).status, 503);
  t.equal((await statusOf(url)).status, 200, "who has no session needs no daemon to know it");
  daemon = await site.startDaemon();
  await until(
    () => statusOf(url, cookie),
    ({ status }) => status === 200,
  );
  t.match((await statusOf(url, cookie)).body, { kind: "none" });
  t.equal(await admin(url, cookie), 401);
  t.ok(await signedIn(url, masterKey));
  await daemon.kill("SIGTERM");
});

t.test("another master key, or another issuer, ends the sessions of the former", async (t) => {
  const site = makeGateway(t);
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const sibling = makeGateway(t, "another-master-key");
  const { ready: changed } = await sibling.startProxy(site.socket);
  const cookie = await signedIn(url, masterKey);
  t.equal(await admin(changed, cookie), 401);
  t.equal(await admin(url, cookie), 401, "for good");
  const byJwt = await signedIn(url, await jwtOf({ sub: "ann" }));
  t.match((await statusOf(changed, byJwt)).body, { kind: "self" }, "the issuer is the same there");
});

t.test("an open gateway needs no session, and has none for a foreign page", async (t) => {
  const site = makeSite(t, "providers: { sim: { type: simulator } }");
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  t.match((await statusOf(url)).body, { kind: "open", version, tls: false });
  t.match((await statusOf(url, `sluice=${"A".repeat(43)}`)).body, { kind: "open" });
  t.equal(await admin(url, `sluice=${"A".repeat(43)}`), 200, "an old cookie says nothing here");
  const rebound = await ask(url, "GET /dashboard/session", { headers: { host: "evil.example" } });
  t.equal(rebound.status, 403);
  t.equal((await signIn(url, "anything")).status, 401);
  const { value } = await issue(url, { user_path: "/team" });
  t.match((await statusOf(url)).body, { kind: "none" }, "the first key closes it");
  t.match((await statusOf(url, await signedIn(url, value))).body, { kind: "self" });
});
