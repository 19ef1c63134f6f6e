/**
 * The simulator: a provider without a model, so that Sluice can be tried and tested without a real
 * provider. Its answers say that they are simulated, and the same request always gets the same
 * answer.
 *
 * Not here: sending the events with their pauses (`simulated-upstream.ts`), and checking the body
 * (`model-body.ts` does; the simulator ignores fields that it can't read).
 */
import { isCount, isObject } from "../../shared/checked.js";
import { textDigest } from "../../shared/text/text-digest.js";

export interface SimulatedChat {
  /** The body of a plain answer. */
  readonly plain: Buffer;
  /** The same answer as Server-Sent Events, one word each, up to and including `[DONE]`. */
  readonly events: readonly Buffer[];
  /** The pause between two events, and before a plain answer. */
  readonly pauseMs: number;
}

/** The model that answers slowly; every other one is fast. */
const slowModel = "sim-slow";
const slowPauseMs = 250;
const fastPauseMs = 15;
/** How many characters of the last user message are repeated. */
const echoCharsMax = 500;
const charsPerToken = 4;

type Fields = Readonly<Record<string, unknown>>;

/** The answer to a parsed chat completion request. `createdSeconds`: its timestamp. */
export function simulateChat(body: unknown, model: string, createdSeconds: number): SimulatedChat {
  const request = isObject(body) ? body : {};
  const messages = (
    Array.isArray(request["messages"]) ? (request["messages"] as unknown[]) : []
  ).map(readMessage);
  const answer = answerTo(messages.findLast(({ role }) => role === "user")?.text ?? "");
  const tokensMax = readTokensMax(request);
  const content = tokensMax === null ? answer : cutText(answer, tokensMax * charsPerToken);
  const finishReason = content.length < answer.length ? "length" : "stop";
  const promptTokens = tokensOf(messages.map(({ text }) => text).join("\n"));
  const completionTokens = tokensOf(content);
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  const conversation = messages.map(({ role, text }) => `${role}:${text}`).join("\n");
  const id = `sim-${textDigest(`${model}\n${conversation}\n${content}`)}`;
  const head = { id, created: createdSeconds, model };
  const plain = {
    ...head,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, refusal: null },
        logprobs: null,
        finish_reason: finishReason,
      },
    ],
    usage,
  };
  const withUsage = asksForUsage(request);
  const chunk = (choices: readonly unknown[], chunkUsage: typeof usage | null): unknown => ({
    ...head,
    object: "chat.completion.chunk",
    choices,
    ...(withUsage ? { usage: chunkUsage } : {}),
  });
  const delta = (fields: Fields, finish: string | null = null): unknown =>
    chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }], null);
  const chunks = [
    delta({ role: "assistant", content: "" }),
    ...wordsOf(content).map((word) => delta({ content: word })),
    delta({}, finishReason),
  ];
  if (withUsage) chunks.push(chunk([], usage));
  return {
    plain: Buffer.from(JSON.stringify(plain)),
    events: [...chunks.map((value) => eventBytes(JSON.stringify(value))), eventBytes("[DONE]")],
    pauseMs: model === slowModel ? slowPauseMs : fastPauseMs,
  };
}

function answerTo(message: string): string {
  const notice = "This is the Sluice simulator: no model was called.";
  if (message === "") return `${notice} There was no user message.`;
  const echo = cutText(message, echoCharsMax);
  return `${notice} You said: ${echo}${echo.length < message.length ? "…" : ""}`;
}

function readMessage(message: unknown): { readonly role: string; readonly text: string } {
  if (!isObject(message)) return { role: "", text: "" };
  const { role, content } = message;
  return { role: typeof role === "string" ? role : "", text: readContent(content) };
}

/** A text, or the texts among the parts of a message. */
function readContent(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = (content as unknown[]).map((part) =>
    isObject(part) && typeof part["text"] === "string" ? part["text"] : "",
  );
  return texts.filter((text) => text !== "").join("\n");
}

/** The newer name takes precedence. A value that isn't a positive integer sets no limit. */
function readTokensMax(request: Fields): number | null {
  for (const value of [request["max_completion_tokens"], request["max_tokens"]])
    if (isCount(value, 1)) return value;
  return null;
}

function asksForUsage(request: Fields): boolean {
  const options = request["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

/** Words, each with the space before it, so that they join to the same text. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / charsPerToken);
}

/** The first `charsMax` UTF-16 units, or one less rather than half of a character. */
function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const last = text.charCodeAt(charsMax - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? charsMax - 1 : charsMax);
}

function eventBytes(data: string): Buffer {
  return Buffer.from(`data: ${data}\n\n`);
}
