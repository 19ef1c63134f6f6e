/**
 * Each dialog, in light and dark: no violation of accessibility, nothing wider than it; it begins
 * within itself, keeps the focus while Tab goes around, closes on Escape, and gives the focus back.
 */
import type { Page } from "playwright-core";
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { until } from "../../support/client.js";
import { violationsOf } from "../accessibility.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { focusOf, overflowOf } from "../in-page.js";

const masterKey = "sk-every-dialog-0123456789abcdef";

/** By the page, the names of the buttons that open them. */
const dialogs: Readonly<Record<string, readonly RegExp[]>> = {
  "limits?search=/support": [
    /^Add limit$/,
    /^Reset all…$/,
    /^Raise the .*\/support\/triage/,
    /^Edit .*\/support\/triage/,
    /^Reset .*\/support\/triage/,
    /^Delete .*\/support\/triage/,
    /^Children of|children of \/support\/agents/i,
  ],
  "budgets?search=/research": [
    /^Add budget$/,
    /^Reset times…$/,
    /^Reset all…$/,
    /^Raise the .*\/research\/evals/,
    /^Edit .*\/research\/evals/,
    /^Reset .*\/research\/evals/,
    /^Delete .*\/research\/evals/,
  ],
  keys: [/^Issue a key$/, /^Rotate /, /^Deactivate /, /^Delete /],
  "": [/^Keyboard shortcuts$/, /^Find…/],
};

const isWithin = (page: Page): Promise<boolean> =>
  page.evaluate(`document.activeElement.closest("dialog") !== null`);

t.test("every dialog", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.sendRounds(1);
  const browser = await launchBrowser(t);
  for (const theme of ["light", "dark"] as const) {
    const watched = await openGateway(browser, gateway.url, { key: masterKey, theme });
    const { page } = watched;
    for (const [path, buttons] of Object.entries(dialogs)) {
      await openDashboard(watched, gateway.url, path);
      for (const name of buttons) {
        const what = `${theme}, /dashboard/${path}, ${name.source}`;
        const button = page.getByRole("button", { name }).first();
        await button.focus();
        const before = await focusOf(page);
        await page.keyboard.press("Enter");
        const dialog = page.getByRole("dialog");
        await dialog.waitFor();
        t.ok(await isWithin(page), `${what}: the focus is within`);
        t.same(await violationsOf(page), [], `${what}: no violation of accessibility`);
        t.ok((await overflowOf(page)) <= 0, `${what}: nothing is wider`);
        for (let i = 0; i < 3; i++) await page.keyboard.press("Shift+Tab");
        // Beyond the last one is the browser's own frame, in which the document has the focus.
        const at = await focusOf(page);
        t.ok(at.tag === "body" || (await isWithin(page)), `${what}: the focus stays, ${at.name}`);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
        // It is given back a moment later.
        const after = await until(
          () => focusOf(page),
          ({ tag }) => tag !== "body",
        );
        t.same(after, before, `${what}: the focus is back`);
      }
    }
    t.same(watched.problems, []);
    await watched.context.close();
  }
});
