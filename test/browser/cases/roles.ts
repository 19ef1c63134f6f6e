/** What a role offers: no button that the gateway would refuse. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";

const masterKey = "sk-roles-0123456789abcdef";
const changes = /^(?:Add|Reset|Edit|Delete|Raise|Issue|Rotate|Deactivate|Choose|Send)\b/;

t.test("roles", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const browser = await launchBrowser(t);
  const issue = async (role: string, path: string): Promise<string> => {
    const answer = await fetch(`${gateway.url}/admin/auth-keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify({ name: role, role, user_path: path }),
    });
    return ((await answer.json()) as { value: string }).value;
  };
  const offered = async (role: string, path: string): Promise<Record<string, number>> => {
    const key = await issue(role, path);
    const watched = await openGateway(browser, gateway.url, { key });
    const { page } = watched;
    const counts: Record<string, number> = {};
    for (const list of ["limits", "budgets", "keys"]) {
      await openDashboard(watched, gateway.url, list);
      await page.locator("td.lead").first().waitFor();
      counts[list] =
        (await page.getByRole("button", { name: changes }).count()) +
        (await page.getByRole("checkbox", { name: changes }).count());
    }
    t.same(watched.problems, [], `${role} of ${path}`);
    await watched.context.close();
    return counts;
  };

  t.test("a viewer is offered no change", async (t) => {
    t.same(await offered("viewer", "/"), { limits: 0, budgets: 0, keys: 0 });
  });

  t.test("an operator is offered limits and budgets, and no keys", async (t) => {
    const { limits, budgets, keys } = await offered("operator", "/");
    t.ok(limits! > 20 && budgets! > 10, `${limits}, ${budgets}`);
    t.equal(keys, 0);
  });

  t.test("a subtree's operator is offered those below its path alone", async (t) => {
    const key = await issue("operator", "/support");
    const watched = await openGateway(browser, gateway.url, { key });
    const { page } = watched;
    await openDashboard(watched, gateway.url, "limits");
    await page.locator("td.lead").first().waitFor();
    const count = (name: RegExp): Promise<number> => page.getByRole("button", { name }).count();
    t.equal(await count(/of \/support$/), 0, "what is on the path stands above the role");
    t.ok((await count(/^Edit the limit of \/support\/triage/)) > 0);
    t.equal(await count(/^Reset all/), 0, "that is of the whole gateway");
    t.equal(await count(/^Add limit/), 1);
    t.same(watched.problems, []);
  });

  t.test("an administrator is offered all", async (t) => {
    const { keys } = await offered("admin", "/");
    t.ok(keys! > 10, `${keys}`);
  });
});
