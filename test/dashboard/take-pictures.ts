/**
 * Pictures of the dashboard's pages: `npm run heavy -- pictures FOLDER [PAGE…]`. In light and dark,
 * at the width of a desk and of a phone. `npm run heavy -- pictures readme` makes those of the
 * README. Needs Debian's chromium.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import {
  launchBrowser,
  openDashboard,
  openGateway,
  type Theme,
  widths,
} from "../browser/browser.js";
import { dashboardPages } from "./dashboard-pages.js";
import { pictureFile, pictureText, pictureThemes, readmeText } from "./readme-picture.js";
import { startSeededGateway } from "./seeded-gateway.js";

const masterKey = "sk-pictures-of-the-dashboard-0123456789";
const lineMs = 31_000;

const [folder = "dashboard-pictures", ...asked] = process.argv.slice(2);
const pages =
  asked.length === 0 ? dashboardPages : asked.map((page) => page.replace("overview", ""));
const ends: (() => unknown)[] = [];
const site = { teardown: (end: () => unknown) => void ends.push(end) };
if (folder !== "readme") mkdirSync(folder, { recursive: true });
try {
  const gateway = await startSeededGateway(site, masterKey);
  await gateway.sendRounds(4);
  ends.push(gateway.keepSending(1_500));
  const browser = await launchBrowser(site);
  if (folder === "readme") await takeReadme(browser, gateway.url);
  else
    for (const theme of ["light", "dark"] as const)
      for (const width of Object.keys(widths) as (keyof typeof widths)[])
        await takeAll(browser, gateway.url, { theme, width });
} finally {
  for (const end of ends.reverse()) await end();
}

interface Look {
  readonly theme: Theme;
  readonly width: keyof typeof widths;
}

async function takeAll(browser: Browser, url: string, { theme, width }: Look): Promise<void> {
  const watched = await openGateway(browser, url, { key: masterKey, theme, width });
  for (const address of pages) {
    await openDashboard(watched, url, address);
    await watched.page.waitForTimeout(1_000);
    // A line needs some samples.
    if (address === "") await watched.page.waitForTimeout(lineMs);
    const file = `${address.replace(/\W+/g, "-") || "overview"}-${width}-${theme}.png`;
    await watched.page.screenshot({ path: join(folder, file), fullPage: true });
  }
  for (const problem of watched.problems) console.error(problem);
  await watched.context.close();
}

/** The first page in both themes, as much of it as a screen shows. */
async function takeReadme(browser: Browser, url: string): Promise<void> {
  const { page, context } = await openGateway(browser, url, { key: masterKey });
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${url}/dashboard/`);
  await page.waitForTimeout(3 * lineMs);
  for (const colorScheme of pictureThemes) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(1_000);
    await page.screenshot({ path: pictureFile(colorScheme) });
  }
  writeFileSync(pictureText, await readmeText(page));
  await context.close();
}
