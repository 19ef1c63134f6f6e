/**
 * Each page in light and dark, on a desk and on a phone: no violation of accessibility, nothing
 * asked of another origin, nothing on the console, nothing that is wider than the screen, however
 * large the numbers are. On a narrow desk, no cell of a table covers another.
 */
import t from "tap";
import { dashboardPages } from "../../dashboard/dashboard-pages.js";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { violationsOf } from "../accessibility.js";
import { launchBrowser, noBrowser, openDashboard, openGateway, widths } from "../browser.js";
import { overflowOf, spillingCellsOf, widenNumbers } from "../in-page.js";

const masterKey = "sk-every-page-0123456789abcdef";
const pages = [...dashboardPages, "nowhere"];

t.test("every page", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.sendRounds(2);
  const browser = await launchBrowser(t);
  for (const width of Object.keys(widths) as (keyof typeof widths)[])
    for (const theme of ["light", "dark"] as const) {
      const watched = await openGateway(browser, gateway.url, { key: masterKey, theme, width });
      for (const path of pages) {
        await openDashboard(watched, gateway.url, path);
        const name = `/dashboard/${path}, ${theme}, ${width}`;
        t.same(await violationsOf(watched.page), [], `${name}: no violation of accessibility`);
        const overflow = await overflowOf(watched.page);
        t.ok(overflow <= 0, `${name}: ${overflow} pixels wider than the screen`);
        t.same(watched.problems, [], `${name}: no other origin, no broken policy, no word`);
        t.same(await widenNumbers(watched.page), [], `${name}: large numbers stay in their place`);
        t.ok((await overflowOf(watched.page)) <= 0, `${name}: large numbers fit the screen`);
      }
      await watched.context.close();
    }
  const narrow = await openGateway(browser, gateway.url, { key: masterKey });
  await narrow.page.setViewportSize({ width: 1024, height: 768 });
  for (const path of pages) {
    await openDashboard(narrow, gateway.url, path);
    const numbers = await widenNumbers(narrow.page);
    t.same(numbers, [], `/dashboard/${path}, narrow: large numbers stay in their place`);
    t.same(await spillingCellsOf(narrow.page), [], `/dashboard/${path}: no cell covers another`);
    t.ok((await overflowOf(narrow.page)) <= 0, `/dashboard/${path}: fits 1024 pixels`);
  }
});
