/**
 * The table of pages: address, position in the navigation, and module. Each page is a folder in
 * pages/, which is loaded when the page is first opened. A page without `load` isn't finished, and
 * not shown.
 */
import type { FunctionComponent } from "preact";
import type { SignedIn } from "../../../shared/api/session-status.js";
import { isOfSubtree } from "./data/session.js";
import type { IconName } from "./parts/icon.js";
import type { shellTexts } from "./texts/shell-texts.js";

export type PageName = keyof typeof shellTexts.pages;

export interface PageEntry {
  readonly name: PageName;
  /** The address below /dashboard/. */
  readonly path: string;
  readonly group: keyof typeof shellTexts.groups;
  readonly icon: IconName;
  /** The letter after `g` that opens it. */
  readonly key: string;
  /** `admin`: an administrator of the gateway; `self`: the holder of a managed key or a JWT. */
  readonly audience: "admin" | "self";
  /** Whether addresses below its own lead to it, too. */
  readonly isFolder?: true;
  readonly load?: () => Promise<FunctionComponent>;
}

const pages: readonly PageEntry[] = [
  {
    name: "overview",
    path: "",
    group: "now",
    icon: "overview",
    key: "o",
    audience: "admin",
    load: () => import("./pages/overview/overview-page.js").then((page) => page.OverviewPage),
  },
  {
    name: "limits",
    path: "limits",
    group: "control",
    icon: "limits",
    key: "l",
    audience: "admin",
    load: () => import("./pages/limits/limits-page.js").then((page) => page.LimitsPage),
  },
  {
    name: "budgets",
    path: "budgets",
    group: "control",
    icon: "budgets",
    key: "b",
    audience: "admin",
    load: () => import("./pages/budgets/budgets-page.js").then((page) => page.BudgetsPage),
  },
  {
    name: "tenants",
    path: "tenants",
    group: "control",
    icon: "children",
    key: "t",
    audience: "admin",
    isFolder: true,
    load: () => import("./pages/tenants/tenants-page.js").then((page) => page.TenantsPage),
  },
  {
    name: "explain",
    path: "explain",
    group: "control",
    icon: "explain",
    key: "e",
    audience: "admin",
    load: () => import("./pages/explain/explain-page.js").then((page) => page.ExplainPage),
  },
  {
    name: "usage",
    path: "usage",
    group: "traffic",
    icon: "usage",
    key: "u",
    audience: "admin",
    load: () => import("./pages/usage/usage-page.js").then((page) => page.UsagePage),
  },
  {
    name: "bills",
    path: "bills",
    group: "traffic",
    icon: "bills",
    key: "c",
    audience: "admin",
    load: () => import("./pages/bills/bills-page.js").then((page) => page.BillsPage),
  },
  {
    name: "requests",
    path: "requests",
    group: "traffic",
    icon: "requests",
    key: "r",
    audience: "admin",
    load: () => import("./pages/requests/requests-page.js").then((page) => page.RequestsPage),
  },
  {
    name: "keys",
    path: "keys",
    group: "setup",
    icon: "keys",
    key: "k",
    audience: "admin",
    load: () => import("./pages/keys/keys-page.js").then((page) => page.KeysPage),
  },
  {
    name: "providers",
    path: "providers",
    group: "setup",
    icon: "providers",
    key: "p",
    audience: "admin",
    load: () => import("./pages/providers/providers-page.js").then((page) => page.ProvidersPage),
  },
  {
    name: "audit",
    path: "audit",
    group: "setup",
    icon: "table",
    key: "a",
    audience: "admin",
    load: () => import("./pages/audit/audit-page.js").then((page) => page.AuditPage),
  },
  {
    name: "system",
    path: "system",
    group: "setup",
    icon: "system",
    key: "s",
    audience: "admin",
    load: () => import("./pages/system/system-page.js").then((page) => page.SystemPage),
  },
  {
    name: "self",
    path: "me",
    group: "now",
    icon: "user",
    key: "m",
    audience: "self",
    load: () => import("./pages/self/self-page.js").then((page) => page.SelfPage),
  },
];

/** These pages are about the whole gateway: roles for a subtree can't open them. */
const gatewayPages: ReadonlySet<PageName> = new Set<PageName>([
  "overview",
  "bills",
  "providers",
  "system",
]);

/**
 * The page at the dashboard's own address: the Overview, or for readers without it the page of
 * their role's path.
 */
export function firstOf(entries: readonly PageEntry[]): PageEntry | undefined {
  return (
    entries.find(({ path }) => path === "") ??
    entries.find(({ isFolder }) => isFolder) ??
    entries[0]
  );
}

/** The pages that a reader may open. */
export function pagesFor(who: SignedIn): readonly PageEntry[] {
  const audience = who.kind === "self" ? "self" : "admin";
  return pages.filter(
    (page) =>
      page.audience === audience &&
      page.load !== undefined &&
      !(isOfSubtree(who) && gatewayPages.has(page.name)),
  );
}
