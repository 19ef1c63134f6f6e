/**
 * Finds a loop at the end of an agent's conversation: equal turns, one after the other. A request
 * contains the conversation, so nothing is remembered between requests, and any proxy of any host
 * finds the loop.
 *
 * A turn is what the model wrote, and the reply: its tool calls, by name and arguments, and their
 * results; without tool calls, its text and the next messages. Ids, thinking, signatures, cache
 * markers and agents' reminders aren't compared. Conversations that the provider stores can't be
 * checked.
 *
 * It also counts the turns since the user's last message, equal or not.
 *
 * The fields are as `model-body.ts` has parsed them: in Latin-1, and with long texts shortened.
 */
import { isObject } from "../../shared/checked.js";
import type { JsonOperation } from "./model-body.js";

type Fields = Readonly<Record<string, unknown>>;

/** Reads the long texts of a body, which are shortened in the parsed fields (`BodyOutline`). */
export interface LongTexts {
  isSame(a: string, b: string): boolean;
  /** Null for a text that isn't shortened. */
  bytesOf(text: string): Buffer | null;
}

/** For a body in which no text is shortened. */
export const noLongTexts: LongTexts = { isSame: () => false, bytesOf: () => null };

export interface RepeatedTurns {
  /** How often the last turns occur, one after the other: at least 2. */
  readonly times: number;
  /** How many turns are repeated: 2 for A, B, A, B. */
  readonly turns: number;
  /** The names of the tools that they call, as the client wrote them in Latin-1. */
  readonly tools: readonly string[];
}

/** The end of a conversation. */
export interface ConversationEnd {
  /** Null if the last turns differ. */
  readonly repeated: RepeatedTurns | null;
  /** The same if the results of tools aren't compared. */
  readonly repeatedCalls: RepeatedTurns | null;
  /** How many turns follow the user's last message. */
  readonly turns: number;
  /**
   * The parts that are equal if the client repeats this request; null unless the request ends with
   * results.
   */
  readonly resent: unknown;
  /** Whether `resent` has ids, which other conversations with the same texts don't share. */
  readonly hasIds: boolean;
}

/** Longer cycles aren't found. */
export const turnsInCycleMax = 4;
/** Values that are nested deeper are taken as different. */
const depthMax = 64;

/** Repetitions and turns above these aren't counted. */
interface CountedAtMost {
  readonly times: number;
  readonly turns: number;
}

/**
 * Null for an operation without conversations, and if the conversation has no turn of the model
 * yet.
 */
export function conversationEnd(
  operation: JsonOperation,
  fields: Fields,
  texts: LongTexts,
  atMost: CountedAtMost,
): ConversationEnd | null {
  const dialect = dialects[operation];
  const items = dialect === undefined ? undefined : fields[dialect.list];
  if (dialect === undefined || !Array.isArray(items)) return null;
  const turns = new Turns(items, dialect.read, texts);
  const last = turns.turnAt(0);
  if (last === null) return null;
  const question = { turns, timesMax: atMost.times, texts };
  const repeatedCalls = repetitionIn({ ...question, comparesResults: false });
  // With their results, turns repeat no more often than without.
  const repeated =
    repeatedCalls === null ? null : repetitionIn({ ...question, comparesResults: true });
  return {
    repeated,
    repeatedCalls,
    turns: turnsSinceUser(turns, atMost.turns),
    resent: resentIn(fields, items, dialect.read, last),
    hasIds: last.ids.length > 0,
  };
}

interface RepetitionQuestion {
  readonly turns: Turns;
  readonly timesMax: number;
  readonly texts: LongTexts;
  readonly comparesResults: boolean;
}

function repetitionIn({
  turns,
  timesMax,
  ...comparison
}: RepetitionQuestion): RepeatedTurns | null {
  let times = 1;
  let length = 0;
  let equalTurns = 0;
  for (let cycle = 1; cycle <= turnsInCycleMax && times < timesMax; cycle++) {
    // If all these turns are equal, they needn't be compared again at a greater distance.
    let matching = Math.max(0, equalTurns - cycle + 1);
    const matchingMax = cycle * (timesMax - 1);
    while (
      matching < matchingMax &&
      isSameTurn(turns.turnAt(matching), turns.turnAt(matching + cycle), comparison)
    )
      matching++;
    if (cycle === 1) equalTurns = matching;
    const repetitions = 1 + Math.floor(matching / cycle);
    if (repetitions > times) [times, length] = [repetitions, cycle];
  }
  if (times < 2) return null;
  const tools = new Set<string>();
  for (let i = 0; i < length; i++)
    for (const [name] of turns.turnAt(i)!.calls) if (typeof name === "string") tools.add(name);
  return { times, turns: length, tools: [...tools] };
}

function turnsSinceUser(turns: Turns, turnsMax: number): number {
  let count = 0;
  while (count < turnsMax) {
    const turn = turns.turnAt(count);
    if (turn === null || hasUsersWords(turn)) break;
    count++;
  }
  return count;
}

/**
 * Whether a turn has words of the user. Agents may add other parts than texts to results, such as
 * pictures.
 */
function hasUsersWords({ userParts, results }: Turn): boolean {
  if (results.length === 0 && userParts.length > 0) return true;
  return userParts.some((item) => typeof item === "string" && item !== "");
}

/** The parts of a turn, the model's and those of the reply, each in reverse order. */
class Turn {
  readonly calls: [name: unknown, input: unknown][] = [];
  /** Texts of the model. */
  readonly answerTexts: unknown[] = [];
  readonly results: unknown[] = [];
  /** The ids of their calls, where the dialect has them. */
  readonly ids: string[] = [];
  /** The other parts that the client added. */
  readonly userParts: unknown[] = [];
  readonly texts: LongTexts;

  constructor(texts: LongTexts) {
    this.texts = texts;
  }

  add({ calls, answerTexts }: Turn): void {
    for (const call of calls) this.calls.push(call);
    for (const text of answerTexts) this.answerTexts.push(text);
  }
}

type Side = "model" | "client" | null;
/** Adds an item to a turn, and returns whose it is. Null: neither side's; the item is left out. */
type ReadItem = (item: Fields, turn: Turn) => Side;

/** The turns of a conversation, from its end, read lazily. */
class Turns {
  readonly #items: readonly unknown[];
  readonly #read: ReadItem;
  readonly #texts: LongTexts;
  readonly #turns: Turn[] = [];
  /** The number of unread items, from the first. */
  #unread: number;
  /** The reply of the next turn, as far as it has been read. */
  #begun: Turn | null = null;

  constructor(items: readonly unknown[], read: ReadItem, texts: LongTexts) {
    this.#items = items;
    this.#read = read;
    this.#texts = texts;
    this.#unread = items.length;
  }

  /** The turn with this index, counted from the end; null if there are fewer. */
  turnAt(index: number): Turn | null {
    while (this.#turns.length <= index) {
      const turn = this.#nextTurn();
      if (turn === null) return null;
      this.#turns.push(turn);
    }
    return this.#turns[index]!;
  }

  #nextTurn(): Turn | null {
    const turn = this.#begun ?? new Turn(this.#texts);
    let hasReply = this.#begun !== null;
    let hasSpoken = false;
    this.#begun = null;
    while (this.#unread > 0) {
      const item = this.#items[--this.#unread];
      if (!isObject(item)) continue;
      const part = hasSpoken ? new Turn(this.#texts) : turn;
      const side = this.#read(item, part);
      if (side === "client" && hasSpoken) {
        this.#begun = part;
        return turn;
      }
      if (side === "client") hasReply = true;
      if (side !== "model") continue;
      // A conversation that ends with the model's words can't be a loop of the client.
      if (!hasReply) this.#unread = 0;
      else if (hasSpoken) turn.add(part);
      else hasSpoken = true;
    }
    return hasSpoken ? turn : null;
  }
}

interface Comparison {
  readonly texts: LongTexts;
  readonly comparesResults: boolean;
}

function isSameTurn(a: Turn | null, b: Turn | null, comparison: Comparison): boolean {
  if (a === null || b === null) return false;
  const { texts, comparesResults } = comparison;
  if (!isSame(a.calls, b.calls, texts) || !isSame(a.userParts, b.userParts, texts)) return false;
  if (a.calls.length === 0)
    return a.answerTexts.length > 0 && isSame(a.answerTexts, b.answerTexts, texts);
  return !comparesResults || isSame(a.results, b.results, withoutHeaders(texts));
}

/** Compares texts as `texts` does, without the lines that agents add to each result. */
function withoutHeaders(texts: LongTexts): LongTexts {
  const wholeText = (text: string): string => texts.bytesOf(text)?.toString("latin1") ?? text;
  const isSame = (a: string, b: string): boolean => {
    if (texts.isSame(a, b)) return true;
    const [first, second] = [wholeText(a), wholeText(b)];
    if (Math.abs(first.length - second.length) > headerCharsMax) return false;
    return first.replace(headers, "") === second.replace(headers, "");
  };
  return { isSame, bytesOf: texts.bytesOf };
}

/**
 * An id or a duration, from the shells of Codex and gemini-cli. A line also ends at a backslash,
 * because a long text is read as its JSON bytes, with escapes.
 */
const headers =
  /(?:Chunk ID|Wall time|Process Group PGID|Background PIDs): [^\n\\]*|\\?"duration_seconds\\?":[\d.]+/g;
/** The greatest difference in length of two texts that may be equal. */
const headerCharsMax = 64;

function isSame(a: unknown, b: unknown, texts: LongTexts, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a === "string") return typeof b === "string" && texts.isSame(a, b);
  if (depth > depthMax) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => isSame(item, b[i], texts, depth + 1));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every(
    (name) => Object.hasOwn(b, name) && isSame(a[name], b[name], texts, depth + 1),
  );
}

/**
 * The parts of a request that identify a repeated one; null unless the request ends with results of
 * tools.
 */
function resentIn(
  fields: Fields,
  items: readonly unknown[],
  read: ReadItem,
  { calls, results, ids, userParts, texts }: Turn,
): unknown {
  if (results.length === 0) return null;
  const { previous_response_id: previous = null, conversation = null } = fields;
  const first = new Turn(texts);
  if (isObject(items[0])) read(items[0], first);
  return [previous, conversation, items.length, first.userParts, calls, results, ids, userParts];
}

const chat: ReadItem = (item, turn) => {
  switch (item["role"]) {
    case "assistant":
      if (isObject(item["function_call"]))
        turn.calls.push([item["function_call"]["name"], item["function_call"]["arguments"]]);
      for (const call of reversed(item["tool_calls"])) {
        const { function: functionCall, custom } = call;
        if (isObject(functionCall))
          turn.calls.push([functionCall["name"], functionCall["arguments"]]);
        else if (isObject(custom)) turn.calls.push([custom["name"], custom["input"]]);
      }
      addContent(turn.answerTexts, item["content"], turn.texts);
      return "model";
    case "tool":
    case "function":
      turn.results.push(contentOf(item["content"], turn.texts));
      addId(turn, item["tool_call_id"]);
      return "client";
    case "user":
      addContent(turn.userParts, item["content"], turn.texts);
      return "client";
    default:
      return null;
  }
};

const messages: ReadItem = (item, turn) => {
  const { role, content } = item;
  if (role !== "assistant" && role !== "user") return null;
  const words = role === "assistant" ? turn.answerTexts : turn.userParts;
  if (!Array.isArray(content)) addContent(words, content, turn.texts);
  for (const block of reversed(content)) {
    const { type } = block;
    if (typeof type !== "string") continue;
    if (/tool_use$/.test(type)) turn.calls.push([block["name"], block["input"]]);
    // The results of the provider's own tools are among the model's words.
    else if (role === "user" && type === "tool_result") {
      turn.results.push([contentOf(block["content"], turn.texts), block["is_error"] === true]);
      addId(turn, block["tool_use_id"]);
    } else if (role === "user" || type === "text") addContent(words, [block], turn.texts);
  }
  return role === "assistant" ? "model" : "client";
};

const responses: ReadItem = (item, turn) => {
  const { type = "message", role } = item;
  if (type === "message") {
    if (role !== "assistant" && role !== "user") return null;
    addContent(
      role === "assistant" ? turn.answerTexts : turn.userParts,
      item["content"],
      turn.texts,
    );
    return role === "assistant" ? "model" : "client";
  }
  if (typeof type !== "string") return null;
  if (type.endsWith("_call_output")) {
    turn.results.push(contentOf(item["output"], turn.texts));
    addId(turn, item["call_id"]);
    return "client";
  }
  // An item whose id begins with `msg_` may be the user's.
  if (type === "item_reference" && !String(item["id"]).startsWith("msg_")) return "model";
  if (!type.endsWith("_call")) return null;
  const { name = type, arguments: args, input = args, action = input } = item;
  turn.calls.push([name, action]);
  return "model";
};

const contents: ReadItem = ({ role, parts }, turn) => {
  const isModel = role === "model";
  for (const part of reversed(parts)) {
    const call = part["functionCall"] ?? part["function_call"];
    const result = part["functionResponse"] ?? part["function_response"];
    if (isObject(call)) turn.calls.push([call["name"], call["args"]]);
    else if (isObject(result)) {
      turn.results.push([result["name"], result["response"]]);
      addId(turn, result["id"]);
    } else if (part["thought"] !== true)
      addContent(
        isModel ? turn.answerTexts : turn.userParts,
        [withoutVolatileFields(part)],
        turn.texts,
      );
  }
  return isModel ? "model" : "client";
};

interface Dialect {
  /** The field with the conversation. */
  readonly list: string;
  readonly read: ReadItem;
}

const google: Dialect = { list: "contents", read: contents };

/** The operations whose requests have conversations. */
const dialects: Partial<Record<JsonOperation, Dialect>> = {
  chat_completions: { list: "messages", read: chat },
  messages: { list: "messages", read: messages },
  responses: { list: "input", read: responses },
  generate_content: google,
  stream_generate_content: google,
};

function addId(turn: Turn, id: unknown): void {
  if (typeof id === "string" && id !== "") turn.ids.push(id);
}

/** The objects of a list, from its end; none if the value isn't a list. */
function* reversed(list: unknown): Iterable<Fields> {
  if (!Array.isArray(list)) return;
  for (let i = list.length - 1; i >= 0; i--) if (isObject(list[i])) yield list[i] as Fields;
}

function contentOf(content: unknown, texts: LongTexts): unknown[] {
  const list: unknown[] = [];
  addContent(list, content, texts);
  return list;
}

/** Adds the parts of a content, in reverse order. A text counts as a list of one text. */
function addContent(list: unknown[], content: unknown, texts: LongTexts): void {
  if (typeof content === "string") addText(list, content, texts);
  else if (isObject(content)) list.push(content);
  else
    for (const block of reversed(content)) {
      const { type, text } = block;
      if (typeof type === "string" && reasoningTypes.has(type)) continue;
      if (typeof text === "string") addText(list, text, texts);
      else list.push(withoutVolatileFields(block));
    }
}

function addText(list: unknown[], text: string, texts: LongTexts): void {
  const bytes = text.startsWith("<") ? texts.bytesOf(text) : null;
  const rest = withoutReminders(bytes?.toString("latin1").slice(1, -1) ?? text);
  if (rest !== "" || text === "") list.push(bytes === null ? rest : text);
}

/** The rest of a text after the reminders at its beginning. */
function withoutReminders(text: string): string {
  if (text.startsWith("<task-notification>")) return "";
  let rest = text;
  for (;;) {
    const [opening, name] = reminder.exec(rest) ?? [];
    const closing = `</${name}>`;
    const end = opening === undefined ? -1 : rest.indexOf(closing, opening.length);
    if (end === -1) return rest;
    rest = rest.slice(end + closing.length).replace(gap, "");
  }
}

/**
 * Texts that agents add in the user's name, with the time and the state of their work: Claude Code,
 * Cline, goose, Codex, Cursor. Some write the user's words after them. Not here: Claude Code's
 * `<task-notification>`, after which come words of its own.
 */
const reminder =
  /^(?:\s|\\[nrt])*<(system[-_]reminder|environment_(?:details|context)|info-msg|subagent_notification)>/;
/** White space, plain or as a long text's JSON escapes. */
const gap = /^(?:\s|\\[nrt])+/;
const reasoningTypes: ReadonlySet<string> = new Set(["thinking", "redacted_thinking", "reasoning"]);

/** Without the fields that change from request to request. */
function withoutVolatileFields(block: Fields): Fields {
  const remaining: Record<string, unknown> = {};
  for (const name of Object.keys(block))
    if (!volatileFields.has(name)) remaining[name] = block[name];
  return remaining;
}

const volatileFields: ReadonlySet<string> = new Set([
  "id",
  "cache_control",
  "thoughtSignature",
  "thought_signature",
]);
