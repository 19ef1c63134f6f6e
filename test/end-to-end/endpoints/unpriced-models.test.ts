/**
 * Models without a price: budgets that refuse them (`budgets.unpriced`, and `unpriced` of one
 * budget), and what records say of the price.
 */
import t from "tap";
import { admin } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const choices = [
  { index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" },
];
let fails = "";
const sent: string[] = [];
provider.answer = (received) =>
  void received.body.then((body) => {
    const { model } = JSON.parse(body) as { readonly model: string };
    sent.push(model);
    if (model === fails) received.response.writeHead(500).end();
    else {
      received.response.setHeader("x-request-id", `req_${sent.length}`);
      replyJson(received, { id: "1", object: "chat.completion", choices, usage });
    }
  });
const site = makeSite(
  t,
  `
server: { passthrough: all }
providers:
  local: { type: vllm, base_url: "${provider.origin}/v1", models: [paid, free, "tiny:free", moderated], retries: 0, api_keys: [{ key: k, name: prod }] }
virtual_models:
  any: { strategy: failover, targets: [{ model: local/free }, { model: local/paid }] }
  paid-first: { strategy: failover, targets: [{ model: local/paid }, { model: local/free }] }
prices:
  local/paid: { input: 1, output: 1 }
  "local/*:free": { input: 0, output: 0 }
budgets:
  unpriced: refuse
  user_paths:
    - { path: /team, limits: [{ period: daily, amount: 10 }] }
    - { path: /lenient, limits: [{ period: daily, amount: 10, unpriced: allow }] }
    - { path: /lenient/strict, limits: [{ period: weekly, amount: 10, unpriced: refuse }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

async function ask(model: string, path: string, at = "/v1/chat/completions") {
  const answer = await fetch(`${url}${at}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${masterKey}`,
      "content-type": "application/json",
      "x-sluice-user-path": path,
    },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
  });
  return { status: answer.status, body: (await answer.json()) as unknown };
}

t.test(
  "a model without a price is refused to a caller under a budget, and to no other",
  async (t) => {
    t.equal((await ask("local/paid", "/team/a")).status, 200);
    t.match(await ask("local/free", "/team/a"), {
      status: 403,
      body: {
        error: {
          type: "permission_error",
          code: "model_unpriced",
          param: "model",
          message: /local\/free has no price.*\/team/,
        },
      },
    });
    const passed = "/p/local/v1/chat/completions";
    t.match((await ask("free", "/team", passed)).body, { error: { code: "model_unpriced" } });
    t.equal((await ask("local/free", "/other")).status, 200);
    t.equal((await ask("free", "/other", passed)).status, 200);
  },
);

t.test("a virtual model skips targets without a price, also when one fails", async (t) => {
  sent.splice(0);
  t.equal((await ask("any", "/team")).status, 200);
  t.equal((await ask("any", "/other")).status, 200);
  t.same(sent.splice(0), ["paid", "free"]);
  fails = "paid";
  t.equal((await ask("paid-first", "/team")).status, 500);
  t.same(sent.splice(0), ["paid"]);
  fails = "free";
  t.equal((await ask("any", "/other")).status, 200);
  t.same(sent.splice(0), ["free", "paid"]);
});

t.test("a budget that is made later applies immediately", async (t) => {
  const bearer = { authorization: `Bearer ${masterKey}` };
  fails = "";
  const budget = { scope: "user_path", subject: "/late", amount: 1 };
  t.equal((await ask("local/free", "/late")).status, 200);
  await admin(url, "PUT /budgets", { ...budget, budget_key: { period: "daily" } }, bearer);
  t.equal((await ask("local/free", "/late")).status, 403);
});

t.test("a budget says itself whether it refuses models without a price", async (t) => {
  fails = "";
  t.equal((await ask("local/free", "/lenient/a")).status, 200);
  t.match(await ask("local/free", "/lenient/strict"), {
    status: 403,
    body: {
      error: { message: /the budget \/lenient\/strict weekly refuses .* \(unpriced: refuse\)/ },
    },
  });
  sent.splice(0);
  fails = "paid";
  t.equal((await ask("paid-first", "/lenient/a")).status, 200);
  t.same(sent.splice(0), ["paid", "free"], "no budget refuses the target that takes over");
  t.equal((await ask("paid-first", "/lenient/strict")).status, 500);
  t.same(sent.splice(0), ["paid"]);
  fails = "";
  t.equal((await ask("local/tiny:free", "/team")).status, 200, "free isn't unpriced");
  const bearer = { authorization: `Bearer ${masterKey}` };
  const budget = {
    subject: "/by-hand",
    budget_key: { period: "daily" },
    amount: 1,
    unpriced: "allow",
  };
  const made = await admin(url, "PUT /budgets", budget, bearer);
  t.match(JSON.stringify(made.body), /"subject":"\/by-hand"[^{]*"unpriced":"allow"/);
  t.equal((await ask("local/free", "/by-hand")).status, 200);
  await admin(url, "PUT /budgets", { ...budget, unpriced: null }, bearer);
  t.equal((await ask("local/free", "/by-hand")).status, 403);
});

const openaiCode = { error: { code: "model_unpriced", message: /budget \/team daily/ } };

t.test("every dialect and endpoint meets a budget that refuses", async (t) => {
  const hello = [{ role: "user", content: "hi" }];
  const table: readonly (readonly [path: string, body: Record<string, unknown>, code: unknown])[] =
    [
      ["/v1/chat/completions", { model: "local/free", messages: hello, stream: true }, openaiCode],
      ["/v1/completions", { model: "local/free", prompt: "hi" }, openaiCode],
      ["/v1/responses", { model: "local/free", input: "hi" }, openaiCode],
      ["/v1/embeddings", { model: "local/free", input: "hi" }, openaiCode],
      [
        "/v1/messages",
        { model: "local/free", max_tokens: 5, messages: hello },
        { type: "error", error: { type: "permission_error", message: /has no price/ } },
      ],
      [
        "/v1beta/models/local%2Ffree:generateContent",
        { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
        { error: { code: 403, message: /has no price/ } },
      ],
    ];
  sent.splice(0);
  for (const [path, body, expected] of table) {
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${masterKey}`,
        "content-type": "application/json",
        "x-sluice-user-path": "/team/a",
      },
      body: JSON.stringify(body),
    });
    t.equal(answer.status, 403, path);
    t.match(await answer.json(), expected, path);
  }
  t.same(sent, [], "nothing was sent");
});

t.test("records say where a cost is from, and what the provider calls the request", async (t) => {
  const bearer = { authorization: `Bearer ${masterKey}` };
  sent.splice(0);
  for (const model of ["local/paid", "local/free", "local/tiny:free"])
    t.equal((await ask(model, "/recorded")).status, 200);
  const listed = await admin(url, "GET /usage/records?user_path=/recorded", undefined, bearer);
  t.match(
    listed.body["records"],
    exactly([
      { model: "tiny:free", total_cost: 0, cost_source: "operator", provider_request_id: "req_3" },
      { model: "free", total_cost: null, cost_source: null, provider_request_id: "req_2" },
      {
        ...{ model: "paid", total_cost: 0.00002, cost_source: "operator", price_list: null },
        ...{ provider_request_id: "req_1", provider_key: "prod" },
      },
    ]),
  );
});
