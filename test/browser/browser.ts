/**
 * Debian's chromium, and pages in it that are watched: what they say to the console, each policy
 * that they break, and each request that leaves the gateway's own origin.
 */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { Test } from "tap";
import { tellOfPolicies, whenShown } from "./in-page.js";

const executablePath = "/usr/bin/chromium";

/** Why the tests can't run here; false if they can. As the `skip` of a test. */
export const noBrowser: string | false = existsSync(executablePath)
  ? false
  : "chromium isn't installed (apt-get install chromium)";

export const widths = {
  desk: { width: 1280, height: 860 },
  phone: { width: 390, height: 844 },
} as const;

export type Theme = "light" | "dark";

interface Look {
  readonly theme?: Theme;
  readonly width?: keyof typeof widths;
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Everything that a page should never do, in words. Empty: it did nothing of it. */
  readonly problems: readonly string[];
}

export async function launchBrowser(t: Pick<Test, "teardown">): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  t.teardown(() => browser.close());
  return browser;
}

/** A browser of its own profile at this gateway, with the session of `key` if there is one. */
export async function openGateway(
  browser: Browser,
  url: string,
  { key, theme = "light", width = "desk" }: Look & { readonly key?: string } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: widths[width], colorScheme: theme });
  if (key !== undefined) await signIn(context, url, key);
  const page = await context.newPage();
  const problems: string[] = [];
  await page.addInitScript(tellOfPolicies);
  page.on("console", (message) => {
    // The browser's own line about an answer that a page expects, such as a 401.
    if (!message.text().startsWith("Failed to load resource")) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`)) problems.push(`asked ${request.url()}`);
  });
  return { page, context, problems };
}

/** Opens a page of the dashboard, below /dashboard/, and waits until it shows what it asked for. */
export async function openDashboard({ page }: WatchedPage, url: string, path = ""): Promise<void> {
  await page.goto(`${url}/dashboard/${path}`);
  await whenShown(page);
}

/**
 * How long a page takes to show its first rows, and how long it may: a second on an idle machine;
 * on a busy one three times what a page without any takes just before. The first of five attempts
 * that is in time, since other tests may run beside this one; else the last.
 */
export async function firstRowsMs(
  watched: WatchedPage,
  url: string,
  { path, row }: { readonly path: string; readonly row: string },
): Promise<{ readonly ms: number; readonly msMax: number }> {
  const timeOf = async (open: () => Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await open();
    return Math.round(performance.now() - began);
  };
  for (let attempt = 1; ; attempt++) {
    const msMax = Math.max(1_000, 3 * (await timeOf(() => openDashboard(watched, url, "nowhere"))));
    const ms = await timeOf(async () => {
      await openDashboard(watched, url, path);
      await watched.page.getByRole("row", { name: row }).first().waitFor();
    });
    if (ms < msMax || attempt === 5) return { ms, msMax };
  }
}

interface StreamEvents {
  /** The next event of this name on any stream of the page's. */
  next(name: string): Promise<void>;
}

/** What the live stream tells a page, as the browser hears it. */
export async function eventsOf(page: Page): Promise<StreamEvents> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  return {
    next: (name) =>
      new Promise((resolve) => {
        session.on("Network.eventSourceMessageReceived", ({ eventName }) => {
          if (eventName === name) resolve();
        });
      }),
  };
}

async function signIn(context: BrowserContext, url: string, key: string): Promise<void> {
  const answer = await context.request.post(`${url}/dashboard/session`, {
    data: { key },
    headers: { origin: url },
  });
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()} ${await answer.text()}`);
}
