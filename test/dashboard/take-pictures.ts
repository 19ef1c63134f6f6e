/**
 * Pictures of the dashboard's pages: `npm run pictures -- FOLDER [PAGE…]`. In light and dark, at
 * the width of a desk and of a phone. `npm run pictures -- readme` makes those of the README.
 * Needs Debian's chromium.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { startSeededGateway } from "./seeded-gateway.js";

const allPages = [
  "",
  "limits",
  "limits?scope=provider",
  "budgets",
  "explain",
  "explain?path=/support/triage&model=smart",
  "usage",
  "usage?by=key&measure=tokens",
  "requests",
  "requests?tab=recent",
  "requests?tab=refused",
  "keys",
  "providers",
  "system",
];
const masterKey = "sk-pictures-of-the-dashboard-0123456789";
const lineMs = 31_000;
const widths = { desk: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

const [folder = "dashboard-pictures", ...asked] = process.argv.slice(2);
const pages = asked.length === 0 ? allPages : asked.map((page) => page.replace("overview", ""));
const ends: (() => unknown)[] = [];
if (folder !== "readme") mkdirSync(folder, { recursive: true });
try {
  const gateway = await startSeededGateway({ teardown: (end) => void ends.push(end) }, masterKey);
  await gateway.sendRounds(4);
  ends.push(gateway.keepSending(1_500));
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  ends.push(() => browser.close());
  if (folder === "readme") await takeReadme(browser, gateway.url);
  else
    for (const theme of ["light", "dark"] as const)
      for (const [name, viewport] of Object.entries(widths))
        await takeAll(browser, { theme, name, viewport, url: gateway.url });
} finally {
  for (const end of ends.reverse()) await end();
}

interface Look {
  readonly theme: "light" | "dark";
  readonly name: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly url: string;
}

async function takeAll(browser: Browser, { theme, name, viewport, url }: Look): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme: theme });
  await signIn(context, url);
  for (const address of pages) {
    const page = await context.newPage();
    page.on("console", (message) => console.error(`${address}: ${message.text()}`));
    page.on("pageerror", (error) => console.error(`${address}: ${error.message}`));
    await page.goto(`${url}/dashboard/${address}`);
    await page.waitForSelector("h1");
    await page.waitForTimeout(1_000);
    // A line needs some samples.
    if (address === "") await page.waitForTimeout(lineMs);
    const file = `${address.replace(/\W+/g, "-") || "overview"}-${name}-${theme}.png`;
    await page.screenshot({ path: join(folder, file), fullPage: true });
    await page.close();
  }
  await context.close();
}

/** The first page in both themes, as much of it as a screen shows. */
async function takeReadme(browser: Browser, url: string): Promise<void> {
  const into = "docs/pictures";
  mkdirSync(into, { recursive: true });
  const viewport = { width: 1280, height: 900 };
  const context = await browser.newContext({ viewport, colorScheme: "light" });
  await signIn(context, url);
  const page = await context.newPage();
  await page.goto(`${url}/dashboard/`);
  await page.waitForTimeout(3 * lineMs);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(1_000);
    await page.screenshot({ path: join(into, `dashboard-${colorScheme}.png`) });
  }
  await context.close();
}

async function signIn(context: BrowserContext, url: string): Promise<void> {
  const answer = await context.request.post(`${url}/dashboard/session`, {
    data: { key: masterKey },
    headers: { origin: url },
  });
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()} ${await answer.text()}`);
}
