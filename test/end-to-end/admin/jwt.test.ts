/**
 * Callers by JWT through real processes: a daemon, a proxy, a key file, and a key server on
 * loopback.
 */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { keySet, makeSigner, serviceAccountClaims } from "../../support/jwt-signer.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

async function call(
  url: string,
  token: string | null,
  headers: Record<string, string> = {},
  path = "/v1/chat/completions",
): Promise<Answer> {
  const post = path === "/v1/chat/completions";
  const response = await fetch(`${url}${path}`, {
    method: post ? "POST" : "GET",
    headers: {
      "content-type": "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(post
      ? { body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "hi" }] }) }
      : {}),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** A key server whose answer is the test's; null: 500. */
async function startKeyServer(t: Test): Promise<{ readonly url: string; keys: string | null }> {
  const server = createServer(
    (_, response) =>
      void response.writeHead(keyServer.keys === null ? 500 : 200).end(keyServer.keys ?? ""),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const keyServer: { readonly url: string; keys: string | null } = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    keys: null,
  };
  return keyServer;
}

t.test(
  "a Kubernetes service account calls on its own path, by a key file, beside the master key",
  async (t) => {
    const cluster = await makeSigner("cluster", "RS256");
    const site = makeSite(
      t,
      `
server: { master_key: ${masterKey} }
jwt:
  - type: kubernetes
    audience: sluice
    jwks_file: jwks.json
rate_limits:
  user_paths: [{ path: /k8s/team-a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 2 }] }]
`,
    );
    writeFileSync(join(site.directory, "jwks.json"), keySet(cluster));
    await site.startDaemon();
    const { ready: url } = await site.startProxy();
    const token = await cluster.sign(serviceAccountClaims("team-a", "app"));

    const first = await call(url, token, { "x-sluice-user-path": "/somewhere/else" });
    t.equal(first.status, 200);
    t.equal(
      first.headers.get("x-ratelimit-remaining-requests"),
      "1",
      "the token's path is limited, not the header's",
    );
    t.equal(
      (await call(url, token, { "x-sluice-user-path": "a:b" })).status,
      200,
      "nor is the header even read",
    );
    const third = await call(url, token);
    t.match(third, {
      status: 429,
      body: {
        error: {
          message: `rate limit exceeded for /k8s/team-a: ${agesSeconds}s request limit of 2 reached`,
        },
      },
    });
    t.equal(
      (await call(url, await cluster.sign(serviceAccountClaims("team-b", "app")))).status,
      200,
      "another namespace isn't",
    );

    t.equal((await call(url, masterKey)).status, 200);
    const { status, body } = await admin(url, "GET /rate-limits", undefined, {
      authorization: `Bearer ${token}`,
    });
    t.match([status, body], exactly([403, { type: "permission_error", code: null }]));
    const listed = await admin(url, "GET /rate-limits", undefined, {
      authorization: `Bearer ${masterKey}`,
    });
    t.match(
      [listed.status, listed.body.rate_limits],
      exactly([200, [{ subject: "/k8s/team-a", requests_used: 2 }]]),
    );

    const other = await cluster.sign(serviceAccountClaims("team-b", "app"));
    const { sub } = serviceAccountClaims("team-b", "app") as { sub: string };
    const deny = (method: string): Promise<Response> =>
      fetch(`${url}/admin/denied-jwts`, {
        method,
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({ sub }),
      });
    t.equal((await deny("PUT")).status, 200);
    t.equal((await call(url, other)).status, 401, "a denied subject, on the next request");
    t.equal((await deny("DELETE")).status, 204);
    t.equal((await call(url, other)).status, 200);

    const otherSigner = await makeSigner("cluster", "RS256");
    const wrong: Readonly<Record<string, string>> = {
      "another's signature": await otherSigner.sign(serviceAccountClaims("team-b", "app")),
      expired: await cluster.sign({ ...serviceAccountClaims("team-b", "app"), exp: 1_700_000_000 }),
      "another audience": await cluster.sign({
        ...serviceAccountClaims("team-b", "app"),
        aud: "other",
      }),
      "another issuer": await cluster.sign({
        ...serviceAccountClaims("team-b", "app"),
        iss: "other",
      }),
      "no path": await cluster.sign({
        ...serviceAccountClaims("team-b", "app"),
        "kubernetes.io": { namespace: "a/b", serviceaccount: { name: "app" } },
      }),
      unsigned: `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify({ ...serviceAccountClaims("team-b", "app"), exp: 4_000_000_000 })).toString("base64url")}.`,
      huge: `${token}${"x".repeat(9_000)}`,
      "no JWT": "sk-nothing",
    };
    for (const [name, bad] of Object.entries(wrong)) {
      const answer = await call(url, bad);
      t.match(
        answer,
        {
          status: 401,
          body: {
            error: {
              type: "authentication_error",
              message: "authentication failed",
              code: null,
              param: null,
            },
          },
        },
        name,
      );
      t.match(
        answer.headers.get("www-authenticate"),
        name === "expired" ? /"expired at 2023-11-14T22:13:20Z"$/ : /^Bearer$/,
        name,
      );
    }
    t.match(await call(url, null), {
      status: 401,
      body: { error: { message: "missing credentials" } },
    });
  },
);

t.test(
  "without a master key an issuer closes the gateway; keys at an address rotate, and without any there is a 503",
  async (t) => {
    const keyServer = await startKeyServer(t);
    const old = await makeSigner("old");
    const next = await makeSigner("next");
    const site = makeSite(
      t,
      `
jwt: [{ issuer: me, audience: sluice, jwks_url: "${keyServer.url}", user_path: team }]
rate_limits:
  user_paths: [{ path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100 }] }]
`,
    );
    await site.startDaemon();
    const away = await site.startProxy();
    const claims = { iss: "me", aud: "sluice", team: "/team/app" };
    const token = await old.sign(claims);
    const unavailable = await call(away.ready, token);
    t.match(unavailable, { status: 503, body: { error: { type: "internal_error" } } });
    t.equal(unavailable.headers.get("retry-after"), "1");
    t.equal(
      (await call(away.ready, await old.sign({ ...claims, iss: "other" }))).status,
      401,
      "a token of an unknown issuer is still wrong",
    );
    await away.kill("SIGTERM");
    t.match(away.output(), /can't be loaded: its tokens get 503/);

    keyServer.keys = keySet(old);
    const proxy = await site.startProxy();
    const url = proxy.ready;
    t.equal((await call(url, null)).status, 401, "the gateway isn't open");
    t.equal((await call(url, null, {}, "/v1/models")).status, 401);
    t.equal((await admin(url, "GET /rate-limits")).status, 401);
    t.equal((await call(url, token)).status, 200);
    t.equal((await call(url, token, {}, "/v1/models")).status, 200);
    keyServer.keys = keySet(next);
    t.equal((await call(url, await next.sign(claims))).status, 200, "rotated in");
    t.equal((await call(url, await old.sign({ ...claims, jti: "2" }))).status, 401, "rotated out");
    keyServer.keys = null;
    t.equal(
      (await call(url, await next.sign({ ...claims, jti: "3" }))).status,
      200,
      "the key server's outage fails no request",
    );
    await proxy.kill("SIGTERM");
    t.match(proxy.output(), /"open":false/);
    t.notMatch(proxy.output(), token, "no token is logged");
    t.match(proxy.output(), /JWT refused: /, "but why it was refused is");
  },
);

t.test("a request whose JWT expires or is denied while it waits for room gets 401", async (t) => {
  const signer = await makeSigner("team");
  const site = makeSite(
    t,
    `
server: { master_key: ${masterKey} }
waiting: { max_seconds: 300 }
jwt: [{ issuer: me, audience: sluice, jwks_file: jwks.json, user_path: "/{team}" }]
rate_limits:
  user_paths:
    - { path: /denied, limits: [{ period_seconds: 120, max_requests: 1 }] }
    - { path: /expired, limits: [{ period_seconds: 120, max_requests: 1 }] }
`,
  );
  writeFileSync(join(site.directory, "jwks.json"), keySet(signer));
  await site.startDaemon();
  const proxy = await site.startProxy();
  const url = proxy.ready;
  const bearer = { authorization: `Bearer ${masterKey}` };
  const claims = { iss: "me", aud: "sluice", sub: "app" };
  const tokenOf = (team: string, more: object = {}): Promise<string> =>
    signer.sign({ ...claims, team, ...more });
  const wait = { prefer: "wait=300" };
  const waiting = (count: number): Promise<unknown> =>
    until(
      () => admin(url, "GET /queues", undefined, bearer),
      ({ body }) => (body as unknown as { waiting: number }).waiting === count,
    );

  t.equal((await call(url, await tokenOf("denied"))).status, 200);
  const denied = call(url, await tokenOf("denied", { jti: "stolen" }), wait);
  await waiting(1);
  const stays = call(url, await tokenOf("denied"), wait).catch(() => "still waits");
  await waiting(2);
  const put = await admin(url, "PUT /denied-jwts", { jti: "stolen" }, bearer);
  t.equal(put.status, 200);
  t.equal((await denied).status, 401);
  await waiting(1);

  t.equal((await call(url, await tokenOf("expired"))).status, 200);
  // Clocks may differ by ten seconds.
  const exp = Math.floor(Date.now() / 1000) - 4;
  const expired = await call(url, await tokenOf("expired", { exp }), wait);
  t.equal(expired.status, 401);
  t.match(expired.headers.get("www-authenticate"), /expired at/);
  await waiting(1);
  const { body } = await admin(url, "GET /rate-limits", undefined, bearer);
  t.same(
    body.rate_limits.map(({ requests_used: used }) => used),
    [1, 1],
    "neither counts",
  );
  await proxy.kill("SIGKILL");
  t.equal(await stays, "still waits");
});
