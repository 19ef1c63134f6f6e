/**
 * The TypeScript sources of this repository as a test reads them: what each imports, and its code
 * without comments and texts.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The programs, and what they share. */
export const programs = ["proxy", "limiterd", "shared", "bin"];

export interface Import {
  /** A path from the root for one of our files, else the package or `node:` module as written. */
  readonly from: string;
  readonly ours: boolean;
  /** Gone after compilation. */
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** From the root. */
  readonly path: string;
  readonly text: string;
  /** The text with comments, strings and regular expressions blanked; line numbers are the same. */
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

/** Every TypeScript file, with markup or without, below these directories. */
export function readSources(directories: readonly string[]): SourceFile[] {
  return directories
    .flatMap((directory) =>
      (readdirSync(join(root, directory), { recursive: true }) as string[])
        .filter((name) => /\.tsx?$/.test(name) && !name.includes("node_modules"))
        .map((name) => readSource(join(directory, name))),
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), "utf8");
  // The slashes of markup would be taken for the begin of a regular expression.
  const code = withoutTexts(path.endsWith("x") ? text.replace(/<\/|\/>/g, "<>") : text);
  const imports = [
    ...text.matchAll(
      /^[ \t]*(?:import|export)\s+(type\s)?(?:[^;"]*?\sfrom\s*)?"([^"]+)"|\bimport\("([^"]+)"\)/gm,
    ),
  ]
    .filter(({ index }) => /[a-z]/.test(code[index + (text.slice(index).match(/\S/)?.index ?? 0)]!))
    .map(([, typeOnly, written, dynamic]): Import => {
      const from = written ?? dynamic!;
      const ours = from.startsWith(".");
      return {
        from: ours ? sourceOf(normalize(join(dirname(path), from))) : from,
        ours,
        typeOnly: typeOnly !== undefined,
      };
    });
  return { path, text, code, lines: text.split("\n").length - 1, imports };
}

/** The file that an import names: modules are imported by the name that they are compiled to. */
function sourceOf(module: string): string {
  const source = module.replace(/\.js$/, ".ts");
  return existsSync(join(root, `${source}x`)) ? `${source}x` : source;
}

/**
 * Blanks comments, strings, texts of templates and regular expressions. Enough of a lexer for
 * formatted code, and for nothing else.
 */
export function withoutTexts(text: string): string {
  let code = "";
  const templates: number[] = [];
  let braces = 0;
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at, at + 2);
    const begins = rest[0]!;
    let end = at + 1;
    if (rest === "//") end = endOf(text, at, /\n|$/g, 0);
    else if (rest === "/*") end = endOf(text, at + 2, /\*\//g, 2);
    else if (begins === '"' || begins === "'")
      end = endOf(text, at + 1, begins === '"' ? /(?<!\\)(?:\\\\)*"/g : /(?<!\\)(?:\\\\)*'/g);
    else if (begins === "`" || (begins === "}" && templates.at(-1) === braces)) {
      if (begins === "}") templates.pop();
      end = endOf(text, at + 1, /(?<!\\)(?:\\\\)*(?:`|\$\{)/g);
      if (text[end - 1] === "{") templates.push(braces);
    } else if (begins === "/" && mayBeginExpression(code)) end = endOfExpression(text, at + 1);
    else {
      if (begins === "{") braces++;
      if (begins === "}") braces--;
      code += begins;
      at = end;
      continue;
    }
    code +=
      begins === "/" && rest !== "//" && rest !== "/*"
        ? `0${" ".repeat(end - at - 1)}`
        : text.slice(at, end).replace(/[^\n]/g, " ");
    at = end;
  }
  return code;
}

/** The position after the next match, or `keep` characters into it. */
function endOf(text: string, from: number, pattern: RegExp, keep?: number): number {
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  if (match === null) return text.length;
  return match.index + (keep ?? match[0].length);
}

/** The position after a regular expression; a slash in brackets doesn't end it. */
function endOfExpression(text: string, from: number): number {
  let inClass = false;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[") inClass = true;
    else if (text[at] === "]") inClass = false;
    else if (text[at] === "/" && !inClass) return at + 1;
  }
  return text.length;
}

/** Whether a slash after this code begins a regular expression rather than divides. */
function mayBeginExpression(code: string): boolean {
  const before = code.trimEnd();
  return (
    before === "" ||
    /[(,=:[!&|?{};+\-*%<>~^]$/.test(before) ||
    /\b(?:return|typeof|case|in|of|do|else)$/.test(before)
  );
}
