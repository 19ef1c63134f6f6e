/**
 * Long texts of one thing over and over, where clients write texts: what regular expressions and
 * scans go back for. The work grows with the size, and no faster.
 */
import { createRandom, type Random } from "../../sim/random.js";
import { mustBeLinear } from "../linear-time.js";
import { runUnit } from "../mutate/odd-values.js";
import type { RequestSample } from "../samples/request-samples.js";
import { tryBody } from "../targets/try-body.js";
import { growthTarget } from "./growth-target.js";

const wordyPlaces: readonly ((text: string) => RequestSample)[] = [
  (content) => ({
    operation: "chat_completions",
    body: { model: "m", messages: [{ role: "user", content }] },
  }),
  (content) => ({
    operation: "chat_completions",
    body: { model: "m", messages: [{ role: "tool", tool_call_id: "1", content }] },
  }),
  (system) => ({
    operation: "messages",
    body: { model: "m", max_tokens: 1, system, messages: [{ role: "user", content: system }] },
  }),
  (input) => ({ operation: "responses", body: { model: "m", input } }),
  (content) => ({
    operation: "responses",
    body: {
      model: "m",
      input: [{ role: "user", content: [{ type: "input_text", text: content }] }],
    },
  }),
  (model) => ({ operation: "embeddings", body: { model, input: model } }),
];

/** One text made of one thing over and over: what regular expressions and scans go back for. */
async function tryGrowth(random: Random): Promise<void> {
  const unit = runUnit(random);
  const before = random.chance(0.5) ? "" : runUnit(random);
  const place = random.pick(wordyPlaces);
  const seed = random.int(0, 2 ** 30);
  const isRaw = random.chance(0.2);
  const bodyOf = (bytes: number): readonly [RequestSample, Buffer] => {
    const text = before + unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit)));
    const sample = place(text);
    return [sample, isRaw ? Buffer.from(text) : Buffer.from(JSON.stringify(sample.body))];
  };
  const work = async (bytes: number): Promise<void> => {
    const [sample, body] = bodyOf(bytes);
    for (let round = 0; round < 3; round++) await tryBody(sample, body, createRandom(seed + round));
  };
  const large = random.chance(0.06);
  await mustBeLinear(
    () =>
      `${JSON.stringify(unit)} after ${JSON.stringify(before)}, ${place.toString().slice(0, 60)}`,
    large ? 1_200_000 : 60_000,
    work,
  );
}

export const longTexts = growthTarget("long-texts", 0.001, tryGrowth);
