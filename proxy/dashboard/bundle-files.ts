/**
 * The bundle of the dashboard (`npm run build`), read from disk at its first use and then kept in
 * memory: an unused dashboard costs a proxy nothing.
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { keptFile } from "../http/kept-file.js";
import type { KeptFile } from "../http/reply-file.js";
import { iconText, indexPage } from "./page-head.js";
import type { DashboardBundle, LoadDashboard } from "./serve-dashboard.js";

/** Beside the bundled program; in the programs' folder for a module that runs unbundled. */
const folders = ["./dashboard/", "../../programs/dashboard/"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

const contentTypes: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/** Reads the files once; retries after a failure at the next call. */
export function createDashboardLoader(from: readonly string[] = folders): LoadDashboard {
  let loading: Promise<DashboardBundle | null> | null = null;
  return () => {
    loading ??= loadBundle(from).catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

async function loadBundle(from: readonly string[]): Promise<DashboardBundle | null> {
  const folder = from.find((place) => existsSync(place));
  if (folder === undefined) return null;
  const names = (await readdir(folder)).filter((name) => contentTypes[endOf(name)] !== undefined);
  const readEntry = async (name: string): Promise<readonly [string, KeptFile]> => [
    name,
    keptFile(await readFile(`${folder}/${name}`), contentTypes[endOf(name)]!),
  ];
  const script = names.find((name) => /^main-\w+\.js$/.test(name));
  const style = names.find((name) => /^main-\w+\.css$/.test(name));
  const theme = names.find((name) => /^chosen-theme-\w+\.js$/.test(name));
  if (script === undefined || style === undefined || theme === undefined) return null;
  return {
    files: new Map(await Promise.all(names.map(readEntry))),
    page: keptFile(Buffer.from(indexPage({ script, style, theme })), "text/html; charset=utf-8"),
    icon: keptFile(Buffer.from(iconText), "image/svg+xml"),
  };
}

function endOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}
