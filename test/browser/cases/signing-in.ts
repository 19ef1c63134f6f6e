/** Signing in with each kind of credential, what doesn't open anything, and when it is over. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { cookiesOf, withinReachOfScripts } from "../in-page.js";

const masterKey = "sk-signing-in-0123456789abcdef";

interface IssuedKey {
  readonly id: string;
  readonly value: string;
}

t.test("signing in", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const browser = await launchBrowser(t);
  const asAdmin = { authorization: `Bearer ${masterKey}` };
  const issue = async (role: object = {}): Promise<IssuedKey> => {
    const answer = await fetch(`${gateway.url}/admin/auth-keys`, {
      method: "POST",
      headers: asAdmin,
      body: JSON.stringify({ name: "reader", user_path: "/readers", ...role }),
    });
    return (await answer.json()) as IssuedKey;
  };

  t.test("a wrong key gets an error, and the master key opens the overview", async (t) => {
    const watched = await openGateway(browser, gateway.url);
    const { page } = watched;
    await openDashboard(watched, gateway.url, "limits");
    await page.getByLabel("Key").fill("sk-nobody");
    await page.keyboard.press("Enter");
    await page.getByText("This key isn't valid here").waitFor();
    t.equal(await page.getByLabel("Key").inputValue(), "", "what was typed isn't kept");
    await page.getByLabel("Key").fill(masterKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor();
    t.equal(page.url(), `${gateway.url}/dashboard/limits`, "the page that was asked for");
    const reached = await withinReachOfScripts(page);
    t.notMatch(reached, masterKey, "no script reaches the key");
    t.equal(await cookiesOf(page), "", "nor the session");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    t.same(watched.problems, []);
  });

  t.test("a managed key sees its own usage, and nothing once it is deactivated", async (t) => {
    const { id, value } = await issue();
    const watched = await openGateway(browser, gateway.url, { key: value });
    const { page } = watched;
    await openDashboard(watched, gateway.url);
    await page.getByRole("heading", { level: 1, name: "My usage" }).waitFor();
    await page.getByText("/readers").first().waitFor();
    t.equal(await page.getByRole("link", { name: "Keys" }).count(), 0, "no page of an operator");
    await openDashboard(watched, gateway.url, "keys");
    await page.getByText("Page not found").waitFor();
    await openDashboard(watched, gateway.url);
    const gone = await fetch(`${gateway.url}/admin/auth-keys/${id}/deactivate`, {
      method: "POST",
      headers: asAdmin,
    });
    t.equal(gone.status, 204);
    await page.getByText("Your session has ended").waitFor({ timeout: 15_000 });
    t.same(watched.problems, []);
  });

  t.test("a role for a subtree opens pages that ask for nothing it may not read", async (t) => {
    const { value } = await issue({ role: "viewer" });
    const watched = await openGateway(browser, gateway.url, { key: value });
    const { page } = watched;
    const refused: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    for (const name of ["Limits", "Budgets", "Tenants", "Requests", "Keys", "Audit"]) {
      await openDashboard(watched, gateway.url, name.toLowerCase());
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.waitForLoadState("networkidle");
    }
    t.same(refused, []);
    t.same(watched.problems, []);
  });
});
