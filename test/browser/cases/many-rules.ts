/** With 100,000 rules the page of limits shows its first rows, and draws no more than those. */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { makeSite } from "../../support/processes/processes.js";
import { firstRowsMs, launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { rowsOf } from "../in-page.js";

const masterKey = "sk-many-rules-0123456789abcdef";
const rules = 100_000;
/** What a phone draws without a pause. */
const rowsMax = 400;

t.test("100,000 rules", { skip: noBrowser }, async (t) => {
  const paths = Array.from(
    { length: rules },
    (_, i) => `    - {path: /t/u${i}, limits: [{period_seconds: ${agesSeconds}, max_requests: 5}]}`,
  );
  const site = makeSite(
    t,
    `providers: {sim: {type: simulator}}\nrate_limits:\n  user_paths:\n${paths.join("\n")}\n`,
    { SLUICE_MASTER_KEY: masterKey },
  );
  await site.startDaemon();
  const url = (await site.startProxy()).ready;
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, url, { key: masterKey });
  const { page } = watched;
  const { ms, msMax } = await firstRowsMs(watched, url, { path: "limits", row: "/t/u0" });
  t.ok(ms < msMax, `first rows after ${ms} of ${msMax} ms`);
  const rows = await rowsOf(page);
  t.ok(rows > 50 && rows < rowsMax, `${rows} rows are drawn`);
  await page.getByRole("searchbox").fill("u99999");
  await page.getByRole("row", { name: "/t/u99999" }).waitFor();
  t.equal(await rowsOf(page), 2, "its head and the one that is searched for");
  const used = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${masterKey}`, "x-sluice-user-path": "/t/u77777" },
    body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "Hello" }] }),
  });
  t.equal(used.status, 200);
  await openDashboard(watched, url);
  await page.getByRole("link", { name: "/t/u77777" }).waitFor();
  t.ok((await rowsOf(page)) < rowsMax, "of all rules the Overview finds the one that is used");
  t.same(watched.problems, []);
});
