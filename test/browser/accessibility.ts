/** What axe finds on a page, by the rules of WCAG 2.2 at level AA. */
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** A line for each violation, with the first element that has it. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  // Over the debugging protocol, which the page's policy doesn't stop.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)} })`,
  );
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary ?? ""}`,
  );
}
