/** Runs seeds against the compiled product with one bug planted in it. */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.js";
import { mutants } from "./mutants.js";

const dist = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const root = dirname(dist);
/** `dist` in a checkout; an installed package has the compiled files in a folder of its own. */
const folder = basename(dist);

export interface MutantRun {
  readonly seeds: number;
  /** Seeds in which an invariant didn't hold. */
  readonly caught: number;
  /** The first violation. */
  readonly first: string;
}

export interface SeedRange {
  readonly from: number;
  readonly seeds: number;
  readonly untilCaught: boolean;
}

/** Finds a text of the code however the formatter has broken its lines. */
function anyFormat(find: string): RegExp {
  const characters = [...find.replace(/\s+/g, "")].map((character) => {
    const escaped = character.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    return /[)\]}]/.test(character) ? `,?\\s*${escaped}` : escaped;
  });
  return new RegExp(characters.join("\\s*"), "g");
}

/**
 * Why the table doesn't fit the code, one line for each mutant whose text isn't there exactly once.
 */
export function misplacedMutants(): string[] {
  return mutants
    .filter(
      ({ file, find }) =>
        [...readFileSync(join(dist, file), "utf8").matchAll(anyFormat(find))].length !== 1,
    )
    .map(({ name, file }) => `${name}: the text must occur once in ${file}`);
}

/** Plants the bug and runs the seeds, in a process of its own. */
export async function runMutant(
  { file, find, put, simulation }: Mutant,
  { from, seeds, untilCaught }: SeedRange,
): Promise<MutantRun> {
  const view = mkdtempSync(join(tmpdir(), "sluice-mutant-"));
  try {
    const text = readFileSync(join(dist, file), "utf8");
    exchangeFile(root, view, {
      path: [folder, ...file.split("/")],
      text: text.replace(anyFormat(find), () => put),
    });
    linkPackages(view);
    const args = [
      // A few seeds end before what V8 would optimize pays.
      ...(untilCaught ? ["--no-opt"] : []),
      "--preserve-symlinks",
      "--preserve-symlinks-main",
      join(view, `${folder}/test/${simulation === "ledger" ? "ledger" : "sim"}/main.js`),
      "--from",
      String(from),
      "--seeds",
      String(seeds),
      "--json",
      ...(simulation === undefined || simulation === "ledger" ? [] : [`--${simulation}`]),
      ...(untilCaught ? ["--until-caught"] : []),
    ];
    return JSON.parse(await output(args)) as MutantRun;
  } finally {
    rmSync(view, { recursive: true, force: true });
  }
}

/** Makes `to` what `from` is, through links, but for one file below it. */
function exchangeFile(
  from: string,
  to: string,
  { path: [name, ...rest], text }: { readonly path: readonly string[]; readonly text: string },
): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from))
    if (entry !== name) symlinkSync(join(from, entry), join(to, entry));
  const [source, target] = [join(from, name!), join(to, name!)];
  if (rest.length === 0) writeFileSync(target, text);
  else exchangeFile(source, target, { path: rest, text });
}

/** Where packages are installed somewhere above. */
function linkPackages(view: string): void {
  const link = join(view, "node_modules");
  if (existsSync(link)) return;
  for (let above = dirname(root); ; above = dirname(above)) {
    const packages = join(above, "node_modules");
    if (existsSync(join(packages, "msgpackr"))) return symlinkSync(packages, link);
    if (above === dirname(above)) throw new Error(`no msgpackr is installed above ${root}`);
  }
}

function output(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...args], { timeout: 600_000 }, (error, stdout, stderr) => {
      // The end with a violation is the expected one.
      if (error === null || stdout.startsWith("{")) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr}`));
    });
  });
}
