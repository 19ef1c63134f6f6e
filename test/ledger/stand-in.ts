/**
 * A provider that answers in four dialects, fails at any byte, and keeps a ledger of what it bills
 * for it.
 */
import type { Random } from "../sim/random.js";
import { billOf, type ProviderPrice, type Work } from "./provider-ledger.js";

export const dialects = ["chat", "messages", "responses", "google"] as const;
export type Dialect = (typeof dialects)[number];

export interface Received {
  readonly path: string;
  readonly body: Buffer;
}

/** What happens on the connection. */
export interface Reply {
  /** Whether the request reached the provider as a whole. */
  readonly received: boolean;
  /** 0: there is no answer. */
  readonly status: number;
  readonly type: string;
  readonly pieces: readonly Buffer[];
  readonly ending: "end" | "broken" | "timed_out";
  /** The client leaves after so many pieces; null: it stays. */
  readonly leavesAfter: number | null;
  readonly bill: bigint;
  /** For a report of what failed. */
  readonly label: string;
}

const faults = [
  "none",
  "unreachable",
  "lost before the head",
  "silent",
  "error",
  "cut",
  "ends early",
  "the client leaves",
  "the client leaves before the head",
] as const;
type Fault = (typeof faults)[number];

/** How the provider reports its usage. */
const reports = ["right", "repeated", "absent", "zero", "odd"] as const;
type Report = (typeof reports)[number];

/** An event of the answer, and the output tokens that are made when it is sent. */
interface Event {
  readonly data: object | string;
  readonly tokens: number;
}

interface Asked {
  readonly dialect: Dialect;
  readonly isStream: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly outputMax: number;
}

/** A provider's answer to one request. */
export function replyTo(received: Received, price: ProviderPrice, random: Random): Reply {
  const asked = readAsked(received);
  const fault: Fault = random.chance(0.4) ? "none" : random.pick(faults);
  const report: Report = random.chance(0.6) ? "right" : random.pick(reports);
  const drawn = drawWork(asked, received.body.length, random);
  // What its tools cost is in no bound.
  const isSure = fault === "none" && (report === "right" || report === "repeated");
  const work = isSure ? drawn : { ...drawn, searches: 0 };
  const label = `${asked.dialect}${asked.isStream ? " stream" : ""}: ${fault}, ${report} usage`;
  const nothing = { received: true, status: 0, type: "", pieces: [], leavesAfter: null, label };
  // Where the answer is lost, the provider may have stopped, or gone on to the end.
  const either = (some: Work): bigint => billOf(random.chance(0.5) ? work : some, price);
  const begun = { ...work, output: 0, reasoning: 0, searches: 0 };
  switch (fault) {
    case "unreachable":
      return { ...nothing, received: false, ending: "broken", bill: 0n };
    case "lost before the head":
      return { ...nothing, ending: "broken", bill: random.chance(0.3) ? 0n : either(begun) };
    case "silent":
      return { ...nothing, ending: "timed_out", bill: either(begun) };
    case "the client leaves before the head":
      return { ...nothing, ending: "timed_out", leavesAfter: 0, bill: either(begun) };
    case "error": {
      const status = random.pick([400, 408, 429, 500, 502, 503, 504, 524, 529]);
      const body = JSON.stringify({ error: { type: "error", message: "an error" } });
      const pieces = [Buffer.from(body)];
      // What stands before the provider may stop waiting while the provider works.
      const bill = [408, 504, 524].includes(status) ? either(begun) : 0n;
      return { ...nothing, status, type: "application/json", pieces, ending: "end", bill };
    }
    default:
  }
  const { type, texts, tokens } = answerOf(asked, work, { report, random });
  const whole = Buffer.from(texts.join(""));
  const all: Reply = {
    ...nothing,
    status: 200,
    type,
    pieces: split(whole, texts, random),
    ending: "end",
    bill: billOf(work, price),
  };
  if (fault === "none") return all;
  // Where the answer breaks off: at any byte, or between events.
  const at = random.chance(0.5)
    ? random.int(0, whole.length)
    : boundaries(texts)[random.int(0, texts.length)]!;
  const output = sentTokens(texts, tokens, at);
  const isMade = asked.isStream && output < work.output;
  const some = isMade
    ? { ...work, output, reasoning: Math.min(work.reasoning, output), searches: 0 }
    : work;
  const pieces = split(whole.subarray(0, at), texts, random);
  const bill = either(some);
  switch (fault) {
    case "cut":
      return { ...all, pieces, bill, ending: random.pick(["broken", "timed_out"]) };
    case "ends early":
      return { ...all, pieces, bill };
    case "the client leaves":
      return { ...all, pieces, bill, leavesAfter: pieces.length, ending: "broken" };
  }
}

function readAsked({ path, body }: Received): Asked {
  const fields = JSON.parse(body.toString()) as Record<string, unknown>;
  const isGoogle = /enerateContent/.test(path);
  const dialect = isGoogle
    ? "google"
    : path.includes("/messages")
      ? "messages"
      : path.includes("/responses")
        ? "responses"
        : "chat";
  const config = (fields["generationConfig"] ?? {}) as Record<string, unknown>;
  const cap =
    fields["max_tokens"] ??
    fields["max_completion_tokens"] ??
    fields["max_output_tokens"] ??
    config["maxOutputTokens"];
  return {
    dialect,
    isStream: isGoogle ? path.includes(":stream") : fields["stream"] === true,
    fields,
    outputMax: typeof cap === "number" ? cap : 5000,
  };
}

/** A token is at least one byte of the request, and the output is what may be made. */
function drawWork({ dialect, fields, outputMax }: Asked, bytes: number, random: Random): Work {
  const input = random.int(1, bytes);
  const cached = random.chance(0.5) ? random.int(0, input) : 0;
  const writes = dialect === "messages" && random.chance(0.5);
  const written = writes ? random.int(0, input - cached) : 0;
  const output = Math.min(outputMax, Math.round(random.skewed(1, 2000)));
  const { service_tier: tier, speed, inference_geo: region } = fields;
  return {
    input,
    cached,
    written,
    writtenLong: random.chance(0.5) ? random.int(0, written) : 0,
    output,
    reasoning: random.chance(0.4) && dialect !== "messages" ? random.int(0, output) : 0,
    searches: random.chance(0.1) && dialect !== "chat" && dialect !== "google" ? 2 : 0,
    tier: typeof speed === "string" ? speed : typeof tier === "string" ? tier : "",
    region: typeof region === "string" ? region : "",
  };
}

interface Answer {
  readonly type: string;
  readonly texts: readonly string[];
  readonly tokens: readonly number[];
}

function answerOf(
  { dialect, isStream }: Asked,
  work: Work,
  { report, random }: { readonly report: Report; readonly random: Random },
): Answer {
  // A text for each part of the answer, as long as its tokens: none of the reasoning is shown.
  const words: { text: string; tokens: number }[] = [];
  let left = work.output - work.reasoning;
  while (left > 0 && words.length < 12) {
    const tokens = words.length === 11 ? left : random.int(1, left);
    left -= tokens;
    words.push({ text: "word ".repeat(tokens).slice(0, random.int(1, 5 * tokens)), tokens });
  }
  const usage = (done: Work): object | null => reported(dialect, done, { report, random });
  const made = { ...work, searches: work.searches };
  if (!isStream) {
    const body = wholeAnswer(dialect, {
      text: words.map(({ text }) => text).join(""),
      work: made,
      usage: usage(made),
    });
    return { type: "application/json", texts: [JSON.stringify(body)], tokens: [work.output] };
  }
  const events = streamOf(dialect, { words, work, usage, isRepeated: report === "repeated" });
  return {
    type: "text/event-stream",
    texts: events.map(({ data }) =>
      typeof data === "string"
        ? `data: ${data}\n\n`
        : `${"type" in data ? `event: ${data.type}\n` : ""}data: ${JSON.stringify(data)}\n\n`,
    ),
    tokens: events.map(({ tokens }) => tokens),
  };
}

/** The usage as the provider writes it; null: it reports none. */
function reported(
  dialect: Dialect,
  { input, cached, written, writtenLong, output, reasoning, searches, tier, region }: Work,
  { report, random }: { readonly report: Report; readonly random: Random },
): Readonly<Record<string, unknown>> | null {
  if (report === "absent") return null;
  const of = (count: number): unknown => (report === "zero" ? 0 : count);
  const names = {
    chat: ["prompt_tokens", "completion_tokens"],
    messages: ["input_tokens", "output_tokens"],
    responses: ["input_tokens", "output_tokens"],
    google: ["promptTokenCount", "candidatesTokenCount"],
  }[dialect];
  const usage: Record<string, unknown> = {};
  switch (dialect) {
    case "chat":
      usage["prompt_tokens"] = of(input);
      usage["completion_tokens"] = of(output);
      usage["total_tokens"] = of(input + output);
      if (report === "zero") break;
      usage["prompt_tokens_details"] = { cached_tokens: cached, audio_tokens: 0 };
      usage["completion_tokens_details"] = { reasoning_tokens: reasoning, audio_tokens: 0 };
      break;
    case "messages":
      usage["input_tokens"] = of(input - cached - written);
      usage["output_tokens"] = of(output);
      if (tier !== "") usage["speed"] = tier;
      if (region !== "") usage["inference_geo"] = region;
      if (report === "zero") break;
      usage["cache_read_input_tokens"] = cached;
      usage["cache_creation_input_tokens"] = written;
      usage["cache_creation"] = {
        ephemeral_5m_input_tokens: written - writtenLong,
        ephemeral_1h_input_tokens: writtenLong,
      };
      if (searches > 0) usage["server_tool_use"] = { web_search_requests: searches };
      break;
    case "responses":
      usage["input_tokens"] = of(input);
      usage["output_tokens"] = of(output);
      usage["total_tokens"] = of(input + output);
      if (report === "zero") break;
      usage["input_tokens_details"] = { cached_tokens: cached };
      usage["output_tokens_details"] = { reasoning_tokens: reasoning };
      break;
    case "google":
      usage["promptTokenCount"] = of(input);
      usage["candidatesTokenCount"] = of(output - reasoning);
      usage["totalTokenCount"] = of(input + output);
      if (report === "zero") break;
      usage["cachedContentTokenCount"] = cached;
      usage["thoughtsTokenCount"] = reasoning;
  }
  // One count is no count. Where there is a total, the rest of it is meant.
  if (report === "odd") usage[random.pick(names)] = random.pick([-1, 1.5, "12", 1e300]);
  return usage;
}

interface Whole {
  readonly text: string;
  readonly work: Work;
  readonly usage: object | null;
}

const some = { id: "a", model: "x" };

function tierOf({ tier }: Work): object {
  return tier === "" ? {} : { service_tier: tier };
}

function wholeAnswer(dialect: Dialect, { text, work, usage }: Whole): object {
  switch (dialect) {
    case "chat":
      return {
        ...some,
        object: "chat.completion",
        created: 1,
        choices: [
          { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" },
        ],
        ...tierOf(work),
        ...(usage === null ? {} : { usage }),
      };
    case "messages":
      return {
        ...some,
        type: "message",
        role: "assistant",
        content: [{ type: "text", text }],
        stop_reason: "end_turn",
        stop_sequence: null,
        ...(usage === null ? {} : { usage }),
      };
    case "responses":
      return responseObject(text, work, usage);
    case "google":
      return {
        candidates: [candidate(text, "STOP")],
        modelVersion: "x",
        ...(usage === null ? {} : { usageMetadata: usage }),
      };
  }
}

function responseObject(text: string, work: Work, usage: object | null): object {
  const item = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
  const search = { type: "web_search_call", status: "completed", action: { type: "search" } };
  const searches = Array.from({ length: work.searches }, (_, i) => ({ id: `ws_${i}`, ...search }));
  return {
    ...some,
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    output: [...searches, item],
    ...tierOf(work),
    usage,
  };
}

function candidate(text: string, finishReason?: string): object {
  return { index: 0, content: { role: "model", parts: [{ text }] }, finishReason };
}

interface Streamed {
  readonly words: readonly { readonly text: string; readonly tokens: number }[];
  readonly work: Work;
  readonly usage: (done: Work) => object | null;
  /** The usage so far is in each event that may have it. */
  readonly isRepeated: boolean;
}

function streamOf(dialect: Dialect, { words, work, usage, isRepeated }: Streamed): Event[] {
  let output = 0;
  const events: Event[] = [];
  const add = (data: object | string, tokens = 0): void => {
    output += tokens;
    events.push({ data, tokens });
  };
  const soFar = (): object | null =>
    usage({ ...work, output, reasoning: Math.min(work.reasoning, output), searches: 0 });
  const eachWord = (event: (text: string) => object, hidden = work.reasoning): void => {
    for (const [i, { text, tokens }] of words.entries())
      add(event(text), tokens + (i === 0 ? hidden : 0));
    if (words.length === 0) add(event(""), hidden);
  };
  switch (dialect) {
    case "chat": {
      const chunk = { ...some, object: "chat.completion.chunk", created: 1, ...tierOf(work) };
      const now = (): object => (isRepeated ? { usage: soFar() } : {});
      const delta = (delta: object, reason: string | null = null): object => ({
        ...chunk,
        choices: [{ index: 0, delta, finish_reason: reason }],
        ...now(),
      });
      add(delta({ role: "assistant", content: "" }));
      eachWord((content) => delta({ content }));
      add(delta({}, "stop"));
      const all = usage(work);
      if (all !== null) add({ ...chunk, choices: [], usage: all });
      add("[DONE]");
      break;
    }
    case "messages": {
      const begun = { ...work, output: 1, searches: 0 };
      const message = wholeAnswer("messages", { text: "", work, usage: usage(begun) });
      add({ type: "message_start", message: { ...message, content: [], stop_reason: null } });
      const block = { type: "text", text: "" };
      add({ type: "content_block_start", index: 0, content_block: block });
      eachWord((text) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text },
      }));
      add({ type: "content_block_stop", index: 0 });
      const delta = { stop_reason: null, stop_sequence: null };
      if (isRepeated) add({ type: "message_delta", delta, usage: soFar() });
      const all = usage(work);
      add({
        type: "message_delta",
        delta: { ...delta, stop_reason: "end_turn" },
        ...(all === null ? {} : { usage: all }),
      });
      add({ type: "message_stop" });
      break;
    }
    case "responses": {
      const text = words.map((word) => word.text).join("");
      const begun = { ...responseObject("", { ...work, searches: 0 }, null), output: [] };
      add({ type: "response.created", response: { ...begun, status: "in_progress" } });
      const place = { output_index: 0, item_id: "msg_1", content_index: 0 };
      const item = { id: "msg_1", type: "message", role: "assistant", status: "in_progress" };
      add({ type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } });
      const part = { type: "output_text", text: "", annotations: [] };
      add({ type: "response.content_part.added", ...place, part });
      eachWord((delta) => ({ type: "response.output_text.delta", ...place, delta }));
      add({ type: "response.output_text.done", ...place, text });
      const done = { ...item, status: "completed", content: [{ ...part, text }] };
      add({ type: "response.output_item.done", output_index: 0, item: done });
      add({ type: "response.completed", response: responseObject(text, work, usage(work)) });
      break;
    }
    case "google": {
      const chunk = (text: string, reason?: string, done: object | null = soFar()): object => ({
        candidates: [candidate(text, reason)],
        modelVersion: "x",
        ...(done === null ? {} : { usageMetadata: done }),
      });
      eachWord((text) => chunk(text, undefined, isRepeated ? soFar() : null));
      add(chunk("", "STOP", usage(work)));
    }
  }
  return events;
}

/** Where each event begins, and the end. */
function boundaries(texts: readonly string[]): number[] {
  let at = 0;
  return [0, ...texts.map((text) => (at += Buffer.byteLength(text)))];
}

/** The output that was made until so many bytes had been sent. */
function sentTokens(texts: readonly string[], tokens: readonly number[], bytes: number): number {
  const starts = boundaries(texts);
  return tokens.reduce((sum, count, i) => (starts[i]! < bytes ? sum + count : sum), 0);
}

/** Events one by one, all at once, or at any byte. */
function split(bytes: Buffer, texts: readonly string[], random: Random): Buffer[] {
  const how = random.int(0, 2);
  const places =
    how === 0
      ? boundaries(texts)
      : how === 1
        ? []
        : Array.from({ length: 4 }, () => random.int(0, bytes.length)).sort((a, b) => a - b);
  const pieces: Buffer[] = [];
  let from = 0;
  for (const to of [...places.filter((place) => place < bytes.length), bytes.length]) {
    if (to > from) pieces.push(bytes.subarray(from, to));
    from = Math.max(from, to);
  }
  return pieces;
}
