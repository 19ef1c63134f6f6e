/**
 * What tests ask of a page from inside it, as texts: the compiler of the tests doesn't know the
 * globals of a browser.
 */
import type { Page } from "playwright-core";

/** Pixels that the page is wider than the screen, or a dialog's content than the dialog. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(`Math.max(
    document.documentElement.scrollWidth - innerWidth,
    ...[...document.querySelectorAll("dialog")].map((each) => each.scrollWidth - each.clientWidth),
  )`);
}

/** The texts of table cells whose content reaches into the next cell. */
export function spillingCellsOf(page: Page): Promise<readonly string[]> {
  return page.evaluate(`[...document.querySelectorAll("td")]
    .filter((cell) => getComputedStyle(cell).overflow === "visible")
    .filter((cell) => [...cell.querySelectorAll("*")].some((each) => {
      const { width, right } = each.getBoundingClientRect();
      return width > 1 && right > cell.getBoundingClientRect().right + 1;
    }))
    .map((cell) => cell.textContent)`);
}

/**
 * Makes the numbers of a page as wide as large gateways', however little this one has counted.
 * Returns the texts that then reach out of their cell, figure, line or card.
 */
export function widenNumbers(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const wide = (text) => text
      .replace(
        /(^|[\\s/×+−])(\\$?)\\d[\\d,]*(\\.\\d+)?(?= *(?:\\/|$| [a-z]{4,}))/g,
        (_, before, sign) => before + (sign === "" ? "888,888,888,888" : "$888,888.88"),
      )
      .replace(/^(?:<1|\\d+)%$/, "8,888%");
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const widened = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const text = wide(node.data);
      if (text === node.data || node.parentElement.closest("svg, option, th") !== null) continue;
      node.data = text;
      widened.push(node.parentElement);
    }
    const isOut = (each) => {
      const frame = each.closest("td, .figure, li, .card, main").getBoundingClientRect();
      const { width, right } = each.getBoundingClientRect();
      return width > 1 && right > frame.right + 1;
    };
    return widened.filter(isOut).map((each) => each.textContent);
  })()`);
}

/** Everything that a script of the page can reach of what it was told. */
export function withinReachOfScripts(page: Page): Promise<string> {
  return page.evaluate(
    "JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href])",
  );
}

export function cookiesOf(page: Page): Promise<string> {
  return page.evaluate("document.cookie");
}

/** How many pictures stand in the page. */
export function imagesOf(page: Page): Promise<number> {
  return page.evaluate(`document.querySelectorAll("img").length`);
}

/** Elements of all tables. */
export function rowsOf(page: Page): Promise<number> {
  return page.evaluate(`document.querySelectorAll("tr").length`);
}

/** The texts of the elements that a selector finds. */
export function textsOf(page: Page, selector: string): Promise<string> {
  return page.evaluate(textsIn(selector));
}

/** Resolves once they are others than `before`. */
export function whenTextsChange(page: Page, selector: string, before: string): Promise<void> {
  // Not by `waitForFunction`, which evaluates a text in the page: its policy forbids that.
  return page.evaluate(`new Promise((resolve) => {
    const look = () => ${textsIn(selector)} === ${JSON.stringify(before)} || resolve();
    new MutationObserver(look)
      .observe(document, { subtree: true, childList: true, characterData: true });
    look();
  })`);
}

function textsIn(selector: string): string {
  const all = `document.querySelectorAll(${JSON.stringify(selector)})`;
  return `[...${all}].map((each) => each.textContent).join()`;
}

export interface Focus {
  /** In lower case. */
  readonly tag: string;
  /** What a screen reader calls it. */
  readonly name: string;
}

export function focusOf(page: Page): Promise<Focus> {
  return page.evaluate(`(() => {
    const at = document.activeElement;
    const name = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
    return { tag: at.tagName.toLowerCase(), name: name.trim() };
  })()`);
}

/** Until the page shows what it asked for. */
export async function whenShown(page: Page): Promise<void> {
  await page.waitForSelector("h1");
  for (const each of await page.locator(".skeleton").all())
    await each.waitFor({ state: "detached" });
}

/** Runs in each page before its own scripts: a broken policy is a line on the console. */
export const tellOfPolicies = `addEventListener("securitypolicyviolation", (event) =>
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI))`;
