/** Lists that carry work: sorting, choosing many, one confirmation, undo, and a key in one form. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { agesSeconds } from "../../support/ages.js";
import { until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { violationsOf } from "../accessibility.js";
import { launchBrowser, noBrowser, openDashboard, openGateway, widths } from "../browser.js";

const masterKey = "sk-many-at-once-0123456789abcdef";

interface Listed {
  readonly subject: string;
  readonly period_label: string;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly amount?: number;
  readonly requests_used?: number;
  readonly spent?: number;
  readonly window_start?: string;
}

t.test("lists that carry work", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.sendRounds(1);
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  const { page } = watched;
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(gateway.url + path, {
      headers: { authorization: `Bearer ${masterKey}` },
    });
    return (await answer.json()) as T;
  };
  const send = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify(body),
    });
    t.equal(answer.status, 200, await answer.text());
  };
  const rules = async (search: string): Promise<readonly Listed[]> =>
    (await get<{ rate_limits: Listed[] }>(`/admin/rate-limits?limit=100&search=${search}`))
      .rate_limits;
  const budgets = async (search: string): Promise<readonly Listed[]> =>
    (await get<{ budgets: Listed[] }>(`/admin/budgets?limit=100&search=${search}`)).budgets;
  const subjects = (): Promise<string[]> => page.locator("td.lead .whole").allInnerTexts();

  t.test("each column of limits and budgets sorts, and the link keeps it", async (t) => {
    for (const [list, columns] of [
      ["limits", ["User path", "Period", "Requests", "Tokens and cost", "Resets in"]],
      ["budgets", ["User path", "Period", "Spent", "At this pace", "Resets in"]],
    ] as const) {
      await openDashboard(watched, gateway.url, list);
      const tree = await subjects();
      for (const name of columns) {
        const head = page.getByRole("columnheader", { name });
        await head.getByRole("button").click();
        t.equal(await head.getAttribute("aria-sort"), "descending", `${list}: ${name}`);
        await head.getByRole("button").click();
        t.equal(await head.getAttribute("aria-sort"), "ascending", `${list}: ${name}`);
      }
      await openDashboard(watched, gateway.url, `${list}?sort=-subject`);
      t.same(await subjects(), tree.toSorted().reverse(), "by the link alone");
    }
  });

  t.test("sixty limits fit two screens, on a desk and on a phone", async (t) => {
    for (let i = 0; i < 60; i++) {
      await send("PUT", "/admin/rate-limits", {
        user_path: `/many/team-${i}`,
        limit_key: { period: "minute" },
        max_requests: 100,
      });
    }
    for (const [name, size] of Object.entries(widths)) {
      await page.setViewportSize(size);
      await openDashboard(watched, gateway.url, "limits?search=/many");
      const last = await page.locator("tbody tr").nth(59).boundingBox();
      const bottom = (last?.y ?? Number.POSITIVE_INFINITY) + (last?.height ?? 0);
      t.ok(bottom <= 2 * size.height, `${name}: ${bottom} of ${2 * size.height} pixels`);
    }
    await page.setViewportSize(widths.desk);
  });

  t.test("chosen limits are deleted after one question that names them, and undone", async (t) => {
    const ofHour = ({ subject, period_label }: Listed): boolean =>
      subject === "/support" && period_label === "hour";
    const usedBefore = async (): Promise<readonly Listed[]> => {
      await gateway.sendRounds(1);
      return rules("/support");
    };
    const before = await until(usedBefore, (listed) => listed.find(ofHour)!.requests_used! > 0);
    await openDashboard(watched, gateway.url, "limits?search=/support");
    for (const name of [/Choose \/support · hour/, /Choose \/support\/triage · minute/])
      await page.getByRole("checkbox", { name }).check();
    const bar = page.getByRole("group", { name: "What to do with the chosen rows" });
    await bar.getByText("2 chosen").waitFor();
    await bar.getByRole("button", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 2 limits?" });
    await dialog.getByText("/support · hour").waitFor();
    await dialog.getByText("/support/triage · minute").waitFor();
    t.same(await violationsOf(page), []);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.waitFor({ state: "detached" });
    t.equal((await rules("/support")).length, before.length - 2);
    const status = page.getByRole("status");
    await status.getByText("2 limits are deleted").waitFor();
    await status.getByRole("button", { name: "Undo" }).click();
    await status.getByText("counters begin at zero").waitFor();
    const after = await rules("/support");
    const definition = ({ subject, period_label, max_requests, max_tokens }: Listed): unknown => ({
      ...{ subject, period_label, max_requests, max_tokens },
    });
    t.same(after.map(definition), before.map(definition), "as they were");
    t.equal(after.find(ofHour)?.requests_used, 0, "their counters aren't");
    await page.getByRole("checkbox", { name: /Choose \/support · hour/ }).waitFor();
  });

  t.test("a budget that is made again has the spend of its period", async (t) => {
    const budget = { user_path: "/again", budget_key: { period_seconds: agesSeconds } };
    await send("PUT", "/admin/budgets", { ...budget, amount: 1200 });
    await gateway.call("/again", "gpt-5.4-mini");
    const before = await until(
      () => budgets("/again"),
      ([listed]) => listed!.spent! > 0,
    );
    await openDashboard(watched, gateway.url, "budgets?search=/again");
    await page.getByRole("button", { name: "Delete the budget of /again" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    const status = page.getByRole("status");
    await status.getByRole("button", { name: "Undo" }).click();
    await status.getByText("the spend of its whole period").waitFor();
    const after = await budgets("/again");
    t.match(after, exactly([{ amount: 1200, spent: before[0]!.spent! }]));
  });

  t.test("keys are deactivated together", async (t) => {
    await openDashboard(watched, gateway.url, "keys");
    for (const name of ["Choose support-bot", "Choose notebook-mara"])
      await page.getByRole("checkbox", { name }).check();
    await page.getByRole("button", { name: "Deactivate…" }).click();
    const dialog = page.getByRole("dialog", { name: "Deactivate 2 keys?" });
    await dialog.getByText(/support-bot · key_/).waitFor();
    await dialog.getByRole("button", { name: "Deactivate" }).click();
    await page.getByRole("status").getByText("Deactivated: 2 keys").waitFor();
    const { auth_keys } = await get<{ auth_keys: { name: string; status: string }[] }>(
      "/admin/auth-keys?limit=100&status=deactivated",
    );
    t.same(auth_keys.map(({ name }) => name).toSorted(), ["notebook-mara", "support-bot"]);
  });

  t.test("one form issues a key with its models, limit and budget", async (t) => {
    await openDashboard(watched, gateway.url, "keys");
    await page.getByRole("button", { name: "Issue a key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("ann");
    await dialog.getByLabel("Models").fill("gpt-5.4-mini");
    await dialog.getByLabel("Requests per minute").fill("3");
    await dialog.getByLabel("US dollars per month").fill("20");
    await page.keyboard.press("Enter");
    await dialog.getByText("Limits and budgets count by path").waitFor();
    await dialog.getByLabel("User path").fill("/keys/ann");
    await page.keyboard.press("Enter");
    const secret = await page.locator(".secret").innerText();
    t.match(await rules("/keys/ann"), exactly([{ max_requests: 3, period_label: "minute" }]));
    t.match(await budgets("/keys/ann"), exactly([{ amount: 20, period_label: "monthly" }]));
    const call = async (model: string): Promise<number> => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}` },
        body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    t.equal(await call("gpt-5.4"), 403, "no other model");
    const statuses: number[] = [];
    const windowStart = async (): Promise<unknown> => (await rules("/keys/ann"))[0]!.window_start;
    // Once more if the minute ends amid them.
    for (let start: unknown; start !== (await windowStart()); ) {
      start = await windowStart();
      statuses.length = 0;
      await send("POST", "/admin/rate-limits/reset-one", {
        user_path: "/keys/ann",
        period: "minute",
      });
      for (let i = 0; i < 4; i++) statuses.push(await call("gpt-5.4-mini"));
    }
    t.same(statuses, [200, 200, 200, 429]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Issue a key" }).click();
    await dialog.getByLabel("Name").fill("ben");
    await dialog.getByLabel("User path").fill("/keys/ann");
    await dialog.getByLabel("Requests per minute").fill("9");
    await page.keyboard.press("Enter");
    await dialog.getByText("The path has 3 already").waitFor();
    t.match(await rules("/keys/ann"), exactly([{ max_requests: 3 }]), "another's limit stays");
  });

  t.test("a live list stands still, and says how much has come", async (t) => {
    await openDashboard(watched, gateway.url, "requests?tab=recent&path=/still");
    await gateway.call("/still", "gpt-5.4-mini");
    const rows = page.locator("tbody tr");
    await rows.first().waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    for (let i = 0; i < 12; i++) await gateway.call("/still", "gpt-5.4-mini");
    await page.getByRole("button", { name: "12 new" }).waitFor();
    t.equal(await rows.count(), 1, "nothing moves");
    await page.getByRole("button", { name: "12 new" }).click();
    await rows.nth(12).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await gateway.call("/still", "gpt-5.4-mini");
    await rows.nth(13).waitFor();
    t.same(watched.problems, []);
  });

  t.test("it does so while it is sorted, and from another filter's first answer on", async (t) => {
    const other = "/still/other";
    await gateway.call(other, "gpt-5.4-mini");
    await openDashboard(watched, gateway.url, "requests?tab=recent&path=/still");
    const pause = page.getByRole("button", { name: "Pause" });
    await pause.click();
    await page.getByRole("columnheader", { name: "Model" }).getByRole("button").click();
    await page.waitForURL(/sort=/);
    t.equal(await pause.getAttribute("aria-pressed"), "true");

    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    const asked = new Promise<void>((resolve) => {
      void page.route(
        ({ pathname, search }) =>
          pathname.startsWith("/admin/") && search.includes(encodeURIComponent(other)),
        async (route) => {
          resolve();
          await isAnswered;
          await route.continue();
        },
        { times: 1 },
      );
    });
    await page.getByRole("searchbox", { name: "User path and all below it" }).fill(other);
    await page.keyboard.press("Enter");
    await asked;
    await pause.and(page.locator("[aria-pressed=false]")).click();
    answer();
    const rows = page.locator("tbody tr");
    await rows.nth(1).waitFor({ state: "detached" });
    t.match(await rows.first().innerText(), other, "not the rows before");
    await gateway.call(other, "gpt-5.4-mini");
    await page.getByRole("button", { name: "1 new" }).waitFor();
    t.equal(await rows.count(), 1);
    t.same(watched.problems, []);
  });

  t.test("while the daemon is away nothing can be changed", async (t) => {
    await openDashboard(watched, gateway.url, "limits");
    await page.getByRole("button", { name: "Add limit" }).click();
    const save = page.getByRole("dialog").getByRole("button", { name: "Save" });
    t.ok(await save.isEnabled());
    await gateway.killDaemon();
    await page.getByText("The limiter daemon doesn't answer").first().waitFor();
    t.ok(await save.isDisabled(), "what is being written stays");
    await page.keyboard.press("Escape");
    for (const name of ["Add limit", "Reset all…"])
      t.ok(await page.getByRole("button", { name }).isDisabled(), name);
    t.ok(
      await page
        .getByRole("button", { name: /^Delete the limit/ })
        .first()
        .isDisabled(),
    );
  });
});
