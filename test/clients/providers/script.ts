/**
 * What the models of the matrix say: a script that a conversation's text asks for, whatever client
 * it is from and in whichever dialect.
 *
 * - `[[TASK directory]]`: reads three notes by the client's tools, one first and then two at once,
 *   and says the word that they make.
 * - `[[AGAIN]]`: says the word once more, if the conversation still has all of it.
 * - `[[JSON]]`: answers with an object.
 * - `[[PICTURE]]`: says what is in the picture, if the request has it.
 * - `[[SLOWLY]]`: goes on until the client leaves.
 * - `[[LENGTH]]`: goes on until its maximum of output.
 * - `[[AFTER]]`: says what is left of the word after a compaction.
 * - `[[SEARCH]]`: searches the web, and says what was found.
 */

export interface Turn {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
}

export interface ToolOffer {
  readonly name: string;
  /** Of its arguments. */
  readonly fields: readonly string[];
  /** For tools of one free text. */
  readonly isFreeform?: boolean;
}

export interface Conversation {
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolOffer[];
  readonly takesParallelCalls: boolean;
  /** Whether `picture` came with it. */
  readonly hasPicture?: boolean;
}

export interface PlannedCall {
  readonly tool: ToolOffer;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Reply {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly PlannedCall[];
  readonly isEndless: boolean;
  /** Whether the model stops because it has reached its maximum of output. */
  readonly isCut?: boolean;
}

export const word = "kumquat";
const parts = ["kum", "qu", "at"];

/** A picture of one pixel, as clients send it: PNG in base64. */
export const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/** What the notes hold; also what a client's tool answers with. */
export function note(number: number): string {
  return `note ${number} of ${parts.length}: ${parts[number - 1]}\n`;
}

const marker = /\[\[(TASK|AGAIN|JSON|PICTURE|SLOWLY|LENGTH|AFTER|SEARCH) ?([^\]]*)\]\]/g;

export function replyTo({ turns, tools, takesParallelCalls, hasPicture }: Conversation): Reply {
  const asked = turns
    .flatMap(({ role, text }, i) =>
      role === "user"
        ? [...text.matchAll(marker)].map(([, kind, place]) => ({ kind, place, i }))
        : [],
    )
    .at(-1);
  switch (asked?.kind) {
    case "TASK":
      return doTask(turns.slice(asked.i), tools, asked.place!, takesParallelCalls);
    case "AGAIN":
      return saying(hasWholeTask(turns) ? `The word was ${word}.` : "I have forgotten it.");
    case "JSON":
      return objectBy(tools.find(({ fields }) => fields.includes("fruit")));
    case "PICTURE":
      return saying(hasPicture === true ? `The picture shows a ${word}.` : "I see no picture.");
    case "AFTER":
      return saying(leftOf(turns));
    case "SEARCH":
      return doSearch(turns.slice(asked.i), tools);
    case "LENGTH":
      return { ...saying(wordOfCut.repeat(tokensOfCut)), isCut: true };
    case "SLOWLY":
      return { ...saying("wait "), isEndless: true };
    default:
      return saying("A note");
  }
}

/** By the tool that takes it, for clients that ask for objects in this way. */
function objectBy(tool: ToolOffer | undefined): Reply {
  const object = { fruit: word, grams: 12 };
  return tool === undefined
    ? saying(JSON.stringify(object))
    : { ...saying(""), calls: [{ tool, input: object }] };
}

function saying(text: string): Reply {
  return { reasoning: "I know.", text, calls: [], isEndless: false };
}

function notesIn(turns: readonly Turn[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const { text } of turns)
    for (const [, number, part] of text.matchAll(/note (\d) of 3: (\w+)/g))
      found.set(Number(number), part!);
  return found;
}

function doTask(
  turns: readonly Turn[],
  tools: readonly ToolOffer[],
  directory: string,
  takesParallelCalls: boolean,
): Reply {
  const notes = notesIn(turns);
  const results = turns.filter(({ role }) => role === "tool").length;
  const tool = readingTool(tools);
  if (tool === undefined) return saying("Notes about fruit");
  if (notes.size === parts.length)
    return saying(`The word is ${[1, 2, 3].map((number) => notes.get(number)).join("")}.`);
  if (results > notes.size)
    return saying(`I can't read the notes: ${turns.at(-1)?.text.slice(0, 300)}`);
  const wanted = notes.size === 0 || !takesParallelCalls ? [notes.size + 1] : [2, 3];
  return {
    reasoning: `I need note ${wanted.join(" and ")}.`,
    text: `Let me read note ${wanted.join(" and ")}.`,
    calls: wanted.map((number) => ({ tool, input: inputOf(tool, directory, number) })),
    isEndless: false,
  };
}

/** What a search of the web finds. */
export const found = `The fruit of the week is the ${word}.`;

/** An agent's own tool asks once more, with this query, and then the model gets the search. */
function doSearch(turns: readonly Turn[], tools: readonly ToolOffer[]): Reply {
  if (turns.some(({ role, text }) => role === "tool" && text.includes(word)))
    return saying(`The web says: ${found}`);
  const tool = tools.find(({ name }) => /^web_?search$/i.test(name));
  if (tool === undefined)
    return saying(`I can't search, but have ${tools.map(({ name }) => name).join(", ")}.`);
  const input = { query: "fruit of the week [[SEARCH]]" };
  return { ...saying("Let me search."), calls: [{ tool, input }] };
}

/** A summary says what the answers before it said, and no tool's result is left. */
function leftOf(turns: readonly Turn[]): string {
  const results = turns.filter(({ role }) => role === "tool");
  if (notesIn(results).size > 0) return "Nothing was compacted.";
  return turns.some(({ text }) => text.includes(`The word was ${word}.`))
    ? `It is still ${word}.`
    : "I have forgotten it.";
}

/** Also in a conversation that is told as one text, as opencode has it summarized. */
function hasWholeTask(turns: readonly Turn[]): boolean {
  if (turns.some(({ role, text }) => role === "user" && text.includes(`The word is ${word}.`)))
    return true;
  return (
    notesIn(turns.filter(({ role }) => role === "tool")).size === parts.length &&
    turns.some(({ role, text }) => role === "assistant" && text.includes(`The word is ${word}.`)) &&
    turns.some(({ role, text }) => role === "assistant" && text.includes("Let me read note 2"))
  );
}

/** The text that is cut says this again and again. */
export const wordOfCut = "onward ";
/** How often it says so, and its output tokens. */
export const tokensOfCut = 400;

/** The first of these that the client offers. */
const readers = [
  /(?:^|__)read_note$/,
  /^read$/i,
  /^read_file$/i,
  /^exec_command$/,
  /^shell(?:_command)?$/,
  /^bash$/i,
  /^exec$/,
];

function readingTool(tools: readonly ToolOffer[]): ToolOffer | undefined {
  for (const name of readers) {
    const found = tools.find((tool) => name.test(tool.name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function inputOf(
  { fields, isFreeform }: ToolOffer,
  directory: string,
  number: number,
): Readonly<Record<string, unknown>> {
  const file = `${directory}/note-${number}.txt`;
  if (isFreeform === true)
    return { input: `text(await tools.exec_command({ cmd: "cat ${file}" }))` };
  if (fields.includes("number")) return { number };
  for (const field of ["file_path", "filePath", "filepath", "absolute_path", "path"])
    if (fields.includes(field)) return { [field]: file };
  return fields.includes("cmd")
    ? { cmd: `cat ${file}` }
    : { command: `cat ${file}`, description: "reads a note" };
}
