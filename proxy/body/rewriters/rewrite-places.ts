/**
 * The positions of a prompt's texts in the bytes of a request, and the cutting of bytes from them.
 * Rewriters may only cut: a body can't grow, and the rest stays byte for byte (order of keys, big
 * integers, escapes).
 *
 * The body and the texts in it are in their Latin-1 reading, as in `scan-json.ts`: white space,
 * fences and JSON's own characters are ASCII, and no byte of another character looks like one of
 * them.
 *
 * Not here: validation. A value that doesn't have the form of its dialect stays unchanged.
 */
import type { JsonOperation } from "../model-body.js";
import { type JsonItem, type JsonMember, scanArray, scanObject } from "../scan-json.js";

/** The dialects whose prompts can be found. */
export type PromptDialect = "chat_completions" | "messages" | "generate_content";

/** Null if the operation's prompts can't be found. */
export function promptDialect(operation: JsonOperation): PromptDialect | null {
  switch (operation) {
    case "chat_completions":
    case "generate_content":
      return operation;
    case "messages":
    case "count_tokens":
      return "messages";
    case "stream_generate_content":
    case "count_content_tokens":
      return "generate_content";
    default:
      return null;
  }
}

/** A range to cut, in characters of its text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** What a rewriter cuts from a body: ranges in order, without overlaps. */
export interface Cuts {
  readonly cuts: readonly TextRange[];
  /**
   * How many bytes shorter the prompt becomes. The body shrinks by more where the client escaped
   * characters.
   */
  readonly savedBytes: number;
}

interface PromptText extends JsonItem {
  /** Who wrote it. Texts of assistants are never changed, so they aren't collected. */
  readonly by: "user" | "system" | "tool";
}

/** A message, or a block, that instructs the model. */
interface Instruction extends JsonItem {
  /** Where the previous item of its list ends; null for the first one. */
  readonly previousEnd: number | null;
}

export interface Prompt {
  /** String literals, with their quotes, in order. */
  readonly texts: readonly PromptText[];
  /** The instructions, in order. */
  readonly instructions: readonly Instruction[];
}

/** `body` must be a JSON object. */
export function findPrompt(body: string, dialect: PromptDialect): Prompt {
  const texts: PromptText[] = [];
  const instructions: Instruction[] = [];
  if (dialect === "generate_content") {
    addGooglePrompt(body, texts, instructions);
    return { texts: texts.sort(byStart), instructions: instructions.sort(byStart) };
  }
  const top = scanObject(body);
  if (dialect === "messages") {
    const system = onlyMember(top, "system");
    addTexts(body, system, "system", texts);
    for (const { item, previousEnd } of itemsOf(body, system))
      if (typeOf(body, item) === "text")
        instructions.push({ start: item.start, end: item.end, previousEnd });
  }
  for (const { item, previousEnd } of itemsOf(body, onlyMember(top, "messages"))) {
    const members = membersOf(body, item);
    const role = stringOf(body, onlyMember(members, "role"));
    if (role === "system" || role === "developer")
      instructions.push({ start: item.start, end: item.end, previousEnd });
    const speaker = role === null || !Object.hasOwn(speakers, role) ? undefined : speakers[role];
    if (speaker === undefined) continue;
    const content = onlyMember(members, "content");
    addTexts(body, content, speaker, texts);
    if (dialect === "messages") addToolResults(body, content, texts);
  }
  // The walk collects places by kind, not in order.
  return { texts: texts.sort(byStart), instructions: instructions.sort(byStart) };
}

function byStart(a: JsonItem, b: JsonItem): number {
  return a.start - b.start;
}

const speakers: Readonly<Record<string, PromptText["by"]>> = {
  user: "user",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool",
};

/** Adds the texts of a content: a string, or a list with parts of the type `text`. */
function addTexts(
  body: string,
  content: JsonItem | null,
  speaker: PromptText["by"],
  texts: PromptText[],
): void {
  addString(body, content, speaker, texts);
  for (const { item } of itemsOf(body, content))
    if (typeOf(body, item) === "text")
      addString(body, onlyMember(membersOf(body, item), "text"), speaker, texts);
}

/**
 * Adds the results of tools in Anthropic's dialect: blocks in a user's message, each with its own
 * content.
 */
function addToolResults(body: string, content: JsonItem | null, texts: PromptText[]): void {
  for (const { item } of itemsOf(body, content))
    if (typeOf(body, item) === "tool_result")
      addTexts(body, onlyMember(membersOf(body, item), "content"), "tool", texts);
}

/** Applies `cut` to the text of each literal. What it cuts must be ASCII. */
export function cutTexts(
  body: string,
  texts: readonly PromptText[],
  cut: (text: string) => readonly TextRange[],
): Cuts {
  const cuts: TextRange[] = [];
  let savedBytes = 0;
  for (const { start, end } of texts) {
    const decoded = decode(body, start, end);
    let mark = 0;
    const place = (position: number): number => {
      while (mark + 2 < decoded.marks.length && decoded.marks[mark + 2]! <= position) mark += 2;
      return decoded.marks[mark + 1]! + position - decoded.marks[mark]!;
    };
    for (const range of cut(decoded.text)) {
      cuts.push({ start: place(range.start), end: place(range.end) });
      savedBytes += range.end - range.start;
    }
  }
  return { cuts, savedBytes };
}

interface DecodedText {
  readonly text: string;
  /**
   * Pairs of a position in the text and one in the body. From each pair to the next, characters
   * correspond one to one.
   */
  readonly marks: readonly number[];
}

/** In all other escapes the letter means itself: a quote, a slash, a backslash. */
const escapes: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * The text of a string literal. Only escapes are longer than the characters that they stand for.
 */
function decode(body: string, start: number, end: number): DecodedText {
  const literal = body.slice(start, end - 1);
  const marks = [0, start + 1];
  let text = "";
  let from = 1;
  for (
    let position = literal.indexOf("\\");
    position !== -1;
    position = literal.indexOf("\\", from)
  ) {
    const letter = literal[position + 1]!;
    const isCode = letter === "u";
    const decoded = isCode
      ? String.fromCharCode(Number.parseInt(literal.slice(position + 2, position + 6), 16))
      : (escapes[letter] ?? letter);
    text += literal.slice(from, position) + decoded;
    from = position + (isCode ? 6 : 2);
    marks.push(text.length, start + from);
  }
  return { text: text + literal.slice(from), marks };
}

export function withoutCuts(body: string, cuts: readonly TextRange[]): string {
  let text = "";
  let from = 0;
  for (const { start, end } of cuts) {
    text += body.slice(from, start);
    from = end;
  }
  return text + body.slice(from);
}

type Members = readonly JsonMember[];

/** `body` must be a JSON object. Google reads names in camel case and with underscores. */
function addGooglePrompt(body: string, texts: PromptText[], instructions: Instruction[]): void {
  const outer = scanObject(body);
  // A request to count tokens may hold the prompt within this field.
  const nested = soleMember(outer, "generateContentRequest", "generate_content_request");
  const top = nested === null ? outer : membersOf(body, nested);
  const system = soleMember(top, "systemInstruction", "system_instruction");
  for (const { item, previousEnd } of partsOf(body, system)) {
    const members = membersOf(body, item);
    addString(body, onlyMember(members, "text"), "system", texts);
    if (members.length === 1 && members[0]!.key === "text")
      instructions.push({ start: item.start, end: item.end, previousEnd });
  }
  for (const { item } of itemsOf(body, onlyMember(top, "contents"))) {
    const role = stringOf(body, onlyMember(membersOf(body, item), "role"));
    if (role === "model") continue;
    for (const { item: part } of partsOf(body, item)) addPart(body, part, texts);
  }
}

function addPart(body: string, part: JsonItem, texts: PromptText[]): void {
  const members = membersOf(body, part);
  addString(body, onlyMember(members, "text"), "user", texts);
  const result = soleMember(members, "functionResponse", "function_response");
  if (result === null) return;
  const response = onlyMember(membersOf(body, result), "response");
  if (response === null) return;
  const fields = membersOf(body, response);
  for (const { key } of fields) addString(body, onlyMember(fields, key), "tool", texts);
}

function partsOf(body: string, content: JsonItem | null): ReturnType<typeof itemsOf> {
  return content === null ? [] : itemsOf(body, onlyMember(membersOf(body, content), "parts"));
}

/** Null if both are present: which one Google reads isn't known. */
function soleMember(members: Members, name: string, alternative: string): JsonMember | null {
  const candidates = members.filter(({ key }) => key === name || key === alternative);
  return candidates.length === 1 ? candidates[0]! : null;
}

function addString(
  body: string,
  value: JsonItem | null,
  speaker: PromptText["by"],
  texts: PromptText[],
): void {
  if (value !== null && body[value.start] === '"')
    texts.push({ start: value.start, end: value.end, by: speaker });
}

function itemsOf(
  body: string,
  value: JsonItem | null,
): readonly { readonly item: JsonItem; readonly previousEnd: number | null }[] {
  if (value === null || body[value.start] !== "[") return [];
  const items = scanArray(body, value.start);
  return items.map((item, i) => ({ item, previousEnd: i === 0 ? null : items[i - 1]!.end }));
}

function membersOf(body: string, value: JsonItem): readonly JsonMember[] {
  return body[value.start] === "{" ? scanObject(body, value.start) : [];
}

function typeOf(body: string, item: JsonItem): string | null {
  return stringOf(body, onlyMember(membersOf(body, item), "type"));
}

function stringOf(body: string, value: JsonItem | null): string | null {
  return value === null || body[value.start] !== '"'
    ? null
    : (JSON.parse(body.slice(value.start, value.end)) as string);
}

/**
 * Null for a repeated key too: which value the provider reads isn't known, so neither is changed.
 */
function onlyMember(members: readonly JsonMember[], key: string): JsonMember | null {
  let only: JsonMember | null = null;
  for (const member of members) {
    if (member.key !== key) continue;
    if (only !== null) return null;
    only = member;
  }
  return only;
}
