/**
 * The lines of a text as Markdown reads them: which are prose, and which must stay unchanged
 * because they are, or may be, code. A line that is prose in only one of two possible
 * interpretations is `code`.
 *
 * Lines end in LF or CRLF. The text may be in its Latin-1 reading: everything that matters here is
 * ASCII.
 */

/**
 * `blank`: white space only. `indented`: by four spaces or a tab, also after a list mark; such a
 * line is code, or a list within a list. `code`: fences and the lines between them.
 */
type LineKind = "prose" | "blank" | "indented" | "code";

/** Positions in the text: `end` is before the line break, `next` after it. */
export interface Line {
  readonly kind: LineKind;
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

interface Fence {
  readonly indent: string;
  /** The fence's backticks or tildes. */
  readonly run: string;
}

export function markdownLines(text: string): readonly Line[] {
  const lines: Line[] = [];
  let fence: Fence | null = null;
  /** From the first ambiguous fence on, every line is code. */
  let doubtful = false;
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf("\n", start);
    const next = feed === -1 ? text.length : feed + 1;
    const end = feed === -1 ? next : text[feed - 1] === "\r" && feed > start ? feed - 1 : feed;
    const line = text.slice(start, end);
    let kind: LineKind = "code";
    if (doubtful) {
      // The line stays code.
    } else if (fence !== null) {
      const meets = meetFence(line, fence);
      doubtful = meets === "doubt";
      if (meets === "end") fence = null;
    } else {
      const opens = openFence(line);
      if (opens === "doubt") doubtful = true;
      else if (opens !== null) fence = opens;
      else kind = lineKind(line);
    }
    lines.push({ kind, start, end, next });
    start = next;
  }
  return lines;
}

/**
 * The beginning of a line: indentation, and the marks of quotes and lists. The function doesn't use
 * a regular expression, which would keep a backtracking position for each mark: a line may consist
 * of megabytes of marks.
 */
export function leadOf(line: string): string {
  let position = afterSpace(line, 0);
  for (let mark = afterMark(line, position); mark !== -1; mark = afterMark(line, position))
    position = afterSpace(line, mark);
  return line.slice(0, position);
}

function afterSpace(line: string, position: number): number {
  while (line[position] === " " || line[position] === "\t") position++;
  return position;
}

/**
 * The position after `-`, `+`, `*`, `>`, or a number with a dot or a bracket; -1 if there is no
 * mark.
 */
function afterMark(line: string, position: number): number {
  if ("-+*>".includes(line[position] ?? "none")) return position + 1;
  let digits = 0;
  while (digits <= numberDigitsMax && isDigit(line.charCodeAt(position + digits))) digits++;
  const end = position + digits;
  return digits > 0 && digits <= numberDigitsMax && (line[end] === "." || line[end] === ")")
    ? end + 1
    : -1;
}

/** CommonMark 5.2. */
const numberDigitsMax = 9;

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function lineKind(line: string): LineKind {
  if (/^[ \t]*$/.test(line)) return "blank";
  return / {4}|\t/.test(leadOf(line)) ? "indented" : "prose";
}

const anyFence = /`{3,}|~{3,}/;
const fenceLine = /^([ \t]*)(`{3,}|~{3,})(.*)$/s;

/**
 * For a line outside code: the fence that it opens, or `doubt` for a fence in a quote, after a list
 * mark or after other text.
 */
function openFence(line: string): Fence | "doubt" | null {
  if (!anyFence.test(line)) return null;
  const [, indent, run, info] = fenceLine.exec(line) ?? [];
  if (indent !== undefined && run !== undefined && !(run.startsWith("`") && info?.includes("`")))
    return { indent, run };
  // Three backticks may also enclose code within a line.
  return line.includes("~~~") || hasLoneRun(line) ? "doubt" : null;
}

/** For a line inside code: whether the line ends the code, doesn't end it, or may end it. */
function meetFence(line: string, fence: Fence): "code" | "end" | "doubt" {
  // In a list, a line with less indentation ends the item, and with it the item's code.
  if (!line.startsWith(fence.indent) && !/^[ \t]*$/.test(line)) return "doubt";
  if (!line.includes(fence.run)) return "code";
  const [, indent = "", run = "", rest = ""] = fenceLine.exec(line) ?? [];
  const isEnd =
    run.startsWith(fence.run) &&
    /^[ \t]*$/.test(rest) &&
    (fence.indent === "" ? /^ {0,3}$/.test(indent) : indent === fence.indent);
  return isEnd ? "end" : "doubt";
}

/**
 * Whether the line has a run of three or more backticks without a second run of the same length.
 */
function hasLoneRun(line: string): boolean {
  const lone = new Map<number, boolean>();
  for (const { length } of line.match(/`{3,}/g) ?? []) lone.set(length, !lone.has(length));
  return [...lone.values()].includes(true);
}

interface Zone {
  readonly start: number;
  readonly end: number;
}

/**
 * Where code in backticks may be, from `start` to `end`, in order. Code reaches from one run of
 * backticks to another of the same length. Which runs form a pair depends on where paragraphs, list
 * items and quotes begin, so everything from the first run to the last counts as code.
 * `mayContinue`: the last run may come after `end`.
 */
export function codeZones(
  text: string,
  start: number,
  end: number,
  mayContinue: boolean,
): readonly Zone[] {
  const byLength = new Map<number, { start: number; end: number }>();
  for (const { 0: run, index } of text.slice(start, end).matchAll(/`+/g)) {
    const position = start + index;
    // After a backslash the run may be one shorter: its first backtick is literal.
    for (const length of text[position - 1] === "\\" && position > start
      ? [run.length, run.length - 1]
      : [run.length]) {
      const zone = byLength.get(length);
      if (zone === undefined)
        byLength.set(length, { start: position, end: mayContinue ? end : position });
      else if (!mayContinue) zone.end = position + run.length;
    }
  }
  const zones: { start: number; end: number }[] = [];
  for (const zone of [...byLength.values()].sort((a, b) => a.start - b.start)) {
    const last = zones.at(-1);
    if (last !== undefined && zone.start < last.end) last.end = Math.max(last.end, zone.end);
    else if (zone.end > zone.start) zones.push(zone);
  }
  return zones;
}
