/**
 * Web pages as callers, on real processes: an open gateway is not theirs to drive, and with a key
 * those that the operator lists get what their browser asks for.
 */
import { request as httpRequest } from "node:http";
import OpenAI from "openai";
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";

const page = "https://app.example.com";

async function startGateway(env: Record<string, string>): Promise<string> {
  const site = makeSite(
    t,
    `
providers: { sim: { type: simulator } }
rate_limits: { user_paths: [{ path: /, limits: [{ period: day, max_requests: 100000 }] }] }
`,
    env,
  );
  await site.startDaemon();
  return (await site.startProxy()).ready;
}

const open = await startGateway({});
const keyed = await startGateway({ SLUICE_MASTER_KEY: "mk", SLUICE_CORS_ORIGINS: page });

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** With any headers, the host included. */
function ask(
  url: string,
  what: string,
  headers: Record<string, string>,
  sent = "",
): Promise<Answered> {
  const [method, path] = what.split(" ") as [string, string];
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url + path, { method, headers, agent: false }, (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (piece: string) => (body += piece));
      answer.on("end", () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, body }),
      );
    });
    asked.on("upgrade", (answer, socket) => {
      socket.destroy();
      resolve({ status: answer.statusCode!, headers: answer.headers, body: "" });
    });
    asked.on("error", reject).end(sent);
  });
}

const endpoints = [
  "POST /v1/chat/completions",
  "POST /v1/messages",
  "POST /v1/messages/count_tokens",
  "GET /v1/files",
  "GET /v1/models",
  "GET /v1/models/sim-fast",
  "GET /v1/usage",
  "GET /v1/realtime?model=m",
  "POST /v1/batches",
  "POST /p/sim/v1/any",
  "OPTIONS /p/sim/v1/any",
  "GET /admin/rate-limits",
  "PUT /admin/rate-limits",
  "POST /admin/rate-limits/reset",
  "GET /admin/budgets",
  "GET /admin/auth-keys",
  "POST /admin/auth-keys",
  "GET /admin/denied-jwts",
  "PUT /admin/denied-jwts",
  "POST /admin/explain",
];
const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
};
const foreignPages: readonly Record<string, string>[] = [
  { origin: "https://evil.example" },
  { origin: "null" },
  { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "cross-site" },
  { host: "rebound.example" },
  { host: "rebound.example", origin: "http://rebound.example", "sec-fetch-site": "same-origin" },
];

t.test("no endpoint of an open gateway does anything for a page of another site", async (t) => {
  for (const headers of foreignPages) {
    for (const what of endpoints) {
      const { status, body } = await ask(open, what, { "content-type": "text/plain", ...headers });
      t.equal(status, 403, `${what} ${JSON.stringify(headers)}`);
      t.match(body, /"type":"permission_error"/);
    }
    for (const path of ["/v1/realtime?model=m", "/v1/responses", "/p/sim/v1/realtime"])
      t.equal((await ask(open, `GET ${path}`, { ...upgrade, ...headers })).status, 403, path);
    const health = await ask(open, "GET /health", headers);
    t.same([health.status, health.body], [200, '{"status":"ok"}'], "alive, without details");
  }
  const keys = await ask(open, "GET /admin/auth-keys", {});
  t.same([keys.status, keys.body], [200, "[]"], "no page has issued a key");
});

t.test("programs don't notice: curl, SDKs, whatever the content type", async (t) => {
  const body = '{"model":"sim-fast","messages":[{"role":"user","content":"hi"}]}';
  for (const headers of [
    {},
    { "content-type": "application/x-www-form-urlencoded" },
    { "content-type": "text/plain" },
    { host: "localhost:1" },
    { "sec-fetch-mode": "cors" },
    { authorization: "Bearer anything" },
  ] as Record<string, string>[])
    t.equal(
      (await ask(open, "POST /v1/chat/completions", headers, body)).status,
      200,
      JSON.stringify(headers),
    );
  const client = new OpenAI({ baseURL: `${open}/v1`, apiKey: "any" });
  const answer = await client.chat.completions.create({
    model: "sim-fast",
    messages: [{ role: "user", content: "hi" }],
  });
  t.equal(answer.object, "chat.completion");
  t.match(JSON.parse((await ask(open, "GET /health", {})).body), { limiter: { reachable: true } });
});

t.test("a listed page gets right answers to its preflight and its request", async (t) => {
  const asks = {
    origin: page,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-os",
  };
  const preflight = await ask(keyed, "OPTIONS /v1/chat/completions", asks);
  t.match(preflight, {
    status: 204,
    body: "",
    headers: {
      "access-control-allow-origin": page,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "authorization,content-type,x-stainless-os",
      "access-control-max-age": "7200",
      vary: /Origin/,
      "x-request-id": /./,
    },
  });
  const body = '{"model":"sim-fast","messages":[{"role":"user","content":"hi"}],"stream":true}';
  const bearer = { authorization: "Bearer mk", origin: page, "sec-fetch-site": "cross-site" };
  for (const [headers, status] of [
    [bearer, 200],
    [{ ...bearer, authorization: "Bearer wrong" }, 401],
  ] as const)
    t.match(await ask(keyed, "POST /v1/chat/completions", headers, body), {
      status,
      headers: {
        "access-control-allow-origin": page,
        "access-control-expose-headers": /x-request-id.*retry-after.*x-ratelimit-/,
        vary: /Origin/,
      },
    });
  const other = await ask(keyed, "POST /v1/chat/completions", {
    ...bearer,
    origin: "https://evil.example",
  });
  t.equal(other.headers["access-control-allow-origin"], undefined);
  t.equal(
    (await ask(keyed, "OPTIONS /v1/models", { ...asks, origin: "https://evil.example" })).status,
    405,
  );
  t.equal(
    (await ask(keyed, "GET /v1/models", { authorization: "Bearer mk", host: "public.example" }))
      .status,
    200,
    "a credential needs no trusted host",
  );
});
