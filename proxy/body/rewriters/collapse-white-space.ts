/**
 * The rewriter `collapse_white_space`, for texts of users, systems and tools:
 *
 * - two or more spaces within a line become one;
 * - spaces at the end of a line go. Two before another line of text stay: they are a line break in
 *   Markdown;
 * - white space on a blank line goes, and of several blank lines one stays.
 *
 * It leaves these unchanged: code between fences, to the end of the text if a fence isn't closed;
 * indented lines, and blank ones between them; everything between backticks; indentation, and the
 * space after the marks of lists and quotes; the end of a line after a backslash; any run that
 * contains a tab, which separates columns; white space other than ASCII's; a text that is JSON,
 * which `minify_tool_json` handles; a text of white space only, because providers refuse empty
 * texts.
 */
import { codeZones, type Line, leadOf, markdownLines } from "./markdown-lines.js";
import { isJsonDocument } from "./minify-tool-json.js";
import { type Cuts, cutTexts, type Prompt, type TextRange } from "./rewrite-places.js";

export function collapseWhiteSpace(body: string, { texts }: Prompt): Cuts {
  return cutTexts(body, texts, cutsOf);
}

/** Quickly excludes most texts that have nothing to cut. */
const maybe = / {2}| \r?\n| $|[ \t]\r?\n|\n[ \t]*\r?\n[ \t]*\r?\n/;

function cutsOf(text: string): readonly TextRange[] {
  if (!maybe.test(text) || /^[ \t\r\n]*$/.test(text) || isJsonDocument(text)) return [];
  const cuts: TextRange[] = [];
  const lines = markdownLines(text);
  for (let i = 0; i < lines.length; ) {
    const first = i;
    const kind = groupKind(lines[first]!);
    while (i < lines.length && groupKind(lines[i]!) === kind) i++;
    const group = { first, end: i };
    if (kind === "blank") cutBlankLines(lines, group, cuts);
    else if (kind === "paragraph") cutParagraph(text, lines, group, cuts);
  }
  return cuts;
}

/**
 * Consecutive lines of one kind. `first` and `end` are indexes; `end` is the first line after them.
 */
interface Group {
  readonly first: number;
  readonly end: number;
}

function groupKind({ kind }: Line): "blank" | "code" | "paragraph" {
  return kind === "prose" || kind === "indented" ? "paragraph" : kind;
}

function cutBlankLines(lines: readonly Line[], group: Group, cuts: TextRange[]): void {
  const { first } = group;
  const after = lines[group.end]?.kind;
  if (lines[first - 1]?.kind === "indented" && (after === "indented" || after === "code")) return;
  const { start, end } = lines[first]!;
  if (end > start) cuts.push({ start, end });
  for (let i = first + 1; i < group.end; i++)
    cuts.push({ start: lines[i]!.start, end: lines[i]!.next });
}

function cutParagraph(text: string, lines: readonly Line[], group: Group, cuts: TextRange[]): void {
  const zones = codeZones(
    text,
    lines[group.first]!.start,
    lines[group.end - 1]!.end,
    lines[group.end]?.kind === "code",
  );
  let zone = 0;
  const add = (start: number, end: number): void => {
    while (zone < zones.length && zones[zone]!.end <= start) zone++;
    if (end > start && !(zone < zones.length && zones[zone]!.start < end))
      cuts.push({ start, end });
  };
  for (let i = group.first; i < group.end; i++) {
    if (lines[i]!.kind === "indented") continue;
    const { start, end, next } = lines[i]!;
    const isBreak = next < text.length && lines[i + 1]!.kind !== "blank";
    cutLine(text.slice(start, end), isBreak, (from, to) => add(start + from, start + to));
  }
}

/** `isBreak`: whether two spaces at the line's end would be a line break. */
function cutLine(line: string, isBreak: boolean, add: (start: number, end: number) => void): void {
  let end = line.length;
  while (end > 0 && isSpace(line.charCodeAt(end - 1))) end--;
  const run = /[ \t]{2,}/g;
  run.lastIndex = leadOf(line).length;
  for (let match = run.exec(line); match !== null && match.index < end; match = run.exec(line)) {
    if (!match[0].includes("\t")) add(match.index + 1, run.lastIndex);
  }
  // A backslash at the end of a line would be a line break.
  if (line.includes("\t", end) || line[end - 1] === "\\") return;
  add(end, isBreak && line.length - end >= 2 ? line.length - 2 : line.length);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
