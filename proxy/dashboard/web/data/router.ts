/**
 * The page that the address names. Addresses are plain paths below /dashboard/, with the filters in
 * the query, so that an address can be shared.
 */
import { type ReadonlySignal, signal } from "@preact/signals";

export const base = "/dashboard/";

interface Place {
  /** Below the base, without slashes at its ends; empty for the first page. */
  readonly page: string;
  readonly query: URLSearchParams;
}

export class Router {
  readonly #place = signal<Place>(readPlace(location));
  #hasMoved = false;

  get place(): ReadonlySignal<Place> {
    return this.#place;
  }

  /** Whether the user has navigated to another page. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /** Handles the page's links and the browser's own buttons. */
  start(): void {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      if (link === null || !isOurs(event, link)) return;
      event.preventDefault();
      this.go(link.href);
    });
  }

  go(href: string): void {
    history.pushState(null, "", href);
    this.#read();
  }

  /** Changes the query of this page; null and "" remove a parameter. */
  setQuery(
    changes: Readonly<Record<string, string | null>>,
    { keepHistory = true }: { readonly keepHistory?: boolean } = {},
  ): void {
    const { page, query } = this.#place.value;
    const href = hrefOf(page, { ...Object.fromEntries(query), ...changes });
    if (keepHistory) history.pushState(null, "", href);
    else history.replaceState(null, "", href);
    this.#read();
  }

  #read(): void {
    const next = readPlace(location);
    if (next.page !== this.#place.value.page) {
      this.#hasMoved = true;
      scrollTo(0, 0);
    }
    this.#place.value = next;
  }
}

/** The address of a page with its filters. */
export function hrefOf(
  page: string,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const parameters = Object.entries(query).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "",
  );
  const text = new URLSearchParams(parameters).toString();
  return `${base}${page}${text === "" ? "" : `?${text}`}`;
}

/** The address of a tenant's page. */
export function tenantHref(path: string): string {
  return `${base}tenants${path.split("/").map(encodeURIComponent).join("/")}`;
}

function readPlace({ pathname, search }: Location): Place {
  const page = pathname.startsWith(base) ? pathname.slice(base.length) : "";
  let end = page.length;
  while (end > 0 && page[end - 1] === "/") end--;
  return { page: page.slice(0, end), query: new URLSearchParams(search) };
}

/** A plain click on a link to another page of the dashboard. */
function isOurs(event: MouseEvent, link: HTMLAnchorElement): boolean {
  return (
    event.button === 0 &&
    !event.defaultPrevented &&
    !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) &&
    link.origin === location.origin &&
    link.pathname.startsWith(base) &&
    link.target === "" &&
    !link.hasAttribute("download")
  );
}
