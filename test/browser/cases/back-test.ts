/** What a limit would have refused: asked in its dialog, before anything is saved. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { violationsOf } from "../accessibility.js";
import { launchBrowser, noBrowser, openDashboard, openGateway, widths } from "../browser.js";
import { overflowOf } from "../in-page.js";

const masterKey = "sk-back-test-0123456789abcdef";

t.test("the dialog of a limit", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.sendRounds(2);
  const browser = await launchBrowser(t);
  for (const width of Object.keys(widths) as (keyof typeof widths)[])
    for (const theme of ["light", "dark"] as const) {
      const watched = await openGateway(browser, gateway.url, { key: masterKey, theme, width });
      const { page } = watched;
      await openDashboard(watched, gateway.url, "limits");
      await page.getByRole("button", { name: "Add limit" }).first().click();
      const ask = page.getByRole("button", { name: /What would it have refused/ });
      t.ok(await ask.isDisabled(), "there is nothing to judge yet");
      await page.getByRole("textbox", { name: "Path" }).fill("/");
      await page.getByLabel("Requests at most").fill("1");
      await ask.click();
      await page.getByText(/It would have refused \d+ of \d+ requests/).waitFor();
      await page.getByText(/Lowest caps that would have refused nothing: \d+ requests/).waitFor();
      await page.getByText(/without those refused at the time/).waitFor();
      const look = `${theme}, ${width}`;
      t.same(await violationsOf(page), [], `${look}: no violation of accessibility`);
      t.ok((await overflowOf(page)) <= 0, `${look}: nothing is wider than the screen`);
      await page.getByLabel("Requests at most").fill("100000");
      t.equal(await page.getByText(/It would have refused/).count(), 0, "it is about another rule");
      await ask.click();
      await page.getByText(/It would have refused none of \d+ requests/).waitFor();
      await page.getByRole("textbox", { name: "Path" }).fill("/nobody");
      await ask.click();
      await page.getByText("No recorded request matches it").waitFor();
      await page.getByLabel("Requests at most").fill("0");
      await ask.click();
      await page.getByText(/max_requests must be greater than 0/).waitFor();
      t.same(watched.problems, [], `${look}: nothing on the console`);
      await watched.context.close();
    }
  const listed = await fetch(`${gateway.url}/admin/rate-limits?search=/nobody`, {
    headers: { authorization: `Bearer ${masterKey}` },
  });
  t.match(await listed.json(), { rate_limits: { length: 0 } }, "nothing was saved");
});
