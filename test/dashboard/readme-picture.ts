/**
 * What the README's pictures show, as a text that is kept beside them: the page's outline without
 * its numbers, what its styles are made of, and the pictures themselves. Another text means that
 * the pictures show a dashboard that is no more.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { eventsOf } from "../browser/browser.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
export const pictureFolder = join(root, "docs/pictures");
export const pictureThemes = ["light", "dark"] as const;
export const pictureText = join(pictureFolder, "dashboard.txt");
/** Below it stand names that come and go. */
const firstOfMoment = '- heading "Closest to the limit"';

export function pictureFile(theme: (typeof pictureThemes)[number]): string {
  return join(pictureFolder, `dashboard-${theme}.png`);
}

/** Once its numbers are there. */
export async function readmeText(page: Page): Promise<string> {
  const events = await eventsOf(page);
  for (let tick = 0; tick < 3; tick++) await events.next("tick");
  const styles = join(root, "proxy/dashboard/web/styles");
  const sheets = readdirSync(styles).sort();
  return [
    outlineOf(await page.locator("body").ariaSnapshot()),
    `styles ${digestOf(sheets.map((sheet) => readFileSync(join(styles, sheet), "utf8")))}`,
    ...pictureThemes.map((theme) => `${theme} ${digestOf([readFileSync(pictureFile(theme))])}`),
    "",
  ].join("\n");
}

/** What a screen reader is told, but for numbers and times. */
export function outlineOf(snapshot: string): string {
  const lines = snapshot.split("\n");
  const moment = lines.findIndex((line) => line.trim().startsWith(firstOfMoment));
  return lines
    .filter((line, i) => moment === -1 || i < moment || line.includes("- heading "))
    .filter((line) => !line.includes("/url:"))
    .map((line) =>
      line
        .replace(/\d+ (?:s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?/g, "TIME")
        .replace(/\$?[\d.,]*\d(?: [kMG]\b)?/g, "N")
        // Whole numbers stand in quotes.
        .replaceAll('"N"', "N"),
    )
    .join("\n");
}

function digestOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}
