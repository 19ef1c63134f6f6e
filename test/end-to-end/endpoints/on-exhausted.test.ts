/**
 * What happens when a rule or a budget is exhausted (`on_exhausted`): another model serves, which
 * is charged, or the caller is warned. In every dialect, whole and streamed.
 */
import { readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

const site = makeSite(
  t,
  `
providers:
  simulator: { type: simulator, models: [big, small, tiny] }
virtual_models:
  cheap: { strategy: failover, targets: [{ model: simulator/small }] }
  cheaper: { strategy: failover, targets: [{ model: simulator/tiny }] }
  gone: { targets: [{ model: simulator/tiny }] }
prices:
  "simulator/*": { input: 1, output: 1 }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, on_exhausted: { use: cheap } }] }
    - { path: /warned, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, on_exhausted: warn }] }
    - { path: /strict, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, on_exhausted: { use: cheap } }, { period_seconds: ${agesSeconds - 1}, max_requests: 2 }] }
    - { path: /chain, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, on_exhausted: { use: cheap } }, { period_seconds: ${agesSeconds - 1}, max_requests: 2, on_exhausted: { use: cheaper } }] }
    - { path: /loop, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, on_exhausted: { use: cheap } }] }
    - { path: /gone, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, on_exhausted: { use: gone } }] }
    - { path: /loop, limits: [{ period_seconds: ${agesSeconds - 1}, max_requests: 1, models: [small], on_exhausted: { use: cheap } }] }
budgets:
  user_paths:
    - { path: /spent, limits: [{ period_seconds: ${agesSeconds}, amount: 0.000000000001, on_exhausted: { use: cheap } }] }
    - { path: /tracked, limits: [{ period_seconds: ${agesSeconds}, amount: 0.000000000001, on_exhausted: warn }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
// The proxy starts without this model, which the daemon still knows.
const { configFile } = site;
writeFileSync(configFile, readFileSync(configFile, "utf8").replaceAll(/^.*gone.*\n/gm, ""));
const { ready: url } = await site.startProxy();

const messages = [{ role: "user", content: "Hello!" }];
const dialects: readonly (readonly [path: string, body: object])[] = [
  ["/v1/chat/completions", { model: "big", messages }],
  ["/v1/chat/completions", { model: "big", messages, stream: true }],
  ["/v1/messages", { model: "big", messages, max_tokens: 9 }],
  ["/v1/messages", { model: "big", messages, max_tokens: 9, stream: true }],
  ["/v1/responses", { model: "big", input: "Hello!" }],
  ["/v1/responses", { model: "big", input: "Hello!", stream: true }],
  ["/v1beta/models/big:generateContent", { contents: [{ parts: [{ text: "Hello!" }] }] }],
  ["/v1beta/models/big:streamGenerateContent", { contents: [{ parts: [{ text: "Hello!" }] }] }],
];

async function ask(
  userPath: string,
  [path, body] = dialects[0]!,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${masterKey}`,
      "x-sluice-user-path": userPath,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  await answer.text();
  const header = (name: string): string | null => answer.headers.get(name);
  return {
    status: answer.status,
    target: header("x-sluice-target"),
    fallback: header("x-sluice-fallback"),
    exhausted: header("x-sluice-exhausted"),
  };
}

const served = { status: 200, target: "simulator/big", fallback: null, exhausted: null };
const refused = { status: 429, target: null, fallback: null, exhausted: null };

type Item = Readonly<Record<string, unknown>>;

async function listed(what: string, name: string): Promise<readonly Item[]> {
  const headers = { authorization: `Bearer ${masterKey}` };
  const { body } = await admin(url, `GET /${what}`, undefined, headers);
  return (body as unknown as Record<string, readonly Item[]>)[name]!;
}

const ruleOn = async (path: string): Promise<Item> =>
  (await listed("rate-limits", "rate_limits")).find(({ subject }) => subject === path)!;

const spentOn = async (path: string): Promise<number> =>
  Number((await listed("budgets", "budgets")).find(({ subject }) => subject === path)!["spent"]);

t.test("another model serves in each dialect, unless the caller forbids it", async (t) => {
  t.same(await ask("/team"), served);
  const exhausted = `the ${agesSeconds}s request limit of /team`;
  const cheap = { status: 200, target: "simulator/small", fallback: "cheap", exhausted };
  for (const dialect of dialects) t.same(await ask("/team", dialect), cheap, dialect[0]);
  for (const dialect of dialects)
    t.same(await ask("/team", dialect, { "x-sluice-fallback": "none" }), refused, dialect[0]);
  const rule = await ruleOn("/team");
  t.match(rule, { requests_used: 9, requests_remaining: 0, on_exhausted: { use: "cheap" } });
});

t.test("a rule that warns refuses nothing and says so", async (t) => {
  t.same(await ask("/warned"), served);
  const exhausted = `the ${agesSeconds}s request limit of /warned`;
  for (const dialect of dialects)
    t.same(await ask("/warned", dialect), { ...served, exhausted }, dialect[0]);
  t.match(await ruleOn("/warned"), { requests_used: 9, on_exhausted: "warn" });
});

t.test("rules that refuse hold for the other model, too, and nothing goes round", async (t) => {
  t.same(await ask("/strict"), served);
  t.match(await ask("/strict"), { status: 200, fallback: "cheap" });
  t.same(await ask("/strict"), refused);
  t.same(await ask("/chain"), served);
  t.match(await ask("/chain"), { status: 200, target: "simulator/small", fallback: "cheap" });
  t.match(await ask("/chain"), { status: 200, target: "simulator/tiny", fallback: "cheaper" });
  t.same(await ask("/loop"), served);
  for (let i = 0; i < 3; i++) t.match(await ask("/loop"), { status: 200, fallback: "cheap" });
  t.same(await ask("/gone"), served);
  t.same(await ask("/gone"), refused, "a model that is gone");
});

t.test("a budget is charged for the other model, exactly", async (t) => {
  for (const path of ["/spent", "/tracked"]) {
    t.same(await ask(path), served);
    await until(
      () => spentOn(path),
      (spent) => spent > 0,
    );
    for (const dialect of dialects) {
      const answer = await ask(path, dialect);
      t.match(answer, { status: 200, exhausted: `the ${agesSeconds}s budget of ${path}` });
      t.equal(answer.fallback, path === "/spent" ? "cheap" : null);
    }
  }
  const records = await until(
    () => listed("usage/records?user_path=/spent&limit=100", "records"),
    ({ length }) => length === 1 + dialects.length,
  );
  const others = records.filter(({ model }) => model === "small");
  t.equal(others.length, dialects.length);
  t.ok(others.every(({ requested_model: asked }) => asked === "big"));
  const cost = records.reduce((sum, { total_cost: one }) => sum + Number(one), 0);
  const spent = await spentOn("/spent");
  t.ok(Math.abs(spent - cost) < 1e-12, `${spent} of ${cost}`);
});

t.test("a write without the field keeps it, as a save of the dashboard does", async (t) => {
  const headers = { authorization: `Bearer ${masterKey}` };
  const put = (what: string, body: object): Promise<unknown> =>
    admin(url, `PUT /${what}`, { subject: "/kept", ...body }, headers);
  const use = { use: "cheap" };
  const rule = { limit_key: { period: "day" }, max_requests: 5 };
  const budget = { budget_key: { period: "daily" }, amount: 5 };
  for (const [what, name, body] of [
    ["rate-limits", "rate_limits", rule],
    ["budgets", "budgets", budget],
  ] as const) {
    const kept = async (): Promise<unknown> =>
      (await listed(what, name)).find(({ subject }) => subject === "/kept")!["on_exhausted"];
    await put(what, { ...body, on_exhausted: use });
    t.same(await kept(), use, what);
    await put(what, body);
    t.same(await kept(), use, what);
    await put(what, { ...body, on_exhausted: "warn" });
    t.equal(await kept(), "warn", what);
    await put(what, { ...body, on_exhausted: "refuse" });
    t.equal(await kept(), undefined, what);
  }
});

t.test("a write that names no model is refused with those that exist", async (t) => {
  const headers = { authorization: `Bearer ${masterKey}` };
  for (const [what, body] of [
    ["rate-limits", { limit_key: { period: "day" }, max_requests: 5 }],
    ["budgets", { budget_key: { period: "daily" }, amount: 5 }],
  ] as const) {
    const write = { subject: "/typo", ...body, on_exhausted: { use: "cheep" } };
    const { status, body: answer } = await admin(url, `PUT /${what}`, write, headers);
    t.match(
      { status, ...answer },
      {
        status: 400,
        param: "on_exhausted.use",
        message: /such as cheap, .*; did you mean cheap\?$/,
      },
    );
  }
});
