/**
 * Answers and events of every dialect, their fields in any order, with what a client can make a
 * provider repeat: metadata, tools, schemas, ids, texts, full of what looks like usage. Names are
 * escaped or repeated, white space is anywhere, and the bytes come in any pieces. The usage that is
 * read is the one that `JSON.parse` finds in its place.
 */
import { WebSocketFrameReader } from "../../../proxy/upstream/passthrough/frame-reader.js";
import { mergeUsage } from "../../../proxy/usage/find-usage.js";
import { readUsage, type UsageReading } from "../../../proxy/usage/read-usage.js";
import { ResponseMeter } from "../../../proxy/usage/response-meter.js";
import { SessionUsage } from "../../../proxy/usage/session-usage.js";
import { createStreamTap } from "../../../proxy/usage/tap-stream.js";
import { isObject, parseJson } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";
import type { Random } from "../../sim/random.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes } from "../mutate/mutate-bytes.js";

/** An object whose names may be repeated, in its order. */
class Members {
  readonly list: readonly (readonly [string, Value])[];

  constructor(list: readonly (readonly [string, Value])[]) {
    this.list = list;
  }
}

type Value = string | number | boolean | null | Members | readonly Value[];

const usageNames = [
  "usage",
  "usageMetadata",
  "response",
  "message",
  "x_groq",
  "error",
  "object",
  "type",
  "choices",
  "content",
  "delta",
  "service_tier",
  "a",
  "__proto__",
  "",
  "é",
];
const usageTexts = [
  '"usage":{"total_tokens":1}',
  '{"usage":{"total_tokens":1}}',
  'x","usage":{"prompt_tokens":0,"total_tokens":0},"y":"',
  '\\","usage":{"total_tokens":1},',
  "usage",
  "response.done",
  "error",
  "\\",
  '"',
  "}",
  "data: {",
  "é\u2028\n",
  "",
];

function hostile(random: Random, depth = 3): Value {
  const kind = random.int(0, depth === 0 ? 4 : 9);
  if (kind === 0) return random.pick([0, 1, -1, 1e9, 0.5]);
  if (kind === 1) return random.pick([null, true, false]);
  if (kind === 2) return random.pick(usageTexts).repeat(random.chance(0.05) ? 300 : 1);
  if (kind <= 4) return random.pick(usageTexts);
  if (kind === 5) return fakeUsage(random);
  const count = random.int(0, random.chance(0.05) ? 200 : 3);
  const some = Array.from({ length: count }, () => hostile(random, depth - 1));
  if (kind === 6) return some;
  return new Members(some.map((value) => [random.pick(usageNames), value]));
}

const tokens = (random: Random): number => random.int(0, 1000);

function fakeUsage(random: Random): Members {
  return new Members([
    ["prompt_tokens", tokens(random)],
    ["input_tokens", tokens(random)],
    ["promptTokenCount", tokens(random)],
    ["total_tokens", tokens(random)],
  ]);
}

/** What a client can make a provider repeat, under the names that providers have for it. */
const echoed = [
  "metadata",
  "tools",
  "tool_choice",
  "instructions",
  "user",
  "prompt",
  "prompt_cache_key",
  "safety_identifier",
  "input",
  "text",
  "model",
  "id",
  "output",
  "content",
  "candidates",
  "choices",
  "data",
  "item",
  "part",
  "delta",
  "stop_sequence",
  "kv_transfer_params",
];

function echoes(random: Random, without: readonly string[] = []): (readonly [string, Value])[] {
  const names = echoed.filter((name) => !without.includes(name));
  return Array.from({ length: random.int(0, 4) }, () => [random.pick(names), hostile(random)]);
}

function shuffled(members: readonly (readonly [string, Value])[], random: Random): Members {
  const list = [...members];
  for (let i = list.length - 1; i > 0; i--) {
    const other = random.int(0, i);
    [list[i], list[other]] = [list[other]!, list[i]!];
  }
  return new Members(list);
}

function usageOf(dialect: Dialect, random: Random): Value {
  if (random.chance(0.1)) return random.pick([null, 12, "x", [] as readonly Value[]]);
  const [input, output, total] = counts[dialect];
  return shuffled(
    [
      [input, tokens(random)],
      ...(random.chance(0.8) ? [[output, tokens(random)] as const] : []),
      ...(random.chance(0.3) ? [[total, 2000 + tokens(random)] as const] : []),
      ...(random.chance(0.2) ? [["service_tier", "flex"] as const] : []),
    ],
    random,
  );
}

type Dialect = "openai" | "anthropic" | "google";
const counts = {
  openai: ["prompt_tokens", "completion_tokens", "total_tokens"],
  anthropic: ["input_tokens", "output_tokens", "total_tokens"],
  google: ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"],
} as const;

interface Layout {
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** Where usage is in an answer, or in an event of a stream. */
  readonly places: readonly string[];
  readonly form: "events" | "answer" | "list";
}

const layouts: readonly Layout[] = [
  {
    operation: "chat_completions",
    dialect: "openai",
    places: ["usage", "x_groq.usage"],
    form: "events",
  },
  { operation: "chat_completions", dialect: "openai", places: ["usage"], form: "answer" },
  { operation: "completions", dialect: "openai", places: ["usage"], form: "events" },
  { operation: "completions", dialect: "openai", places: ["usage"], form: "answer" },
  { operation: "responses", dialect: "anthropic", places: ["response.usage"], form: "events" },
  { operation: "responses", dialect: "anthropic", places: ["usage"], form: "answer" },
  {
    operation: "messages",
    dialect: "anthropic",
    places: ["usage", "message.usage"],
    form: "events",
  },
  { operation: "messages", dialect: "anthropic", places: ["usage"], form: "answer" },
  {
    operation: "stream_generate_content",
    dialect: "google",
    places: ["usageMetadata"],
    form: "events",
  },
  {
    operation: "stream_generate_content",
    dialect: "google",
    places: ["usageMetadata"],
    form: "list",
  },
  { operation: "generate_content", dialect: "google", places: ["usageMetadata"], form: "answer" },
  { operation: "embeddings", dialect: "openai", places: ["usage"], form: "answer" },
  { operation: "speech", dialect: "anthropic", places: ["usage"], form: "events" },
  { operation: "transcriptions", dialect: "anthropic", places: ["usage"], form: "events" },
  { operation: "transcriptions", dialect: "anthropic", places: ["usage"], form: "answer" },
  { operation: "images", dialect: "anthropic", places: ["usage"], form: "answer" },
  { operation: "images", dialect: "anthropic", places: ["usage"], form: "events" },
];

/** An answer or an event: usage in one of its places, or in none. */
function answerOf({ dialect, places }: Layout, random: Random): Members {
  const members = echoes(random);
  const repeats = random.chance(0.1) ? 2 : random.chance(0.2) ? 0 : 1;
  for (let i = 0; i < repeats; i++) {
    const [outer, inner] = random.pick(places).split(".");
    const usage = usageOf(dialect, random);
    if (inner === undefined) members.push([outer!, usage]);
    else members.push([outer!, shuffled([["usage", usage], ...echoes(random)], random)]);
  }
  if (random.chance(0.3)) members.push(["service_tier", random.pick(["flex", "default"])]);
  if (random.chance(0.3)) members.push(["object", "x"], ["type", "y"]);
  return shuffled(members, random);
}

function space(random: Random, spaced: boolean): string {
  return spaced && random.chance(0.3) ? random.pick([" ", "\t", "  ", "\r", "\n"]) : "";
}

interface Style {
  readonly spaced: boolean;
  /** How many of the characters of names are escaped. */
  readonly escapes: number;
}

function write(value: Value, random: Random, style: Style): string {
  const gap = (): string => space(random, style.spaced);
  if (Array.isArray(value))
    return `[${gap()}${(value as readonly Value[]).map((item) => gap() + write(item, random, style) + gap()).join(",")}]`;
  if (!(value instanceof Members)) return JSON.stringify(value);
  const members = value.list.map(
    ([name, inner]) =>
      `${gap()}${escaped(name, random, style.escapes)}${gap()}:${gap()}${write(inner, random, style)}${gap()}`,
  );
  return `{${gap()}${members.join(",")}}`;
}

function escaped(name: string, random: Random, share: number): string {
  if (share === 0) return JSON.stringify(name);
  const codes = [...name].map((char) =>
    random.chance(share) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : char,
  );
  return `"${codes.join("")}"`;
}

function styleOf(random: Random): Style {
  return { spaced: random.chance(0.3), escapes: random.chance(0.2) ? 0.2 : 0 };
}

/** The slow way, which shares nothing with what is tested but the meaning of the fields. */
function usageIn(value: unknown, places: readonly string[]): unknown {
  if (!isObject(value)) return undefined;
  for (const place of places) {
    const [outer, inner] = place.split(".");
    const found = value[outer!];
    if (inner === undefined && isObject(found)) return found;
    if (inner !== undefined && isObject(found) && isObject(found[inner])) return found[inner];
  }
  return undefined;
}

const tokensOf = (reading: UsageReading): string =>
  reading.kind === "usage" ? `${reading.inputTokens} in, ${reading.outputTokens} out` : "none";

function mustAgree(read: UsageReading, usage: unknown, what: () => string): void {
  const [got, wanted] = [tokensOf(read), tokensOf(readUsage(usage))];
  must(got === wanted, () => `${got} read, not ${wanted}: ${what()}`);
}

function tryEvents(layout: Layout, random: Random): void {
  const { operation, places } = layout;
  const style = styleOf(random);
  const texts = Array.from({ length: random.int(1, 3) }, () =>
    write(answerOf(layout, random), random, style),
  );
  let wanted: unknown = null;
  const parts: string[] = [];
  for (const text of texts) {
    wanted = mergeUsage(wanted, usageIn(parseJson(text), places));
    const end = random.pick(["\n", "\r\n"]);
    // A carriage return alone would end the line.
    const lines = text.replaceAll("\r", " ").split("\n");
    if (random.chance(0.3)) parts.push(`event: x${end}`, `: {"usage":{"total_tokens":1}}${end}`);
    for (const line of lines) parts.push(`data:${random.chance(0.8) ? " " : ""}${line}${end}`);
    parts.push(end);
  }
  const stream = parts.join("");
  const tap = createStreamTap({
    operation,
    hideUsageChunk: random.chance(0.3),
    eventBytesMax: random.chance(0.5) ? random.int(16, 256) : 1024 * 1024,
  });
  for (const piece of cutBytes(Buffer.from(stream), random)) tap.push(piece);
  tap.end();
  mustAgree(tap.usage, wanted, () => `${operation} ${JSON.stringify(stream)}`);
}

const memory = { takeForAnswer: () => true, give: () => {} };

function tryAnswer(layout: Layout, random: Random): void {
  const { operation, places, form } = layout;
  const style = styleOf(random);
  const events = Array.from({ length: form === "list" ? random.int(1, 3) : 1 }, () =>
    answerOf(layout, random),
  );
  const text = write(form === "list" ? events : events[0]!, random, style);
  const parsed = parseJson(text);
  const wanted = usageIn(Array.isArray(parsed) ? parsed.at(-1) : parsed, places);
  const bytes = Buffer.from(text);
  const isHeld = random.chance(0.5);
  const meter = new ResponseMeter(
    { operation, promptBytes: () => 0, request: { body: null } },
    null,
    memory,
  );
  meter.beginBody("json", isHeld ? "held" : "passed");
  const pieces = cutBytes(bytes, random);
  const release = isHeld && random.chance(0.3) ? random.int(0, pieces.length) : Infinity;
  for (const [i, piece] of pieces.entries()) {
    if (i === release) meter.release();
    meter.keep(piece);
  }
  const { usage, estimated } = meter.usageOf(meter.read(meter.text()));
  const reported = readUsage(wanted);
  // The meter adds an estimate of the prompt to such a usage; the prompt here has no bytes.
  const lacksInput =
    reported.kind === "usage" && reported.inputTokens === 0 && reported.outputTokens > 0;
  const read: UsageReading =
    usage === null || (estimated && !lacksInput)
      ? { kind: "absent" }
      : { kind: "usage", note: null, ...usage };
  mustAgree(read, wanted, () => `${operation} ${text}`);
}

function frame(payload: Buffer, final: boolean, first: boolean): Buffer {
  const head = Buffer.from([(final ? 0x80 : 0) | (first ? 1 : 0), 126, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** A session of one response, whose usage is in its `response.done` alone. */
function trySession(random: Random): void {
  const style = { spaced: random.chance(0.3), escapes: 0 };
  const event = (type: string, usage: Value): string => {
    const inner = shuffled([["usage", usage], ...echoes(random)], random);
    const members = [["type", type], ["response", inner], ...echoes(random)] as const;
    return write(shuffled(members, random), random, style);
  };
  const usage = shuffled(
    [
      ["input_tokens", tokens(random)],
      ["output_tokens", tokens(random)],
    ],
    random,
  );
  const done = event("response.done", usage);
  const texts = [
    event("response.created", null),
    event("session.updated", fakeUsage(random)),
    done,
  ];
  const session = new SessionUsage();
  const reader = new WebSocketFrameReader(
    (message, leftOut) => session.onMessage(message, leftOut),
    random.chance(0.5) ? random.int(16, 512) : undefined,
  );
  for (const text of texts) {
    const pieces = cutBytes(Buffer.from(text), random).filter(({ length }) => length > 0);
    if (pieces.some(({ length }) => length > 65_535)) return;
    for (const [i, piece] of pieces.entries())
      for (const part of cutBytes(frame(piece, i === pieces.length - 1, i === 0), random))
        reader.push(part);
  }
  const charge = session.charge(reader.unreadMessages);
  const read: UsageReading =
    charge.usage === null ? { kind: "absent" } : { kind: "usage", note: null, ...charge.usage };
  const parsed = parseJson(done);
  mustAgree(read, usageIn(parsed, ["response.usage"]), () => done);
  must(!charge.estimated && charge.note === null, () => `not read: ${charge.note} ${done}`);
}

export const usageLayouts: FuzzTarget = {
  name: "usage-layouts",
  share: 5,
  open: () =>
    Promise.resolve({
      run(random) {
        if (random.chance(0.06)) trySession(random);
        else {
          const layout = random.pick(layouts);
          if (layout.form === "events") tryEvents(layout, random);
          else tryAnswer(layout, random);
        }
        return 1;
      },
      close: () => Promise.resolve(),
    }),
};
