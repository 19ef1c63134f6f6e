/** What happens while a page is open: a request, a killed daemon, and its return. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";

const masterKey = "sk-live-0123456789abcdef";

t.test("while a page is open", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  const { page } = watched;

  t.test("refusals appear by themselves", async (t) => {
    await openDashboard(watched, gateway.url, "requests?tab=refused");
    await page.getByText("Nothing was refused").waitFor();
    await gateway.sendRounds(4);
    await page
      .getByRole("cell", { name: /minute request limit of 12 reached/ })
      .first()
      .waitFor();
    t.pass("they are there");
  });

  t.test("a daemon that is killed is missed, and welcomed back", async (t) => {
    await openDashboard(watched, gateway.url, "limits");
    await gateway.killDaemon();
    await page.getByText("The limiter daemon doesn't answer").waitFor();
    t.ok((await page.getByRole("row").count()) > 5, "what was known stays in view");
    await gateway.startDaemon();
    // Sessions are in the daemon's memory alone.
    await page.getByText("Your session has ended").waitFor();
    await page.getByLabel("Key").fill(masterKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor();
    await page.getByText("The limiter daemon doesn't answer").waitFor({ state: "detached" });
    t.same(watched.problems, []);
  });
});
