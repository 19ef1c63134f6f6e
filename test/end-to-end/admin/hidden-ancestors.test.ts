/**
 * `usage.show_ancestors: false`, through real processes: no answer to a caller, nor to a role for a
 * subtree, has a figure of a limit above its path, and refusals say that one is reached and for how
 * long. Every figure of such a limit ends in 017; every limit of the caller's own in 033.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { agesSeconds } from "../../support/ages.js";
import { until } from "../../support/client.js";
import { keySet, makeSigner } from "../../support/jwt-signer.js";
import { makeSite } from "../../support/processes/processes.js";

const master = "master-key-of-the-test";
const issuer = await makeSigner("issuer");
const site = makeSite(
  t,
  `
usage: { show_ancestors: false }
server: { master_key: ${master} }
jwt: [{ issuer: "https://issuer.test", audience: sluice, jwks_file: jwks.json, user_path: path }]
providers:
  simulator: { type: simulator, models: [big, banned, small, free, capped, dear] }
mcp_servers: { tracker: { url: "http://127.0.0.1:1/mcp" } }
waiting: { max_seconds: 2 }
prices:
  simulator/big: { input: 0, output: 0 }
  simulator/small: { input: 0, output: 0 }
  simulator/capped: { input: 0, output: 0 }
  simulator/dear: { input: 1000000, output: 1000000 }
virtual_models:
  spare: { strategy: failover, targets: [{ model: simulator/small }] }
rate_limits:
  models: [{ model: simulator/capped, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1 }] }]
  providers: [{ name: simulator, limits: [{ period_seconds: ${agesSeconds}, max_requests: 900017 }] }]
  user_paths:
    - path: /
      limits:
        - { period_seconds: ${agesSeconds}, max_requests: 100017, max_tokens: 200017 }
        - { period: hour, max_input_tokens: 300017 }
        - { period: concurrent, max_enqueued_tokens: 400017 }
    - { path: /full, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1017 }] }
    - { path: /none, limits: [{ period: day, max_requests: 0, models: [banned] }] }
    - path: /tools
      limits:
        - { period: day, max_requests: 0, models: ["mcp:tracker/drop"] }
        - { period_seconds: ${agesSeconds}, max_requests: 1, models: ["mcp:tracker/once"] }
    - { path: /busy, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /warned, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1017, on_exhausted: warn }] }
    - { path: /hard, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1017, hold: hard }] }
    - { path: /full/a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 500033 }] }
    - { path: /own/a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 500033 }] }
budgets:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, amount: 700017 }] }
    - { path: /spent, limits: [{ period_seconds: ${agesSeconds}, amount: 1.017 }] }
    - { path: /unpriced, limits: [{ period_seconds: ${agesSeconds}, amount: 800017, unpriced: refuse }] }
    - { path: /own/a, limits: [{ period_seconds: ${agesSeconds}, amount: 600033 }] }
  labels: [{ label: green, limits: [{ period_seconds: ${agesSeconds}, amount: 950017 }] }]
`,
);
writeFileSync(join(site.directory, "jwks.json"), keySet(issuer));
await site.startDaemon();
const url = (await site.startProxy()).ready;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function call(
  path: string,
  token: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function issue(body: object): Promise<string> {
  const answer = await call("/admin/auth-keys", master, { name: "of the test", ...body });
  assert.equal(answer.status, 201, answer.text);
  return String((JSON.parse(answer.text) as { readonly value: string }).value);
}

function jwtOf(path: string): Promise<string> {
  return issuer.sign({ iss: "https://issuer.test", aud: "sluice", sub: "app", path });
}

/** Caps of limits above, and what few requests leave of them. */
const figure = /017\b|\b[1-46-9]000[01]\d\b|\b[1-8]?999\d\d\b/;

function holdsNoFigure(t: Test, { text, headers }: Answer, what: string): void {
  const limits = [...headers].filter(
    ([name]) => !["date", "x-request-id", "request-id", "content-length"].includes(name),
  );
  const others = text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\b(?:req|chatcmpl|msg|resp)_[\w-]+/g, "");
  t.notMatch(others, figure, `${what}: body`);
  t.notMatch(JSON.stringify(limits), figure, `${what}: headers`);
  for (const [name] of limits) {
    if (!/^(?:x-ratelimit|anthropic-ratelimit)-/.test(name)) continue;
    t.match(
      headers.get(name),
      /^(?:500033|5000\d\d|\d{1,5}|\d{9,10})$/,
      `${what}: ${name} is of its own`,
    );
  }
}

const messages = [{ role: "user", content: "Hello!" }];
const long = (chars: number): object[] => [{ role: "user", content: "word ".repeat(chars / 5) }];
const dialects = (model: string): readonly (readonly [path: string, body: object])[] => [
  ["/v1/chat/completions", { model, messages }],
  ["/v1/chat/completions", { model, messages, stream: true }],
  ["/v1/messages", { model, messages, max_tokens: 90 }],
  ["/v1/messages", { model, messages, max_tokens: 90, stream: true }],
  ["/v1/responses", { model, input: "Hello!" }],
  ["/v1/responses", { model, input: "Hello!", stream: true }],
  [`/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: "Hello!" }] }] }],
  [
    `/v1beta/models/${model}:streamGenerateContent`,
    { contents: [{ parts: [{ text: "Hello!" }] }] },
  ],
];
const agents = ["curl/8", "codex_cli/0.1", "opencode/1.18"];

/** What refuses: the path of the caller, the model, the status, and the words. */
const refusals: readonly (readonly [path: string, model: string, status: number, words: string])[] =
  [
    ["/full/a", "big", 429, "rate limit exceeded: a limit above /full/a is reached"],
    ["/spent/a", "dear", 429, "budget exceeded: a budget above /spent/a is used up"],
    ["/none/a", "banned", 403, "model not allowed: by a rule above /none/a"],
    ["/other/a", "capped", 429, "rate limit exceeded: a limit above /other/a is reached"],
    ["/unpriced/a", "free", 403, "a budget above /unpriced/a refuses such models"],
  ];

for (const [path, model, status, words] of refusals) {
  t.test(`a refusal by what is above ${path} has no figure, in each dialect`, async (t) => {
    for (const [kind, token] of [
      ["a key", await issue({ user_path: path, labels: ["green"] })],
      ["a JWT", await jwtOf(path)],
    ] as const) {
      // The first request is admitted, and uses up what refuses the others.
      await call("/v1/chat/completions", token, { model, messages: long(4000) });
      for (const [endpoint, body] of dialects(model)) {
        for (const agent of agents) {
          const answer = await call(endpoint, token, body, { "user-agent": agent });
          const what = `${kind}, ${agent}, ${endpoint}`;
          const isOfOpencode = agent.startsWith("opencode") && status === 429;
          t.equal(answer.status, isOfOpencode ? 402 : status, `${what}: ${answer.text}`);
          t.ok(
            answer.text.includes(isOfOpencode ? "above" : words),
            `${what} says it: ${answer.text}`,
          );
          if (status === 429) t.ok(Number(answer.headers.get("retry-after")) > 0, what);
          holdsNoFigure(t, answer, what);
        }
      }
    }
  });
}

t.test("an answer has the headers of the caller's own limits, and no others", async (t) => {
  const own = await issue({ user_path: "/own/a", labels: ["green"] });
  const bare = await issue({ user_path: "/bare/a" });
  for (const [endpoint, body] of dialects("big")) {
    const answer = await call(endpoint, own, body);
    t.equal(answer.status, 200, answer.text);
    t.match(answer.headers.get("x-ratelimit-limit-requests"), "500033");
    t.equal(answer.headers.get("x-ratelimit-limit-tokens"), null);
    holdsNoFigure(t, answer, endpoint);
    const without = await call(endpoint, bare, body);
    t.equal(without.headers.get("x-ratelimit-limit-requests"), null, endpoint);
    holdsNoFigure(t, without, endpoint);
  }
  const byMaster = await call(
    "/v1/chat/completions",
    master,
    { model: "big", messages },
    { "x-sluice-user-path": "/own/a" },
  );
  holdsNoFigure(t, byMaster, "a service that calls for a tenant");
});

t.test("a limit above that only warns, or cuts an answer, is named by its place", async (t) => {
  const warned = await issue({ user_path: "/warned/a" });
  await call("/v1/chat/completions", warned, { model: "big", messages: long(4000) });
  const answer = await call("/v1/chat/completions", warned, { model: "big", messages });
  t.equal(answer.headers.get("x-sluice-exhausted"), "a limit above /warned/a");
  holdsNoFigure(t, answer, "warned");
  const hard = await issue({ user_path: "/hard/a" });
  for (let i = 0; i < 4; i++) {
    const answer = await call("/v1/chat/completions", hard, { model: "big", messages: long(600) });
    holdsNoFigure(t, answer, "hard cap");
    if (i === 0) t.equal(answer.headers.get("x-sluice-hard-cap"), "true", answer.text);
  }
  for (const [endpoint, body] of dialects("big"))
    holdsNoFigure(t, await call(endpoint, hard, body), `hard cap, ${endpoint}`);
  const { text } = await until(
    () => call("/admin/usage/records?user_path=/hard", master),
    (records) => records.text.includes('"cut_by":"'),
  );
  t.match(text, /"cut_by":"a limit above \/hard\/a"/);
  t.notMatch(text, /limit of \/hard/);
});

t.test("refusals of tools, and of who would wait, name no limit above", async (t) => {
  const token = await issue({ user_path: "/tools/a" });
  const answers = [];
  for (const [tool, times] of [
    ["drop", 1],
    ["once", 2],
  ] as const) {
    for (let i = 0; i < times; i++) {
      const params = { name: tool, arguments: {} };
      const body = { jsonrpc: "2.0", id: i, method: "tools/call", params };
      const accept = { accept: "application/json, text/event-stream" };
      answers.push([tool, await call("/mcp/tracker", token, body, accept)] as const);
    }
  }
  t.match(answers[0]?.[1].text, "tool not allowed: by a rule above /tools/a");
  t.match(answers[2]?.[1].text, "a limit above /tools/a is reached");
  const full = await issue({ user_path: "/full/a" });
  await call("/v1/chat/completions", full, { model: "big", messages: long(4000) });
  for (const [endpoint, body] of dialects("big")) {
    const answer = await call(endpoint, full, body, { prefer: "respond-async, wait=1" });
    t.match(answer.text, "a limit above /full/a is reached");
    answers.push([`waiting, ${endpoint}`, answer] as const);
  }
  for (const [what, answer] of answers) {
    t.notMatch(answer.text, /for \/(?:tools|full)\b(?!\/a)/, what);
    holdsNoFigure(t, answer, what);
  }
});

t.test("usage shows the limits and budgets of the caller's own path alone", async (t) => {
  for (const token of [
    await issue({ user_path: "/own/a", labels: ["green"] }),
    await jwtOf("/own/a"),
  ]) {
    const answer = await call("/v1/usage?by=model", token);
    const body = JSON.parse(answer.text) as Record<string, readonly { readonly subject: string }[]>;
    t.strictSame(
      [body["rate_limits"]!, body["budgets"]!].map((list) => list.map(({ subject }) => subject)),
      [["/own/a"], ["/own/a"]],
    );
    holdsNoFigure(t, answer, "usage");
  }
  const all = await call("/v1/usage", master);
  t.match(all.text, /700017/, "nothing is above /");
});

t.test("a role for a subtree sees nothing above it, whatever it asks", async (t) => {
  for (const [path, model, , words] of refusals.filter(([, , , text]) => /^\w+ /.test(text))) {
    for (const role of ["viewer", "admin"]) {
      const token = await issue({ role, user_path: path });
      const { refusals: listed } = JSON.parse((await call("/admin/refusals", master)).text) as {
        readonly refusals: readonly { readonly request_id: string; user_path: string }[];
      };
      const id = listed.find(({ user_path }) => user_path === path)?.request_id ?? null;
      if (id === null) continue;
      for (const [name, answer] of [
        ["explain", await call("/admin/explain", token, { user_path: path, model })],
        ["explain below", await call("/admin/explain", token, { user_path: `${path}/b`, model })],
        ["explain a refusal", await call("/admin/explain", token, { request_id: id })],
        ["refusals", await call("/admin/refusals", token)],
        ["a request", await call(`/admin/requests/${id}`, token)],
        ["requests", await call("/admin/requests", token)],
        ["records", await call("/admin/usage/records", token)],
        ["tenants", await call("/admin/tenants", token)],
        ["limits", await call("/admin/rate-limits", token)],
        ["budgets", await call("/admin/budgets", token)],
        [
          "limits test",
          await call("/admin/rate-limits/test", token, {
            user_path: path,
            limit_key: { period: "day" },
            max_requests: 5,
          }),
        ],
      ] as const) {
        t.equal(answer.status, 200, `${name} of ${path}: ${answer.text}`);
        holdsNoFigure(t, answer, `${name} of ${path} by ${role}`);
        if (/explain|refusals|a request/.test(name))
          t.ok(answer.text.includes(words), `${name} of ${path} says it: ${answer.text}`);
      }
      const { text } = await call("/admin/explain", master, { request_id: id });
      t.notMatch(text, / above /, "the operator sees what refuses");
    }
  }
});
