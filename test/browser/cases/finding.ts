/** Ctrl-K by the keyboard alone, and what a screen reader is told of it. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { violationsOf } from "../accessibility.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";

const masterKey = "sk-finding-0123456789abcdef";

t.test("Ctrl-K", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.sendRounds(1);
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ model: "gpt-5.4", messages: [{ role: "user", content: "Hello" }] }),
  });
  const requestId = answer.headers.get("x-request-id") ?? "";
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  const { page } = watched;
  const field = page.getByRole("combobox", { name: /A page, tenant/ });
  const places = [
    ["audi", "Audit", "Page", "audit"],
    ["agents/lena", "/support/agents/lena", "Tenant", "tenants/support/agents/lena"],
    ["notebook", "notebook-mara", "Key · key_", "keys?search=key_"],
    ["groq", "groq", "Limit · minute", "limits?scope=provider&search=groq"],
    ["research/evals", "/research/evals", "Budget · daily", "budgets?search=%2Fresearch%2Fevals"],
    [requestId, requestId, "Request", `requests?id=${requestId}`],
  ] as const;

  t.test("finds pages, tenants, keys, limits, budgets and requests", async (t) => {
    await openDashboard(watched, gateway.url);
    for (const [typed, text, kind, address] of places) {
      await page.keyboard.press("Control+k");
      await field.waitFor();
      await page.keyboard.type(typed);
      const option = page.getByRole("option").filter({ hasText: kind }).filter({ hasText: text });
      await option.first().waitFor();
      for (let i = 0; (await option.first().getAttribute("aria-selected")) !== "true"; i++) {
        if (i > 40) throw new Error(`the arrows don't reach ${text}`);
        await page.keyboard.press("ArrowDown");
      }
      const active = await field.getAttribute("aria-activedescendant");
      t.equal(await option.first().getAttribute("id"), active, "the reader is told which");
      if (typed === "groq") t.same(await violationsOf(page), []);
      await page.keyboard.press("Enter");
      await field.waitFor({ state: "detached" });
      t.ok(page.url().startsWith(`${gateway.url}/dashboard/${address}`), page.url());
      await page.locator("h1").waitFor();
    }
    t.same(watched.problems, []);
  });

  t.test("a request's page has the price that it was charged, and the limits", async (t) => {
    await openDashboard(watched, gateway.url, `requests?id=${requestId}`);
    const usage = page.getByRole("table", { name: "Usage" });
    t.match(await usage.innerText(), /\$\d\S* at \$\d\S* per million/);
    t.match(await usage.innerText(), /price: operator/);
    const limits = page.getByRole("table", { name: "Limits on the path" });
    t.match(await limits.innerText(), /minute/);
    await page.getByText("as they are now").first().waitFor();
    t.same(await violationsOf(page), []);
    t.same(watched.problems, []);
  });

  t.test("says how many it found, also if there are none, and closes on Escape", async (t) => {
    await openDashboard(watched, gateway.url, "limits");
    await page.getByRole("button", { name: "Add limit" }).focus();
    await page.keyboard.press("Control+k");
    await field.waitFor();
    await page.keyboard.type("nothing has this name");
    const dialog = page.getByRole("dialog", { name: "Find" });
    await dialog.getByRole("status").getByText("0 results").waitFor({ state: "attached" });
    await dialog.getByText("Nothing is found").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    t.equal(await page.locator(":focus").innerText(), "Add limit", "the focus is back");
    t.same(watched.problems, []);
  });
});
