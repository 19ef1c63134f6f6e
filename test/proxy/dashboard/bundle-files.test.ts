/** The bundle as it was built: what is in it, how large it is, and what leaves it out. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import t from "tap";
import { createDashboardLoader } from "../../../proxy/dashboard/bundle-files.js";
import type { KeptFile } from "../../../proxy/http/reply-file.js";
import { root } from "../../tidy/source-tree.js";

const folder = join(root, "dist/programs/dashboard");
const bundle = (await createDashboardLoader()())!;

/** Kilobytes, as they are sent to a browser that takes gzip. */
async function gzippedKb(files: Iterable<KeptFile>): Promise<number> {
  let bytes = 0;
  for (const file of files) bytes += (await file.bytes("gzip")).length;
  return bytes / 1000;
}

/** A file with those that it can't do without. */
function withImports(name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  const text = readFileSync(join(folder, name), "utf8");
  for (const [, imported] of text.matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g))
    withImports(imported!, seen);
  return seen;
}

t.test("the first page is at most 60 kB gzipped, and all of it 115", async (t) => {
  const named = (start: string): string =>
    [...bundle.files.keys()].find((n) => n.startsWith(start))!;
  const first = new Set([
    named("chosen-theme-"),
    [...bundle.files.keys()].find((name) => /^main-.*\.css$/.test(name))!,
    ...withImports([...bundle.files.keys()].find((name) => /^main-.*\.js$/.test(name))!),
    ...withImports(named("overview-page-")),
  ]);
  const firstKb = await gzippedKb([
    bundle.page,
    ...[...first].map((name) => bundle.files.get(name)!),
  ]);
  const allKb = await gzippedKb([bundle.page, bundle.icon, ...bundle.files.values()]);
  t.comment(`first load ${firstKb.toFixed(1)} kB, all ${allKb.toFixed(1)} kB, gzipped`);
  t.ok(firstKb <= 60, `${firstKb}`);
  t.ok(allKb <= 115, `${allKb}`);
});

t.test("nothing in it leads to another host", async (t) => {
  // Names of XML and words of error messages, which are never asked for.
  const harmless = /^https?:\/\/(?:www\.w3\.org|preactjs\.com|github\.com)\//;
  for (const name of bundle.files.keys()) {
    const text = readFileSync(join(folder, name), "utf8");
    t.same(
      [...text.matchAll(/https?:\/\/[^\s"'`)]+/g)].filter(([url]) => !harmless.test(url)),
      [],
      name,
    );
  }
});

t.test("each coding holds the same bytes", async (t) => {
  for (const [name, file] of bundle.files) {
    const bytes = await file.bytes("identity");
    t.ok(brotliDecompressSync(await file.bytes("br")).equals(bytes), name);
    t.ok(gunzipSync(await file.bytes("gzip")).equals(bytes), name);
  }
});

t.test("there is no bundle without its first files, and it is read once", async (t) => {
  const empty = mkdtempSync(join(tmpdir(), "dashboard-"));
  t.equal(await createDashboardLoader([join(empty, "none")])(), null);
  t.equal(await createDashboardLoader([empty])(), null);
  for (const name of ["main-A.js", "main-B.css", "chosen-theme-C.js", "notes.txt"])
    writeFileSync(join(empty, name), name);
  const load = createDashboardLoader([empty]);
  const first = await load();
  t.same([...first!.files.keys()].sort(), ["chosen-theme-C.js", "main-A.js", "main-B.css"]);
  t.equal(await load(), first);
});
