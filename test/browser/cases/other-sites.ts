/** What a page of another site can do in a browser that is signed in: nothing. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { startSeededGateway } from "../../dashboard/seeded-gateway.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";

const masterKey = "sk-other-sites-0123456789abcdef";

/** Asks for everything that it can think of; resolves to what each attempt came to. */
const attempts = (url: string): string => `Promise.all([
  fetch("${url}/admin/status", { credentials: "include" }),
  fetch("${url}/admin/rate-limits/reset", {
    method: "POST", credentials: "include", body: '{"confirmation":"reset"}',
  }),
  fetch("${url}/dashboard/session", { method: "DELETE", credentials: "include" }),
  new Promise((resolve, reject) => {
    const events = new EventSource("${url}/admin/live", { withCredentials: true });
    events.onopen = () => resolve({ status: "open" });
    events.onerror = () => reject(new Error("no stream"));
  }),
].map((attempt) => attempt.then((answer) => "read " + answer.status, () => "failed")))`;

t.test("a page of another site", { skip: noBrowser }, async (t) => {
  const gateway = await startSeededGateway(t, masterKey);
  await gateway.call("/research/evals", "gpt-5.4");
  const site = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      request.url === "/frame"
        ? `<iframe src="${gateway.url}/dashboard/"></iframe>`
        : `<form method="post" enctype="text/plain" action="${gateway.url}/admin/rate-limits/reset">
           <input name='{"confirmation":"reset","x":"' value='"}'></form>`,
    );
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  t.teardown(() => site.close());
  // Another host than the gateway's 127.0.0.1, and so another site.
  const elsewhere = `http://localhost:${(site.address() as AddressInfo).port}`;
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, gateway.url, { key: masterKey });
  await openDashboard(watched, gateway.url, "limits");
  const counted = async (): Promise<number> => {
    const answer = await fetch(`${gateway.url}/admin/rate-limits?search=/research/evals`, {
      headers: { authorization: `Bearer ${masterKey}` },
    });
    const { rate_limits } = (await answer.json()) as { rate_limits: { requests_used: number }[] };
    return rate_limits[0]!.requests_used;
  };
  t.equal(await counted(), 1);

  const otherPage = await watched.context.newPage();
  await otherPage.goto(elsewhere);
  t.same(await otherPage.evaluate(attempts(gateway.url)), Array(4).fill("failed"));
  const [answer] = await Promise.all([
    otherPage.waitForResponse((response) => response.url().startsWith(gateway.url)),
    otherPage.evaluate("document.forms[0].submit()"),
  ]);
  await otherPage.waitForURL(`${gateway.url}/**`);
  t.ok([401, 403].includes(answer.status()), `its form got ${answer.status()}`);
  t.equal(await counted(), 1, "nothing was reset");

  await otherPage.goto(`${elsewhere}/frame`);
  await t.resolves(otherPage.frames()[1]!.waitForURL("chrome-error://**"), "it frames nothing");

  await openDashboard(watched, gateway.url, "keys");
  t.ok(await watched.page.getByRole("heading", { name: "Keys" }).isVisible(), "still signed in");
});
