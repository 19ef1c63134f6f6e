/** The licences of the packages that an artefact holds, with their texts. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** None of these asks for more than that its text comes along. */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "PSF-2.0",
]);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** `places`: folders of packages in the tree at `root`, such as `node_modules/lmdb`. */
export function licences(
  root: string,
  places: readonly string[],
): { readonly text: string; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const parts: string[] = [];
  for (const place of places) {
    const folder = join(root, place);
    // One for another system isn't installed.
    if (!existsSync(join(folder, "package.json"))) continue;
    const { name, version, license } = manifestIn(folder);
    if (license === undefined || !allowed.has(license))
      problems.push(`${name}@${version}: ${license ?? "no licence is named"}`);
    const texts = readdirSync(folder)
      .filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
      .map((file) => readFileSync(join(folder, file), "utf8").trim());
    parts.push([`${name} ${version} (${license})`, ...texts].join("\n\n"));
  }
  return { text: `${parts.join(`\n\n${"=".repeat(78)}\n\n`)}\n`, problems };
}

export function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Where the build says which packages are in the dashboard, the spans and the prices. */
export const bundles = {
  pages: "dist/pages.json",
  spans: "dist/spans.json",
  prices: "dist/prices.json",
};

/** The packages whose code is in the files of a bundle, by their folders in the tree at `root`. */
export function bundledPackages(root: string, bundle: string): readonly string[] {
  const { inputs } = JSON.parse(readFileSync(join(root, bundle), "utf8")) as {
    readonly inputs: object;
  };
  const places = Object.keys(inputs)
    .map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
    .filter((place) => place !== undefined);
  return [...new Set(places)].sort();
}
