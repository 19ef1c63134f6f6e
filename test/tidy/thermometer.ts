/**
 * `npm run heavy -- thermometer`: how heavy the project is, in figures to compare. None of them is
 * a rule: merging two concepts to lower a figure makes the code worse.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Covered, coverRequest } from "./cover-request.js";
import { programs, readSources, root, type SourceFile } from "./source-tree.js";

/** Words and turns of phrase that a reader has to translate, in comments, texts and pages. */
const privateWords =
  /\b(?:(?:is|are|was|were|be|been) told|nobody|whoever|untold|stands|lies|by (?:it|them)sel(?:f|ves)|anew|at once|well)\b/gi;

/** One setting under all of its names: `server.stalled_client_seconds`. */
const setting = /stalled_?client/i;

const sources = readSources(programs);
const tests = readSources(["test"]);
const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" })
  .trim()
  .split("\n")
  .filter((path) => /\.(?:tsx?|mjs|md|yaml|json)$/.test(path) && !path.includes("package-lock"));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const linesOf = (files: readonly SourceFile[]): number => sum(files.map(({ lines }) => lines));
const wordsOf = (path: string): number => read(path).split(/\s+/).filter(Boolean).length;
const pages = tracked.filter((path) => /^(?:docs\/.*|[A-Z]+)\.md$/.test(path));
/** The shelf of docs/README.md on which a page is. */
function shelfOf(page: string): string {
  if (page.startsWith("docs/reference/")) return "Reference";
  return /^docs\/(?:contributing|decisions)\/|releasing|^C/.test(page) ? "Inside" : "Use it";
}
const wordsOn = (shelf: string): number =>
  sum(pages.filter((page) => shelfOf(page) === shelf).map(wordsOf));
const scripts = (JSON.parse(read("package.json")) as { scripts: object }).scripts;

function withOneImporter(): number {
  const importers = new Map<string, number>();
  for (const { imports } of sources)
    for (const from of new Set(imports.filter(({ ours }) => ours).map(({ from }) => from)))
      importers.set(from, (importers.get(from) ?? 0) + 1);
  return [...importers.values()].filter((count) => count === 1).length;
}

/** The comments, strings and templates of a source: what differs from its blanked code. */
function textOf({ text, code }: SourceFile): string {
  return [...text].map((character, at) => (code[at] === character ? " " : character)).join("");
}

function countPrivateWords(): number {
  const texts = [...[...sources, ...tests].map(textOf), ...pages.map(read)];
  return sum(texts.map((text) => text.match(privateWords)?.length ?? 0));
}

/**
 * Under how many names the exchange of a request is handed on in the files that a chat runs: its
 * own and those of what holds it, by the declared types.
 */
function namesOfExchange(ran: Covered): number {
  const carriers = new Set(["Exchange"]);
  const declared = /\binterface (\w+)[^{]*\{[^}]*\}|\btype (\w+)[^;]*;/g;
  const types = sources.flatMap(({ code }) => [...code.matchAll(declared)]);
  const carrier = (): string => `(?:\\w+<)*(?:${[...carriers].join("|")})\\b`;
  for (let before = 0; before !== carriers.size; ) {
    before = carriers.size;
    const carried = new RegExp(`(?::|=|extends|&) ${carrier()}`);
    for (const [text, shape, alias] of types)
      if (carried.test(text)) carriers.add((shape ?? alias)!);
  }
  const held = new RegExp(`\\b(\\w+)\\??: ${carrier()}`, "g");
  const names = sources
    .filter(({ path }) => ran.has(path))
    .flatMap(({ code }) => [...code.matchAll(held)].map(([, name]) => name));
  return new Set(names).size;
}

/** The files that docs/contributing/architecture.md names, in its order, to follow a chat. */
function filesToRead(): readonly string[] {
  const page = read("docs/contributing/architecture.md");
  const steps = page.slice(
    page.indexOf("## The way of one chat request"),
    page.indexOf("## The tree"),
  );
  return [...steps.matchAll(/^\d+\. .*?\[([\w/-]+\.ts)\]/gm)].map(([, path]) => path!);
}

const { proxy, daemon } = await coverRequest();
const toRead = filesToRead();
const functionsOf = (covered: Covered): number => [...covered.values()].flat().length;
const rows: readonly (readonly [what: string, figure: number])[] = [
  ["files that one chat runs, proxy", proxy.size],
  ["files that one chat runs, daemon", daemon.size],
  ["functions that one chat runs, proxy", functionsOf(proxy)],
  ["functions that one chat runs, daemon", functionsOf(daemon)],
  ["files to read to follow a chat", toRead.length],
  [
    "of these, not run by a chat",
    toRead.filter((path) => !proxy.has(path) && !daemon.has(path)).length,
  ],
  ["names of the exchange on its way", namesOfExchange(proxy)],
  ["source files", sources.length],
  ["source files with one importer", withOneImporter()],
  ["source lines", linesOf(sources)],
  ["test files", tests.length],
  ["test lines", linesOf(tests)],
  ["files that name one setting", tracked.filter((path) => setting.test(read(path))).length],
  ["words of all pages", sum(pages.map(wordsOf))],
  ["of these, on the shelf Use it", wordsOn("Use it")],
  ["of these, on the shelf Reference", wordsOn("Reference")],
  ["of these, on the shelf Inside", wordsOn("Inside")],
  ["words of README.md", wordsOf("README.md")],
  ["npm scripts", Object.keys(scripts).length],
  ["private words", countPrivateWords()],
];
for (const [what, figure] of rows)
  console.log(`${what.padEnd(40)} ${figure.toLocaleString("en").padStart(8)}`);
