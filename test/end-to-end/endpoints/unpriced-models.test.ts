/** `budgets.unpriced: refuse`: callers under a budget use models with a price alone. */
import t from "tap";
import { admin } from "../../support/client.js";
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
    else replyJson(received, { id: "1", object: "chat.completion", choices, usage });
  });
const site = makeSite(
  t,
  `
server: { passthrough: all }
providers:
  local: { type: vllm, base_url: "${provider.origin}/v1", models: [paid, free], retries: 0 }
virtual_models:
  any: { strategy: failover, targets: [{ model: local/free }, { model: local/paid }] }
  paid-first: { strategy: failover, targets: [{ model: local/paid }, { model: local/free }] }
prices:
  local/paid: { input: 1, output: 1 }
budgets:
  unpriced: refuse
  user_paths: [{ path: /team, limits: [{ period: daily, amount: 10 }] }]
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

t.test("a budget that is made later is met at once", async (t) => {
  const bearer = { authorization: `Bearer ${masterKey}` };
  fails = "";
  const budget = { scope: "user_path", subject: "/late", amount: 1 };
  t.equal((await ask("local/free", "/late")).status, 200);
  await admin(url, "PUT /budgets", { ...budget, budget_key: { period: "daily" } }, bearer);
  t.equal((await ask("local/free", "/late")).status, 403);
});
