/**
 * What must stay secret, through real processes: no credential in any answer, log line, list,
 * export or file; no caller sees another's usage; and /admin is closed to every caller but the
 * master key and keys with a role (`admin/roles.test.ts`). The table of what is shown where is
 * test/security-claims.md.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { adminRoutes } from "../../../proxy/http/paths/admin-routes.js";
import { loadConfig } from "../../../shared/config/load-config.js";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { run } from "../../bin/command-session.js";
import { signWithSecret } from "../../support/jwt-signer.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const master = "master-key-of-the-test";
const providerKey = "sk-provider-9f8e7d6c5b4a";
const jwtSecret = "0123456789abcdef-of-the-issuer-0123456789";
const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
server: { master_key: "\${MASTER}" }
limiter: { deadline_ms: 30000 }
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: "\${PROVIDER}", models: ["*"] }
  nowhere: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: "\${PROVIDER}", models: ["*"] }
jwt: [{ issuer: office, audience: sluice, secret: "\${JWT}", user_path: "/jwt/{sub}" }]
prices: { test/model: { input: 3, output: 15 } }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period: day, max_requests: 100000 }] }
    - { path: /team/b, limits: [{ period: hour, max_requests: 7777 }] }
budgets:
  user_paths: [{ path: /team/b, limits: [{ period: daily, amount: 7777 }] }]
  labels: [{ label: green, limits: [{ period: daily, amount: 5 }] }]
`,
  { MASTER: master, PROVIDER: providerKey, JWT: jwtSecret },
);
// Its clock stands still, so that two lists differ only in what was done between them.
const daemon = await site.startClockedDaemon(Date.now());
const proxy = await site.startProxy();
const url = proxy.ready;

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Every answer and output, but for the one that shows a new key. */
const shown: string[] = [];

async function call(
  method: string,
  path: string,
  token: string | null,
  {
    body,
    userPath,
    quiet = false,
  }: { readonly body?: unknown; readonly userPath?: string; readonly quiet?: boolean } = {},
): Promise<Answer> {
  const headers = {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(userPath === undefined ? {} : { "x-sluice-user-path": userPath }),
  };
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!quiet)
    shown.push(
      `${method} ${path} ${response.status} ${JSON.stringify([...response.headers])} ${text}`,
    );
  return {
    status: response.status,
    body: text.startsWith("{") ? (JSON.parse(text) as Answer["body"]) : { text },
  };
}

async function issue(
  userPath: string,
  labels: readonly string[],
): Promise<{ readonly id: string; readonly value: string }> {
  const { body } = await call("POST", "/admin/auth-keys", master, {
    body: { user_path: userPath, labels },
    quiet: true,
  });
  return { id: String(body["id"]), value: String(body["value"]) };
}

const ofA = await issue("/team/a", ["green"]);
const ofB = await issue("/team/b", []);
const gone = await issue("/team/a", []);
await call("POST", `/admin/auth-keys/${gone.id}/deactivate`, master);
const token = await signWithSecret(jwtSecret, { iss: "office", aud: "sluice", sub: "ann" });
const forged = await signWithSecret(`${jwtSecret}x`, { iss: "office", aud: "sluice", sub: "ann" });
const unknown = makeManagedKey().value;
const chatBody = (model = "test/model", rest: object = {}): object => ({
  model,
  messages: [{ role: "user", content: "hi" }],
  ...rest,
});

t.test(
  "a caller sees the usage, budgets and limits of its own path, whatever it says",
  async (t) => {
    const spenders = [
      { credential: ofA.value, path: "/team/a", tokens: 11 },
      { credential: ofB.value, path: "/team/b", tokens: 222 },
      { credential: token, path: "/jwt/ann", tokens: 3333 },
    ];
    for (const { credential, tokens } of spenders) {
      upstream.answer = (one) => replyCompletion(one, tokens);
      t.equal(
        (await call("POST", "/v1/chat/completions", credential, { body: chatBody() })).status,
        200,
      );
    }
    const limits: Readonly<Record<string, object>> = {
      "/team/a": {
        rate_limits: [{ subject: "/team" }],
        budgets: [{ scope: "label", subject: "green" }],
      },
      "/team/b": {
        rate_limits: [{ subject: "/team" }, { subject: "/team/b" }],
        budgets: [{ subject: "/team/b" }],
      },
      "/jwt/ann": { rate_limits: [], budgets: [] },
    };
    for (const { credential, path, tokens } of spenders) {
      for (const userPath of [undefined, "/", "/team", "/team/a", "/team/b", "/jwt/ann", "a:b"]) {
        for (const query of ["", "?user_path=/&path=/team/b&key=key_2"]) {
          const { status, body } = await call(
            "GET",
            `/v1/usage${query}`,
            credential,
            userPath === undefined ? {} : { userPath },
          );
          t.match(
            { status, body },
            {
              status: 200,
              body: {
                user_path: path,
                usage: { total_requests: 1, total_tokens: tokens },
                ...limits[path],
              },
            },
            `${path} as ${userPath}`,
          );
          for (const list of ["rate_limits", "budgets"] as const)
            t.equal(
              (body[list] as unknown[]).length,
              ((limits[path] as Record<string, unknown[]>)[list] as unknown[]).length,
            );
        }
      }
    }
    t.match(
      await call("GET", "/v1/usage", master, { userPath: "/team" }),
      { body: { usage: { total_tokens: 233 } } },
      "the master key may name any path",
    );
  },
);

const adminRequests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ["GET", "/admin/rate-limits"],
  ["PUT", "/admin/rate-limits", { user_path: "/x", limit_key: { period: "day" }, max_requests: 1 }],
  ["DELETE", "/admin/rate-limits", { user_path: "/team", limit_key: { period: "day" } }],
  ["GET", "/admin/limits"],
  ["POST", "/admin/limits", { rate_limits: [], prune: true }],
  ["POST", "/admin/rate-limits/test", { user_path: "/x", limit_key: {}, max_requests: 1 }],
  [
    "POST",
    "/admin/rate-limits/raise",
    {
      user_path: "/team",
      limit_key: { period: "day" },
      max_requests: 9,
      for_seconds: 9,
      reason: "x",
    },
  ],
  ["DELETE", "/admin/rate-limits/raise", { user_path: "/team", limit_key: { period: "day" } }],
  ["POST", "/admin/rate-limits/reset-one", { user_path: "/team", period: "day" }],
  ["POST", "/admin/rate-limits/reset", { confirmation: "reset" }],
  ["GET", "/admin/budgets"],
  ["PUT", "/admin/budgets", { user_path: "/x", budget_key: { period: "daily" }, amount: 1 }],
  ["DELETE", "/admin/budgets", { user_path: "/team/b", budget_key: { period: "daily" } }],
  [
    "POST",
    "/admin/budgets/raise",
    {
      user_path: "/team/b",
      budget_key: { period: "daily" },
      amount: 9,
      for_seconds: 9,
      reason: "x",
    },
  ],
  ["DELETE", "/admin/budgets/raise", { user_path: "/team/b", budget_key: { period: "daily" } }],
  ["POST", "/admin/budgets/reset-one", { user_path: "/team/b", period: "daily" }],
  ["POST", "/admin/budgets/reset", { confirmation: "reset" }],
  ["GET", "/admin/budgets/settings"],
  ["PUT", "/admin/budgets/settings", { daily_reset_hour: 3 }],
  ["GET", "/admin/auth-keys"],
  ["POST", "/admin/auth-keys", { user_path: "/" }],
  ["POST", `/admin/auth-keys/${ofB.id}/rotate`, {}],
  ["POST", `/admin/auth-keys/${ofB.id}/deactivate`],
  ["GET", "/admin/denied-jwts"],
  ["PUT", "/admin/denied-jwts", { sub: "nobody" }],
  ["DELETE", "/admin/denied-jwts", { sub: "nobody" }],
  ["GET", "/admin/targets"],
  ["GET", "/admin/rate-limits/children"],
  ["GET", "/admin/in-flight"],
  ["GET", "/admin/refusals"],
  ["GET", "/admin/upstream-limits"],
  ["GET", "/admin/status"],
  ["GET", "/admin/live"],
  ["GET", "/admin/usage"],
  ["GET", "/admin/usage/records"],
  ["GET", "/admin/usage/export"],
  ["GET", "/admin/usage/follow"],
  ["POST", "/admin/usage/reprice"],
  ["GET", "/admin/budgets/children"],
  ["GET", "/admin/providers"],
  ["GET", "/admin/config"],
  ["POST", "/admin/explain", { user_path: "/team/b", model: "test/model" }],
  ["GET", "/admin/alerts"],
  ["POST", "/admin/alerts/test"],
  ["GET", "/admin/requests"],
  ["GET", "/admin/requests/req_1"],
  ["GET", "/admin/sessions"],
  ["GET", "/admin/tenants"],
  ["GET", "/admin/traffic"],
  ["GET", "/admin/audit"],
  ["GET", "/admin/reconciliations"],
  ["POST", "/admin/reconciliations", { provider: "openai" }],
  ["GET", "/admin/queues"],
];

t.test(
  "every admin endpoint is shut to keys and JWTs, and to who shows nothing or something wrong; nothing is done",
  async (t) => {
    const known = adminRoutes.flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    t.same(
      known.filter(
        (route) => !adminRequests.some(([method, path]) => `${method} ${path}` === route),
      ),
      [],
      "no endpoint is missing in this test",
    );
    const state = async (): Promise<unknown> =>
      Promise.all(
        ["/admin/rate-limits", "/admin/budgets", "/admin/budgets/settings", "/admin/auth-keys"].map(
          async (path) => (await call("GET", path, master)).body,
        ),
      );
    const before = await state();
    const table = [
      ...[ofA.value, ofB.value, token].map((credential) => ({
        credential,
        status: 403,
        type: "permission_error",
      })),
      ...[gone.value, unknown, forged, "sk-nothing", `${master}x`, providerKey].map(
        (credential) => ({ credential, status: 401, type: "authentication_error" }),
      ),
      { credential: null, status: 401, type: "authentication_error" },
    ];
    for (const [method, path, body] of adminRequests) {
      for (const { credential, status, type } of table) {
        const answer = await call(method, path, credential, body === undefined ? {} : { body });
        if (answer.status !== status || answer.body["type"] !== type)
          t.fail(`${method} ${path}: ${JSON.stringify(answer)}`);
      }
    }
    t.same(await state(), before);
  },
);

t.test(
  "wrong tokens of every kind get one answer on /v1/usage and on requests, byte for byte",
  async (t) => {
    const answers = new Set<string>();
    for (const credential of [
      gone.value,
      unknown,
      forged,
      "sk-nothing",
      `${master}x`,
      master.toUpperCase(),
      ofA.id,
      providerKey,
      jwtSecret,
      `${token}x`,
    ]) {
      for (const [method, path, body] of [
        ["GET", "/v1/usage"],
        ["GET", "/v1/usage?days=0"],
        ["POST", "/v1/chat/completions", chatBody()],
        ["POST", "/v1/embeddings", "{"],
      ] as const) {
        const { status, body: answer } = await call(
          method,
          path,
          credential,
          body === undefined ? {} : { body },
        );
        answers.add(`${status} ${JSON.stringify(answer)}`);
      }
    }
    t.same(
      [...answers],
      [
        '401 {"error":{"type":"authentication_error","message":"authentication failed","code":null,"param":null}}',
      ],
    );
  },
);

t.test(
  "after all that could go wrong, no credential is in an answer, a log line, a list, an export, or the store",
  async (t) => {
    const ask = (credential: string, body: unknown): Promise<Answer> =>
      call("POST", "/v1/chat/completions", credential, { body });
    const says = `Incorrect API key provided: ${providerKey}. It came as Bearer ${providerKey}`;
    for (const credential of [master, ofA.value, token]) {
      for (const status of [400, 401, 403, 404, 429, 500]) {
        upstream.answer = (one) =>
          void one.response
            .writeHead(status, {
              "content-type": "application/json",
              "www-authenticate": `Bearer ${providerKey}`,
            })
            .end(
              JSON.stringify({ error: { message: says, code: providerKey, param: providerKey } }),
            );
        t.equal(
          (await ask(credential, chatBody())).status,
          status === 401 || status === 403 ? 502 : status,
        );
      }
      upstream.answer = (one) => void one.response.writeHead(502).end(`<html>${says}</html>`);
      await ask(credential, chatBody());
      upstream.answer = (one) =>
        void one.response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ error: { message: says } }));
      await ask(credential, chatBody());
      upstream.answer = (one) =>
        void beginStream(one).end(
          `${chunk("x")}${chunk("", "stop")}${usageChunk(5)}data: [DONE]\n\n`,
        );
      await ask(credential, chatBody("test/model", { stream: true }));
      await ask(credential, chatBody("nowhere/model"));
      await ask(credential, chatBody("unknown"));
      await ask(credential, "{");
      await ask(credential, { ...chatBody(), max_tokens: credential });
      for (const path of [
        "/v1/models",
        "/v1/usage",
        "/v1/usage?days=x",
        "/v1/nothing",
        "/health",
        "/ready",
      ])
        await call("GET", path, credential);
    }
    t.equal(
      upstream.calls.filter((one) =>
        [master, ofA.value, ofB.value, token].some((secret) =>
          (JSON.stringify(one.headers) + one.path).includes(secret),
        ),
      ).length,
      0,
      "no provider saw a caller's credential",
    );
    // The live stream has no end; what it tells the lists tell, too.
    for (const [method, path] of adminRequests)
      if (method === "GET" && path !== "/admin/live") await call(method, path, master);
    await call("POST", "/admin/explain", master, { body: { key: ofA.value, model: "test/model" } });
    const socket = ["--socket", site.socket];
    for (const argv of [
      ["status"],
      ["limits", "list"],
      ["budgets", "list"],
      ["keys", "list"],
      ["keys", "list", "--json"],
      ["usage", "--by", "model"],
      ["usage", "export", "--format", "ndjson"],
      ["usage", "export", "--format", "csv"],
    ]) {
      const { out, err, exitCode } = await run([...argv, ...socket], {});
      t.equal(exitCode, 0, `${argv.join(" ")}: ${err}`);
      shown.push(out, err);
    }
    await proxy.kill("SIGTERM");
    await daemon.kill("SIGTERM");
    const logs = [proxy.output(), daemon.output()];
    t.match(logs[0], new RegExp(`"key":"${ofA.id}"`), "the log names keys by their ids");
    const store = readdirSync(join(site.directory, "data"), {
      recursive: true,
      withFileTypes: true,
    })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name)));
    const secrets = {
      master,
      providerKey,
      jwtSecret,
      token,
      forged,
      ofA: ofA.value,
      ofB: ofB.value,
      gone: gone.value,
      unknown,
    };
    for (const [name, secret] of Object.entries(secrets)) {
      const hash = createHash("sha256").update(secret).digest();
      const forms = [
        secret,
        secret.slice(-20),
        Buffer.from(secret).toString("base64"),
        Buffer.from(secret).toString("hex"),
      ];
      for (const form of forms) {
        t.same(
          shown.filter((text) => text.includes(form)).map((text) => text.slice(0, 120)),
          [],
          `${name} was disclosed`,
        );
        t.notOk(
          logs.some((text) => text.includes(form)),
          `${name} in a log`,
        );
        t.notOk(
          store.some((file) => file.includes(form)),
          `${name} in the store`,
        );
      }
      for (const form of [hash.toString("hex"), hash.toString("base64url")])
        t.notOk(
          [...shown, ...logs].some((text) => text.includes(form)),
          `the hash of ${name}`,
        );
    }
  },
);

t.test("errors in a configuration are reported without its secrets", async (t) => {
  const secret = "s3cr3t-that-nobody-may-see";
  const broken = [
    `server: { master_key: [${secret}] }`,
    `server: { master_key: { a: ${secret} } }`,
    `providers: { p: { type: openai, api_key: [${secret}] } }`,
    `providers: { p: { type: nothing, api_key: ${secret} } }`,
    `jwt: [{ issuer: a, audience: b, secret: [${secret}], user_path: /x }]`,
    'server: { master_key: "${KEY}", port: x }',
  ];
  for (const yaml of broken) {
    const file = join(site.directory, "sluice.yaml");
    writeFileSync(file, yaml);
    const loaded = loadConfig({ file, env: { KEY: secret }, cwd: site.directory, uid: 0 });
    t.notOk(loaded.ok, yaml);
    t.notMatch(JSON.stringify(loaded), secret, yaml);
  }
});
