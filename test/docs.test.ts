/** Holds the pages to the tree: every path, link and anchor in them leads somewhere. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import { ownedFiles, ownerOf, withOwner } from "./artefacts/repository-owner.js";
import { heavy } from "./heavy.js";
import { root } from "./tidy/source-tree.js";

const tree = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .trim()
  .split("\n");
const files = new Set(tree);
const directories = new Set(tree.flatMap(parentsOf));
const pages = tree.filter((path) => /^(?:docs\/.*|[A-Z]+)\.md$/.test(path));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
}

/** A path as prose names it: a file, a folder, a pattern with stars, or a basename. */
function exists(path: string): boolean {
  const plain = path.replace(/\/$/, "");
  if (files.has(plain) || directories.has(plain)) return true;
  if (!plain.includes("/")) return tree.some((file) => file.endsWith(`/${plain}`));
  if (!plain.includes("*")) return false;
  const pattern = plain
    .replace(/[.+]/g, "\\$&")
    .replace(/\*\*?/g, (stars) => (stars === "**" ? ".*" : "[^/]*"));
  return tree.some((file) => new RegExp(`^${pattern}$`).test(file));
}

function anchorsOf(page: string): Set<string> {
  const headings = withoutBlocks(read(page)).matchAll(/^#+ (.*)$/gm);
  const slug = (heading: string): string =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .trim()
      .replaceAll(" ", "-");
  return new Set([...headings].map(([, heading]) => slug(heading!)));
}

function withoutBlocks(text: string): string {
  return text.replace(/^```[^]*?^```/gm, "");
}

t.test("every path that a page names in backticks is there", async (t) => {
  const named =
    /`((?:proxy|limiterd|shared|bin|test|docs|systemd)\/[\w./*-]*|[\w-]+\.(?:ts|md|json))`/g;
  const gone = pages.flatMap((page) =>
    [...read(page).matchAll(named)]
      .filter(([, path]) => !exists(path!))
      .map(([, path]) => `${page}: ${path}`),
  );
  t.same(gone, []);
  t.ok(pages.length > 20 && exists("proxy/main.ts") && !exists("proxy/nowhere.ts"));
});

t.test("every npm script and heavy command that a page or CI names is there", async (t) => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const names = Object.keys(scripts);
  t.ok(names.length <= 15, `${names.length} scripts: others go behind npm run heavy`);
  const unknown = [...pages, ".ci/run"].flatMap((page) =>
    [...read(page).matchAll(/npm run (?:--silent )?([\w:-]+)(?: -- ([a-z][\w:-]*))?/g)]
      .filter(([, name, of]) =>
        name === "heavy" ? of !== undefined && !(of in heavy) : !names.includes(name!),
      )
      .map(([text]) => `${page}: ${text}`),
  );
  t.same(unknown, []);
});

t.test("every heavy command runs a file that has a source", async (t) => {
  const gone = Object.entries(heavy).flatMap(([name, { command }]) =>
    command
      .filter((word) => word.startsWith("dist/"))
      .map((word) => word.replace(/^dist\/(.*)\.js$/, "$1.ts"))
      .filter((path) => !exists(path))
      .map((path) => `${name}: ${path}`),
  );
  t.same(gone, []);
});

t.test("every compiled test that a page runs has a source", async (t) => {
  const gone = pages.flatMap((page) =>
    [...read(page).matchAll(/dist\/(test\/[\w./-]+)\.js/g)]
      .filter(([, path]) => !files.has(`${path}.ts`))
      .map(([, path]) => `${page}: ${path}`),
  );
  t.same(gone, []);
});

t.test("each claim on security names a test that exists", async (t) => {
  const [claims = "", ofFiles = ""] =
    read("test/security-claims.md").split("\n## Authentication\n");
  const rowsOf = (text: string): readonly string[] =>
    text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| claim |"));
  t.ok(rowsOf(claims).length > 70 && rowsOf(ofFiles).length > 10);
  const wrong = rowsOf(claims).filter((row) => {
    const [, path, name] = /\| `(test\/[\w./-]+\.test\.ts)`: ([^|]+) \|$/.exec(row) ?? [];
    return path === undefined || !files.has(path) || !read(path).includes(`"${name}"`);
  });
  t.same(wrong, []);
  const named = rowsOf(ofFiles).map((row) => [...row.matchAll(/`(test\/[^`]+)`/g)]);
  t.ok(named.every((paths) => paths.length > 0));
  t.same(
    named.flat().filter(([, path]) => !exists(path!)),
    [],
  );
  // Each group of claims has its section on the page.
  const page = read("docs/security.md");
  for (const [, section = ""] of claims.matchAll(/^## (.+)$/gm))
    t.ok(page.includes(`\n## ${section}\n`), section);
});

t.test("every link between pages leads to a file and to a heading in it", async (t) => {
  const broken = pages.flatMap((page) =>
    [...withoutBlocks(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter((link) => !/^(?:https?|mailto):/.test(link) && !leads(page, link))
      .map((link) => `${page}: ${link}`),
  );
  t.same(broken, []);
});

function leads(page: string, link: string): boolean {
  const [path, anchor] = link.split("#") as [string, string?];
  const target = path === "" ? page : normalize(join(dirname(page), path));
  if (!exists(target)) return false;
  return anchor === undefined || !target.endsWith(".md") || anchorsOf(target).has(anchor);
}

t.test("comments cite pages of this repository alone", async (t) => {
  const sources = tree.filter((path) => path.endsWith(".ts"));
  const cited = sources.flatMap((path) =>
    [...read(path).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => ({ path, page })),
  );
  t.same(
    cited.filter(({ page }) => !files.has(page)).map(({ path, page }) => `${path}: ${page}`),
    [],
  );
  const elsewhere = sources.filter((path) => /\b(?:SPEC|CONTRACT)\b/.test(comments(read(path))));
  t.same(elsewhere, [], "no document that the repository doesn't hold");
});

t.test("a heading that a comment cites beside its page is there", async (t) => {
  const cited = tree
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => {
      const text = read(path).replace(/\n\s*(?:\*|\/\/) ?/g, " ");
      const citations = text.matchAll(/(docs\/[\w/-]+\.md)`?,? "([^"]+)"/g);
      return [...citations].map(([, page, heading]) => ({ path, page: page!, heading: heading! }));
    });
  t.ok(cited.length > 20);
  const gone = cited.filter(
    ({ page, heading }) =>
      files.has(page) && !headingsOf(page).some((each) => each.startsWith(heading)),
  );
  t.same(
    gone.map(({ path, page, heading }) => `${path}: ${page}, "${heading}"`),
    [],
  );
});

/** Without the backticks. */
function headingsOf(page: string): readonly string[] {
  const headings = withoutBlocks(read(page)).matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading]) => heading!.replaceAll("`", ""));
}

function comments(text: string): string {
  return text
    .split("\n")
    .filter((line) => /^\s*(?:\/\*|\*|\/\/)/.test(line))
    .join("\n");
}

t.test("who publishes names the repository in package.json alone", async (t) => {
  const shipped = tree.filter((path) => !/^(?:test|node_modules)\b/.test(path));
  const said = shipped.filter((path) => /\bOWNER\b/.test(read(path)));
  const isSet = ownerOf(JSON.parse(read("package.json")) as object) !== null;
  t.same(said.toSorted(), isSet ? [] : [...ownedFiles].sort());
  for (const path of ownedFiles)
    t.notMatch(withOwner(read(path), "acme"), /\bOWNER\b/, `${path} is written by npm run docs`);
  for (const repository of [
    "github:acme/sluice",
    "acme/sluice",
    "https://github.com/acme/sluice",
    { type: "git", url: "git+https://github.com/acme/sluice.git" },
    { type: "git", url: "git@github.com:acme/sluice.git" },
  ])
    t.equal(ownerOf({ repository }), "acme");
  for (const repository of [undefined, "", "sluice", {}]) t.equal(ownerOf({ repository }), null);
});
