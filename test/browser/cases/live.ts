/** What happens while a page is open: a request, a killed daemon, and its return. */
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { agesSeconds } from "../../support/ages.js";
import { eventsOf, launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";
import { focusOf, textsOf, whenTextsChange } from "../in-page.js";

const masterKey = "sk-live-0123456789abcdef";

interface LiveView {
  readonly path: string;
  /** The elements of which a request changes the texts. */
  readonly shows: string;
  /** Of the stream, if it tells of them. */
  readonly event?: string;
}

t.test("while a page is open", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  const { page } = watched;

  t.test("a request shows within two seconds, without being asked for", async (t) => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
    const ask = (method: string, path: string, body?: unknown): Promise<Response> =>
      fetch(`${gateway.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${masterKey}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    await ask("PUT", "/admin/rate-limits", {
      user_path: "/watched",
      limit_key: { period_seconds: agesSeconds },
      max_requests: 50,
    });
    await ask("PUT", "/admin/budgets", {
      user_path: "/watched",
      budget_key: { period: "weekly" },
      amount: 1_000,
    });
    const events = await eventsOf(watched.page);
    const views: readonly LiveView[] = [
      { path: "limits?search=/watched", shows: ".meter-text", event: "rules" },
      { path: "budgets?search=/watched", shows: ".meter-text", event: "budgets" },
      { path: "", shows: '.lines li:has([href*="/limits"]) .meter-text', event: "rules" },
      { path: "requests?tab=recent&path=/watched", shows: "tbody" },
      { path: "usage?path=/watched&by=path", shows: "tbody" },
    ];
    for (const { path, shows, event } of views) {
      const arrived = event === undefined ? undefined : events.next(event);
      await openDashboard(watched, gateway.url, path);
      await arrived;
      asked.length = 0;
      let best = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < 3; attempt++) {
        const before = await textsOf(page, shows);
        await gateway.call("/watched", "gpt-5.4");
        const endedMs = performance.now();
        await whenTextsChange(page, shows, before);
        best = Math.min(best, performance.now() - endedMs);
      }
      t.ok(best < 2_000, `/dashboard/${path}: ${Math.round(best)} ms`);
      const lists = asked.filter((each) => /GET .*\/admin\/(rate-limits|budgets)/.test(each));
      t.same(lists, [], "the stream tells of rules and budgets: they aren't asked for again");
    }
  });

  t.test("a row keeps the focus when another one passes it", async (t) => {
    const limit = async (user_path: string): Promise<void> => {
      const answer = await fetch(`${gateway.url}/admin/rate-limits`, {
        method: "PUT",
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify({
          user_path,
          limit_key: { period_seconds: agesSeconds },
          max_requests: 50,
        }),
      });
      t.ok(answer.ok);
    };
    for (const name of ["a", "b", "c", "d"]) await limit(`/race/${name}`);
    await openDashboard(watched, gateway.url, "limits?search=/race&order=use");
    // Browsers without it take the focus from what moves.
    await page.evaluate("delete Element.prototype.moveBefore");
    const first = page.getByRole("row").nth(1);
    await page.getByRole("button", { name: /Edit .*\/race\/d/ }).focus();
    await gateway.call("/race/d", "gpt-5.4");
    await first.filter({ hasText: "/race/d" }).waitFor();
    t.match((await focusOf(page)).name, "/race/d", "it comes before the others");
    for (let i = 0; i < 2; i++) await gateway.call("/race/a", "gpt-5.4");
    await first.filter({ hasText: "/race/a" }).waitFor();
    t.match((await focusOf(page)).name, "/race/d", "another one comes before it");
  });

  t.test("what is typed while a filter is asked for stays", async (t) => {
    await openDashboard(watched, gateway.url, "limits");
    await page.evaluate(`(() => {
      const { replaceState } = history;
      history.replaceState = (...given) => {
        history.replaceState = replaceState;
        history.replaceState(...given);
        document.execCommand("insertText", false, "b");
      };
    })()`);
    await page.getByRole("searchbox", { name: "Filter by name" }).focus();
    await page.keyboard.press("a");
    await page.waitForURL(/search=ab/);
    t.equal(await page.getByRole("searchbox", { name: "Filter by name" }).inputValue(), "ab");
  });

  t.test("refusals appear by themselves", async (t) => {
    await openDashboard(watched, gateway.url, "requests?tab=refused");
    await page.getByText("Nothing was refused").waitFor();
    const refusals = async (): Promise<string> => {
      const headers = { authorization: `Bearer ${masterKey}` };
      return (await fetch(`${gateway.url}/admin/refusals`, { headers })).text();
    };
    // Once more if the minute ends amid them.
    do await gateway.sendRounds(4);
    while (!(await refusals()).includes("minute request limit of 12 reached"));
    await page
      .getByRole("cell", { name: /minute request limit of 12 reached/ })
      .first()
      .waitFor();
    t.pass("they are there");
  });

  t.test("a request that waits is in view with its limit, until it has room", async (t) => {
    const headers = { authorization: `Bearer ${masterKey}`, "x-sluice-user-path": "/queued/one" };
    const limit_key = { period: "concurrent" };
    await fetch(`${gateway.url}/admin/rate-limits`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ user_path: "/queued", limit_key, max_requests: 1 }),
    });
    await openDashboard(watched, gateway.url, "limits");
    const call = (stream: boolean, content: string, signal?: AbortSignal): Promise<Response> =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json", prefer: "wait=60" },
        body: JSON.stringify({ model: "sim-slow", stream, messages: [{ role: "user", content }] }),
        signal: signal ?? null,
      });
    const leaves = new AbortController();
    // The stream has one event per word, and lasts over a minute if its client stays.
    const stream = await call(true, "one ".repeat(120), leaves.signal);
    t.equal(stream.status, 200);
    const waits = call(false, "hi");
    const row = page.getByRole("row", { name: /concurrency limit of \/queued/ });
    await row.getByText("/queued/one 1").waitFor();
    leaves.abort();
    t.equal((await waits).status, 200);
    await row.waitFor({ state: "detached" });
    t.same(watched.problems, []);
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
