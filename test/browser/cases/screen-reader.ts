/** What a screen reader is told of a page: its places, names, and what happens meanwhile. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { focusOf } from "../in-page.js";

const masterKey = "sk-screen-reader-0123456789abcdef";

t.test("a screen reader", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  const { page } = watched;
  const snapshot = (selector = "body"): Promise<string> => page.locator(selector).ariaSnapshot();

  t.test("finds landmarks, one heading, and tables with their heads", async (t) => {
    await openDashboard(watched, gateway.url, "limits");
    const all = await snapshot();
    for (const place of ["- banner:", '- navigation "Pages":', "- main:", "- status"])
      t.ok(all.includes(place), place);
    t.equal(all.match(/- heading .*\[level=1\]/g)?.length, 1);
    const table = await snapshot("main table");
    t.match(table, /- table "Limits of user paths and their use":/);
    for (const head of [
      "User path",
      "Period",
      "Requests",
      "Tokens and cost",
      "Resets in",
      "Actions",
    ])
      t.ok(table.includes(`- columnheader "${head}"`), head);
    t.match(table, /- cell "\/support\/triage"/, "the whole path, not its place in the tree");
    t.match(table, /in sluice\.yaml:\d+ user_paths\[0\]\.limits\[0\]/, "why there are no buttons");
    const named = page.getByRole("link", { name: "Limits" });
    t.equal(await named.getAttribute("aria-current"), "page");
  });

  t.test("announces a dialog, its errors, and what was done", async (t) => {
    await page.getByRole("button", { name: "Add limit" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a limit" });
    await dialog.waitFor();
    await dialog.getByRole("textbox", { name: "Path" }).fill("/read-out");
    await dialog.getByLabel("Requests at most").fill("many");
    await page.keyboard.press("Enter");
    const wrong = dialog.getByLabel("Requests at most");
    await page.waitForSelector("[aria-invalid=true]");
    const described = await wrong.getAttribute("aria-describedby");
    t.ok(described, "the error belongs to its field");
    t.match(await page.locator(`#${described}`).innerText(), /number/i);
    await wrong.fill("5");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("status").getByText("/read-out").waitFor();
    t.equal(await page.getByRole("status").getAttribute("aria-live"), "polite");
    t.match(await focusOf(page), { tag: "button", name: "Add limit" });
  });

  t.test("finds the fields of a rule for agents and batches, with what is saved", async (t) => {
    await page.getByRole("button", { name: "Add limit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Path" }).fill("/batches");
    await dialog.getByLabel("Per", { exact: true }).selectOption("concurrent");
    const tokens = dialog.getByLabel("Tokens of unfinished batches at most");
    const loops = dialog.getByLabel("Agents that repeat themselves or don't end");
    await tokens.fill("5000");
    await loops.fill("refuse_after=1");
    await page.keyboard.press("Enter");
    await dialog.getByText(/^refuse_after must be 0 or an integer from 2 to 100/).waitFor();
    await loops.fill("warn_after=4, refuse_after=9, compare_results=no");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /Edit.*\/batches/ }).click();
    t.equal(await tokens.inputValue(), "5000");
    t.equal(await loops.inputValue(), "warn_after=4, refuse_after=9, compare_results=false");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  t.test("begins at the heading of the page that was opened", async (t) => {
    await page.getByRole("link", { name: "Budgets" }).click();
    // It is shown a moment before it has the focus.
    await page.locator("h1:focus").getByText("Budgets").waitFor();
    t.match(await focusOf(page), { tag: "h1", name: "Budgets" });
    t.equal(await page.title(), "Budgets · Sluice");
  });

  t.test("announces immediately that the daemon is away", async (t) => {
    await gateway.killDaemon();
    await page.getByRole("alert").getByText("The limiter daemon doesn't answer").waitFor();
    t.same(watched.problems, []);
  });
});
