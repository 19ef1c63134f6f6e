/** Children that share a rule's cap, through real processes. */
import t from "tap";
import { admin } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

/** The tokens of a request of each tenant. */
const sizes = { small: 1, middle: 10, large: 100 };
const tenants = Object.keys(sizes) as (keyof typeof sizes)[];

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const served = new Map<string, number>();
let answered = 0;
const enough = 900;
/** What was served before the last requests, none of which another one follows. */
let snapshot: ReadonlyMap<string, number> = served;
upstream.answer = (received) => {
  void received.body.then(
    (body) => {
      const tenant = tenants.find((name) => body.includes(`from ${name}`))!;
      const total = 2 * sizes[tenant];
      if (++answered === enough) snapshot = new Map(served);
      served.set(tenant, (served.get(tenant) ?? 0) + total);
      replyJson(received, {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "gpt-test",
        choices: [
          { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" },
        ],
        usage: { prompt_tokens: 1, completion_tokens: total - 1, total_tokens: total },
      });
    },
    () => {},
  );
};

const master = "master-key.of_the-test";
const site = makeSite(
  t,
  `
waiting: { max_seconds: 600, default_seconds: 600 }
providers:
  stub: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret, models: [gpt-test], retries: 0 }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period: concurrent, max_requests: 1, shares: {} }] }
`,
  { SLUICE_MASTER_KEY: master },
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;
const bearer = { authorization: `Bearer ${master}` };

async function ask(tenant: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...bearer,
      "x-sluice-user-path": `/team/${tenant}`,
    },
    body: JSON.stringify({
      model: "stub/gpt-test",
      messages: [{ role: "user", content: `from ${tenant}` }],
    }),
  });
  await response.arrayBuffer();
  return response.status;
}

function jain(values: readonly number[]): number {
  const sum = values.reduce((all, value) => all + value, 0);
  return sum ** 2 / (values.length * values.reduce((all, value) => all + value ** 2, 0));
}

t.test("tenants with requests of 1:10:100 tokens get equal tokens of a slot", async (t) => {
  const statuses = new Map<number, number>();
  const client = async (tenant: string): Promise<void> => {
    while (answered < enough) {
      const status = await ask(tenant);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(tenants.flatMap((tenant) => Array.from({ length: 6 }, () => client(tenant))));
  t.same([...statuses.keys()], [200], "no 429");
  const index = jain(tenants.map((tenant) => snapshot.get(tenant) ?? 0));
  t.ok(index >= 0.99, `${index}: ${JSON.stringify(Object.fromEntries(snapshot))}`);
});

t.test("shares are written, explained and removed", async (t) => {
  const rule = { user_path: "/team", limit_key: { period: "minute" }, max_requests: 10 };
  const shares = { children: { small: { floor: 0.5, weight: 2 } } };
  const put = await admin(url, "PUT /rate-limits", { ...rule, shares }, bearer);
  t.equal(put.status, 200, JSON.stringify(put.body));
  t.equal(await ask("small"), 200);
  const file = { rate_limits: [{ ...rule, shares }] };
  const applied = await admin(url, "POST /limits", file, bearer);
  t.equal(applied.status, 200, JSON.stringify(applied.body));
  const question = { user_path: "/team/small", model: "stub/gpt-test" };
  const explained = await admin(url, "POST /explain", question, bearer);
  const share = '"child_share":{"child":"small","unit":"requests","weight":2';
  t.ok(JSON.stringify(explained.body).includes(share), JSON.stringify(explained.body));
  const removed = await admin(url, "PUT /rate-limits", { ...rule, shares: null }, bearer);
  t.notMatch(JSON.stringify(removed.body), /"floor"/);
});
