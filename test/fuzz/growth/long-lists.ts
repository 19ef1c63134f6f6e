/**
 * Long lists of a few things over and over, where clients write lists: turns, parts of content,
 * calls and their results, tools. The work grows with their number, and no faster.
 */
import { createRandom, type Random } from "../../sim/random.js";
import { mustBeLinear } from "../linear-time.js";
import type { RequestSample } from "../samples/request-samples.js";
import { tryBody } from "../targets/try-body.js";
import { growthTarget } from "./growth-target.js";

/** A thing, by its place in the list, for ids that differ. */
type Item = (at: number) => object;

interface ListPlace {
  readonly operation: RequestSample["operation"];
  readonly items: readonly Item[];
  readonly body: (list: readonly object[]) => RequestSample["body"];
}

const text = { type: "text", text: "a" };
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
const parameters = { type: "object", properties: {} };
const chatCall = (id: number): object => ({
  id: `call_${id}`,
  type: "function",
  function: { name: "look", arguments: "{}" },
});

const places: readonly ListPlace[] = [
  {
    operation: "chat_completions",
    items: [
      () => ({ role: "system", content: "s" }),
      () => ({ role: "user", content: "u" }),
      () => ({ role: "user", content: [text, picture] }),
      () => ({ role: "assistant", content: "a", reasoning_content: "r" }),
      () => ({
        role: "assistant",
        content: "a",
        thinking_blocks: [{ type: "thinking", thinking: "t", signature: "c2ln" }],
      }),
      (at) => ({ role: "assistant", content: null, tool_calls: [chatCall(at)] }),
      (at) => ({ role: "tool", tool_call_id: `call_${at - 1}`, content: "r" }),
    ],
    body: (messages) => ({ model: "m", messages }),
  },
  {
    operation: "chat_completions",
    items: [() => text, () => picture],
    body: (content) => ({ model: "m", messages: [{ role: "user", content }] }),
  },
  {
    operation: "chat_completions",
    items: [(at) => ({ type: "function", function: { name: `f${at}`, parameters } })],
    body: (tools) => ({ model: "m", tools, messages: [{ role: "user", content: "u" }] }),
  },
  {
    operation: "messages",
    items: [
      () => ({ role: "user", content: "u" }),
      () => ({ role: "system", content: "s" }),
      () => ({ role: "assistant", content: [text] }),
      (at) => ({
        role: "assistant",
        content: [
          { type: "thinking", thinking: "t", signature: "c2ln" },
          { type: "tool_use", id: `toolu_${at}`, name: "look", input: {} },
        ],
      }),
      (at) => ({
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `toolu_${at - 1}`, content: [text] }, text],
      }),
    ],
    body: (messages) => ({ model: "m", max_tokens: 9, messages }),
  },
  {
    operation: "messages",
    items: [() => text],
    body: (system) => ({
      model: "m",
      max_tokens: 9,
      system,
      messages: [{ role: "user", content: system }],
    }),
  },
  {
    operation: "responses",
    items: [
      () => ({ role: "user", content: "u" }),
      () => ({ role: "developer", content: "d" }),
      () => ({ role: "assistant", content: [{ type: "output_text", text: "a" }] }),
      (at) => ({
        type: "reasoning",
        id: `rs_${at}`,
        summary: [{ type: "summary_text", text: "r" }],
      }),
      (at) => ({ type: "function_call", call_id: `c${at}`, name: "look", arguments: "{}" }),
      (at) => ({
        type: "function_call_output",
        call_id: `c${at - 1}`,
        output: [
          { type: "input_text", text: "o" },
          { type: "input_image", image_url: "data:image/png;base64,AA==" },
        ],
      }),
    ],
    body: (input) => ({ model: "m", input }),
  },
  {
    operation: "generate_content",
    items: [
      () => ({ role: "user", parts: [{ text: "u" }] }),
      () => ({ role: "model", parts: [{ text: "t", thought: true }, { text: "m" }] }),
      (at) => ({ role: "model", parts: [{ functionCall: { name: `f${at % 5}`, args: {} } }] }),
      (at) => ({
        role: "user",
        parts: [{ functionResponse: { name: `f${(at - 1) % 5}`, response: { a: 1 } } }],
      }),
    ],
    body: (contents) => ({ contents }),
  },
];

async function tryGrowth(random: Random): Promise<void> {
  const place = random.pick(places);
  const first = place.items.length === 1 ? [] : [random.pick(place.items)];
  const over = Array.from({ length: random.int(1, 3) }, () => random.pick(place.items));
  const seed = random.int(0, 2 ** 30);
  const bodyOf = (count: number): Buffer => {
    const list = Array.from({ length: count }, (_, at) =>
      (first[at] ?? over[at % over.length]!)(at),
    );
    return Buffer.from(JSON.stringify(place.body(list)));
  };
  const sample: RequestSample = { operation: place.operation, body: place.body([]) };
  await mustBeLinear(
    () => `${place.operation}: ${[...first, ...over].map(String).join(", ")}`,
    4_000,
    async (count) => {
      const body = bodyOf(count);
      for (let round = 0; round < 3; round++)
        await tryBody(sample, body, createRandom(seed + round));
    },
  );
}

export const longLists = growthTarget("long-lists", 0.0015, tryGrowth);
