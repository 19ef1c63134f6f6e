/** With a million records the pages of requests and of usage show their first rows at once. */
import { join } from "node:path";
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";
import { seedUsage } from "../../support/seed-usage.js";
import { firstRowsMs, launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { rowsOf } from "../in-page.js";

const masterKey = "sk-many-records-0123456789abcdef";
const records = 1_000_000;
const days = 30;
/** What a phone draws without a pause. */
const rowsMax = 400;

t.test("a million records", { skip: noBrowser }, async (t) => {
  const site = makeSite(t, "providers: {sim: {type: simulator}}\n", {
    SLUICE_MASTER_KEY: masterKey,
  });
  await seedUsage(join(site.directory, "data"), { records, days, endMs: Date.now() });
  await site.startDaemon();
  const url = (await site.startProxy()).ready;
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, url, { key: masterKey });
  const { page } = watched;
  for (const [path, row] of [
    ["requests?tab=recent", "/team9/app99"],
    ["requests?tab=recent&path=/team3", "/team3/app33"],
    ["usage?by=path", "/team0"],
    ["usage?by=model&days=30", "model-0"],
  ] as const) {
    const { ms, msMax } = await firstRowsMs(watched, url, { path, row });
    t.ok(ms < msMax, `/dashboard/${path}: ${ms} of ${msMax} ms`);
    const rows = await rowsOf(page);
    t.ok(rows > 1 && rows < rowsMax, `${rows} rows are drawn`);
  }
  await openDashboard(watched, url, "requests?tab=recent");
  await page.getByRole("link", { name: "Next" }).click();
  await page.getByRole("link", { name: "First" }).waitFor();
  t.ok((await rowsOf(page)) > 50, "and there is a next page");
  t.same(watched.problems, []);
});
