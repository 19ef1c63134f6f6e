/** Everything about a rule and a key by the keyboard alone; the key then works with the SDK. */
import OpenAI from "openai";
import type { Page } from "playwright-core";
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { exactly } from "../../support/patterns/exactly.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { focusOf } from "../in-page.js";

const masterKey = "sk-by-keyboard-0123456789abcdef";
interface KeyboardRule {
  readonly subject: string;
  readonly max_requests?: number;
  readonly requests_used: number;
}

/** More than any page has places to stop at. */
const tabsMax = 200;

/**
 * Runs in the page: holds the answers to a deletion and to the next request for the list, until
 * `releaseAnswers` lets the page have both at once, the list first.
 */
const holdAnswers = `(() => {
  const { fetch } = window;
  const held = {};
  window.fetch = async (path, init) => {
    const response = await fetch(path, init);
    if (!path.startsWith("/admin/auth-keys")) return response;
    const text = await response.text();
    await new Promise((resolve) => {
      held[init.method] = resolve;
      if (held.GET && held.DELETE) document.documentElement.dataset.held = "both";
    });
    const body = { cancel: async () => {} };
    return { ok: response.ok, status: response.status, text: async () => text, body };
  };
  window.releaseAnswers = () => {
    window.fetch = fetch;
    held.GET();
    held.DELETE();
  };
})()`;

/** Presses Tab until the element of this kind and name has the focus. */
async function tabTo(page: Page, kind: "button" | "field", name: string): Promise<void> {
  for (let i = 0; i < tabsMax; i++) {
    await page.keyboard.press("Tab");
    const focus = await focusOf(page);
    const isKind = kind === "button" ? focus.tag === "button" : /input|select/.test(focus.tag);
    if (isKind && focus.name.startsWith(name)) return;
  }
  throw new Error(`Tab doesn't reach the ${kind} ${name}`);
}

t.test("by the keyboard alone", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  const { page } = watched;
  const rules = async (): Promise<readonly KeyboardRule[]> => {
    const answer = await fetch(`${gateway.url}/admin/rate-limits?search=/keyboard`, {
      headers: { authorization: `Bearer ${masterKey}` },
    });
    return ((await answer.json()) as { rate_limits: KeyboardRule[] }).rate_limits;
  };

  t.test("a rule is made, changed, reset, moved and deleted", async (t) => {
    await openDashboard(watched, gateway.url);
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("heading", { level: 1, name: "Limits" }).waitFor();
    await tabTo(page, "button", "Add limit");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("/keyboard");
    await tabTo(page, "field", "Requests at most");
    await page.keyboard.type("7");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    t.match(await rules(), exactly([{ max_requests: 7 }]));
    await page.getByRole("button", { name: /Edit.*\/keyboard/ }).waitFor();
    t.match((await focusOf(page)).name, "Add limit", "the focus is back where it was");

    await tabTo(page, "button", await nameOf(page, /Edit.*\/keyboard/));
    await page.keyboard.press("Enter");
    await tabTo(page, "field", "Requests at most");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("9");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    t.match(await rules(), exactly([{ max_requests: 9 }]));

    await gateway.call("/keyboard", "gpt-5.4-mini");
    t.match(await rules(), exactly([{ requests_used: 1 }]));
    await tabTo(page, "button", await nameOf(page, /Reset.*\/keyboard/));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "button", "Reset");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    t.match(await rules(), exactly([{ requests_used: 0 }]));

    await tabTo(page, "button", await nameOf(page, /Edit.*\/keyboard/));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("End");
    await page.keyboard.type("/moved");
    await page
      .getByText(/counters/i)
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    t.match(
      await rules(),
      exactly([{ subject: "/keyboard/moved", max_requests: 9 }]),
      "one rule, moved",
    );

    await tabTo(page, "button", await nameOf(page, /Delete.*\/keyboard/));
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "button", "Delete");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    t.same(await rules(), []);
    await page.getByRole("button", { name: /Delete.*\/keyboard/ }).waitFor({ state: "detached" });
    t.match((await focusOf(page)).name, /^Delete/, "the focus is on the row in its place");
  });

  t.test("a key is issued, and OpenAI's SDK calls with it", async (t) => {
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    await tabTo(page, "button", "Issue a key");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("typed");
    await page.keyboard.press("Enter");
    const secret = page.locator(".secret");
    await secret.waitFor();
    const apiKey = await secret.innerText();
    await page.keyboard.press("Escape");
    await secret.waitFor({ state: "detached" });
    t.notMatch(await page.content(), apiKey, "it is shown only once");
    const client = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1` });
    const answer = await client.chat.completions.create({
      model: "gpt-5.4-mini",
      messages: [{ role: "user", content: "Hello" }],
    });
    t.ok(answer.choices[0]?.message.content);
  });

  t.test("after keys are deleted, the focus is on the next one", async (t) => {
    const issue = async (name: string) =>
      await fetch(`${gateway.url}/admin/auth-keys`, {
        method: "POST",
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({ name }),
      });
    const names = ["sixth", "fifth", "fourth", "third", "second", "first"];
    for (const name of names) await issue(name);
    await openDashboard(watched, gateway.url, "keys");
    // Also of those that a dialog hides.
    const button = (name: string) => page.locator(`button[aria-label="Delete ${name}"]`);
    const dialog = page.getByRole("dialog");
    const goes = async (name: string): Promise<void> => {
      await dialog.getByRole("button", { name: "Delete" }).press("Enter");
      await button(name).waitFor({ state: "detached" });
      await dialog.waitFor({ state: "detached" });
    };
    await page.getByRole("button", { name: "Delete second" }).press("Enter");
    await goes("second");
    t.equal((await focusOf(page)).name, "Delete third");
    await page.keyboard.press("Enter");
    await goes("third");
    t.equal((await focusOf(page)).name, "Delete fourth");

    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    await page.route(`${gateway.url}/admin/auth-keys/*`, async (route) => {
      const response = await route.fetch();
      await isAnswered;
      await route.fulfill({ response });
    });
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Delete" }).press("Enter");
    await button("fourth").waitFor({ state: "detached" });
    t.equal((await focusOf(page)).name, "Delete", "the list knows it before the dialog does");
    answer();
    await dialog.waitFor({ state: "detached" });
    t.equal((await focusOf(page)).name, "Delete fifth");
    await page.unroute(`${gateway.url}/admin/auth-keys/*`);

    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Delete" }).waitFor();
    await page.evaluate(holdAnswers);
    await dialog.getByRole("button", { name: "Delete" }).press("Enter");
    await page.waitForSelector("html[data-held=both]", { state: "attached" });
    await page.evaluate("releaseAnswers()");
    await dialog.waitFor({ state: "detached" });
    t.equal((await focusOf(page)).name, "Delete sixth", "one render for the list and the dialog");

    for (const name of ["first", "sixth"])
      await page.getByRole("checkbox", { name: new RegExp(`${name}$`) }).check();
    await page.getByRole("button", { name: "Delete…" }).press("Enter");
    await goes("sixth");
    t.match((await focusOf(page)).name, /typed/, "several: on the first of those that are left");
    t.same(watched.problems, []);
  });
});

async function nameOf(page: Page, name: RegExp): Promise<string> {
  const button = page.getByRole("button", { name });
  return (await button.getAttribute("aria-label")) ?? (await button.innerText());
}
