/**
 * The questions of docs/dashboard.md in a gateway with a hundred tenants: the dashboard answers
 * each in at most as many steps as the page says, and so do the command beside it and a request.
 * It prints how long each took.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import t from "tap";
import { demoKey, startDemo } from "../../dashboard/demo/start-demo.js";
import { launchBrowser, noBrowser, openDashboard, openGateway } from "../browser.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const run = promisify(execFile);

/** Of a request that was refused, and of one that failed. */
interface Ids {
  readonly REFUSED: string;
  readonly FAILED: string;
}

type Step = (page: Page, ids: Ids) => Promise<unknown>;

interface Walk {
  /** What is done, each one step. */
  readonly steps: readonly Step[];
  /** The answer, which is in view then. */
  readonly answer: (page: Page) => Promise<unknown>;
  /** What the command prints, with what stands for the names of the table. */
  readonly command: readonly [asked: string, printed: RegExp];
  /** Null if it isn't a GET. */
  readonly request: readonly [asked: string, answered: RegExp] | null;
}

const go =
  (name: string): Step =>
  (page) =>
    page
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link", { name, exact: true })
      .click();
const byId: Step = async (page, { FAILED }) => {
  await page.getByRole("searchbox", { name: "Find a request by its id" }).fill(FAILED);
  await page.keyboard.press("Enter");
};
const sees = (text: RegExp | string) => (page: Page) =>
  page.locator("main").getByText(text).first().waitFor();
const seesRow = (name: RegExp) => (page: Page) => page.getByRole("row", { name }).first().waitFor();

/** By the question. */
const walks: Readonly<Record<string, Walk>> = {
  "Who spends most?": {
    steps: [go("Tenants"), (page) => page.getByRole("button", { name: "Spent" }).click()],
    // Below the row of all of them.
    answer: (page) =>
      page
        .locator("tbody tr")
        .nth(1)
        .filter({ hasText: /acme.*\$\d/s })
        .waitFor(),
    command: ["tenants --sort spend", /\/tenants\/acme/],
    request: ["/admin/tenants?flat=true&sort=spend", /"tenants":\[\{"user_path":"\/tenants\/acme"/],
  },
  "How near is tenant X to its limits?": {
    steps: [
      go("Tenants"),
      (page) => page.getByRole("searchbox", { name: "Filter by path" }).fill("initech"),
    ],
    // Whichever is the nearest at this time of the day and of the month.
    answer: seesRow(/\/tenants\/initech.*\d+% \S+ (?:limit|budget)/),
    command: ["tenant /tenants/initech", /daily/],
    request: ["/admin/tenants?search=initech", /"nearest":\{.*"used_ratio"/],
  },
  "Who is about to run out, and when?": {
    steps: [],
    answer: (page) =>
      page
        .locator("section")
        .filter({ has: page.getByRole("heading", { name: "About to run out" }) })
        .getByText(/^(?:\d+ tenants? ha(?:s|ve) used up|in \d)/)
        .first()
        .waitFor(),
    command: ["tenants --sort runs-out", /\/tenants\/\w/],
    request: ["/admin/tenants?flat=true&sort=runs_out", /"exhausts_at":"20/],
  },
  "Why was this request refused?": {
    steps: [(page) => page.getByRole("link", { name: "Explain", exact: true }).last().click()],
    answer: sees(/budget exceeded for \/tenants\/\w+ \w+ limit: spent \$/),
    command: ["explain --request REFUSED", /budget exceeded/],
    request: ["/admin/requests/REFUSED", /"refusal":\{/],
  },
  "Why did this request fail?": {
    steps: [go("Requests"), byId],
    answer: sees("The server is overloaded, please try again later."),
    command: ["request FAILED", /The server is overloaded/],
    request: ["/admin/requests/FAILED", /"error_message":"The server is overloaded/],
  },
  "Which provider or model is failing or slow?": {
    steps: [go("Providers")],
    answer: seesRow(/groq\/llama.* ms/),
    command: ["providers traffic", /groq\/llama.* ms/],
    request: ["/admin/traffic", /"target":"groq/],
  },
  "Since when?": {
    steps: [
      go("Providers"),
      (page) =>
        page.getByRole("combobox", { name: "Time range" }).selectOption({ label: "Last 24 hours" }),
    ],
    answer: seesRow(/groq\/llama.*(?:\d\d:\d\d to|since) .*\d\d:\d\d UTC/),
    command: ["providers traffic --last 24h", /groq\/llama.*(?:until|since) 20/],
    request: ["/admin/traffic?seconds=86400", /"failing":\{"from":"20/],
  },
  "Which key is unused, expires soon or is new?": {
    steps: [
      go("Keys"),
      (page) => page.getByRole("combobox", { name: "Expiry" }).selectOption("604800"),
    ],
    answer: seesRow(/contractor.*expires 20.*never.*ago/),
    // The demo has issued them just now.
    command: ["keys list --unused 1s", /backend/],
    request: ["/admin/auth-keys?unused_seconds=1&limit=9", /"last_used_at":null/],
  },
  "What changed, and who did it?": {
    steps: [go("Audit")],
    answer: seesRow(/team-61.*master key.*max_requests 6200/),
    command: ["audit", /team-61/],
    request: ["/admin/audit", /"who":"master key"/],
  },
  "Is the bill right?": {
    steps: [go("Bills")],
    answer: sees("No bill compared yet"),
    command: ["reconcile --help", /bill/],
    request: ["/admin/reconciliations", /"reconciliations":\[\]/],
  },
  "What would this cap have refused?": {
    steps: [
      go("Limits"),
      (page) => page.getByRole("button", { name: "Add limit" }).click(),
      async (page) => {
        // The cap is what is asked about.
        await page.getByRole("textbox", { name: "Path" }).fill("/tenants/acme");
        await page.getByLabel("Requests at most").fill("1");
        await page.locator(".back-test > button").click();
      },
    ],
    answer: (page) => page.locator(".back-test-verdict").waitFor(),
    command: ["limits test /tenants/acme --rpm 1", /refuse/],
    request: null,
  },
  "Is the gateway slow, or the provider?": {
    steps: [go("Providers")],
    answer: sees(/Sluice itself: .* ms before a request is sent/),
    command: ["providers traffic", /Sluice itself: .* ms/],
    request: ["/admin/traffic", /"own_ms":\{"p50":/],
  },
};

/** "Each takes at most three clicks." A search is one. */
const stepsMax = 3;

function questionsOfPage(): readonly string[] {
  const page = readFileSync(join(root, "docs/dashboard.md"), "utf8");
  const rows = page.split("\n").filter((line) => /^\| [A-Z].*\?/.test(line));
  return rows.map((line) => line.split("|")[1]!.trim());
}

t.test("the questions of operators", { skip: noBrowser }, async (t) => {
  const url = await startDemo(t);
  const browser = await launchBrowser(t);
  const watched = await openGateway(browser, url, { key: demoKey });
  const { page } = watched;
  const get = async (path: string): Promise<string> =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${demoKey}` } })).text();
  // The demo's own traffic is refused after some seconds.
  await openDashboard(watched, url);
  await page.getByRole("link", { name: "Explain", exact: true }).nth(1).waitFor();
  const idIn = (text: string): string => /"request_id":"([^"]+)"/.exec(text)?.[1] ?? "";
  const ids = {
    REFUSED: idIn(await get("/admin/refusals?limit=1")),
    FAILED: idIn(await get("/admin/requests?kind=failed&limit=1")),
  };
  const named = (text: string): string =>
    text.replaceAll("REFUSED", ids.REFUSED).replaceAll("FAILED", ids.FAILED);
  t.same(questionsOfPage(), Object.keys(walks), "each row of the page is walked");
  for (const [question, { steps, answer, command, request }] of Object.entries(walks)) {
    t.test(question, async (t) => {
      t.ok(steps.length <= stepsMax, `${steps.length} steps`);
      await openDashboard(watched, url);
      const began = performance.now();
      for (const step of steps) await step(page, ids);
      await answer(page);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      t.comment(`${question} ${steps.length} steps, ${seconds} s`);
      const words = named(command[0]).split(" ");
      const { stdout } = await run(
        process.execPath,
        [join(root, "dist/programs/sluice.js"), ...words, "--url", url],
        { env: { ...process.env, SLUICE_MASTER_KEY: demoKey } },
      );
      t.match(stdout, command[1], `sluice ${command[0]}`);
      if (request !== null) t.match(await get(named(request[0])), request[1], request[0]);
    });
  }
  t.same(watched.problems, []);
});
