/** Names that try to be markup, in each place where a caller or an operator may choose one. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { reconciliation } from "../../limiterd/usage/reconciliation.js";
import { agesSeconds } from "../../support/ages.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { imagesOf } from "../in-page.js";

const masterKey = "sk-hostile-0123456789abcdef";
const markup = `<img src=x onerror="console.error('ran')">`;

t.test("names that are markup are shown as text", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const headers = { authorization: `Bearer ${masterKey}` };
  const ask = async (method: string, path: string, body: unknown): Promise<number> => {
    const answer = await fetch(gateway.url + path, {
      method,
      headers: { ...headers, "x-sluice-user-path": encodeURI(`/${markup}`) },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const key = { name: markup, user_path: `/${markup}`, labels: [markup] };
  t.equal(await ask("POST", "/admin/auth-keys", key), 201);
  const limit = { limit_key: { period_seconds: agesSeconds }, max_requests: 1 };
  for (const rule of [
    { user_path: `/${markup}`, ...limit },
    { scope: "provider", subject: markup, ...limit },
    { scope: "model", subject: markup, ...limit },
  ])
    await ask("PUT", "/admin/rate-limits", rule);
  await ask("PUT", "/admin/budgets", {
    user_path: `/${markup}`,
    budget_key: { period: "daily" },
    amount: 5,
  });
  const kept = reconciliation({
    ...{ provider: markup, source: markup, prices: [markup], notes: [markup] },
    models: [
      { project: markup, model: markup, recorded_usd: "1", billed_usd: "2", causes: { tier: "1" } },
    ],
    quantities: [{ model: markup, tier: markup, kind: markup, recorded: 1, billed: 2 }],
    unknown_lines: [{ text: markup, billed_usd: "1" }],
  });
  t.equal(await ask("POST", "/admin/reconciliations", kept), 200);
  for (const model of ["gpt-5.4", markup, "gpt-5.4"])
    await ask("POST", "/v1/chat/completions", {
      model,
      messages: [{ role: "user", content: "Hello" }],
    });
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  let shown = 0;
  for (const path of [
    "",
    "limits",
    "limits?scope=provider",
    "limits?scope=model",
    "budgets",
    "usage?by=path",
    "usage?by=key",
    "usage?by=label",
    "requests?tab=refused",
    "requests?tab=recent",
    "bills",
    "keys",
    `usage?path=${encodeURIComponent(markup)}`,
    `nowhere/${encodeURIComponent(markup)}`,
  ]) {
    await openDashboard(watched, gateway.url, path);
    t.equal(await imagesOf(watched.page), 0, `${path}: no markup came of it`);
    const text = await watched.page.innerText("body");
    if (text.includes("onerror")) shown++;
  }
  t.ok(shown >= 7, `it is shown on ${shown} pages`);
  t.same(watched.problems, []);
});
