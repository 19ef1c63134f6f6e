import t from "tap";
import { TokenRatios } from "../../../proxy/hard-caps/token-ratios.js";
import { learnedRatiosMax } from "../../../shared/bounds.js";

/** Bytes per token after streams of so many bytes and tokens. */
function after(...streams: readonly (readonly [bytes: number, tokens: number])[]): number {
  const ratios = new TokenRatios("outputs");
  for (const [bytes, tokens] of streams) ratios.learn("a/m", bytes, tokens);
  return Math.round(ratios.of("a/m") * 1000) / 1000;
}

t.test("a target counts as English until its streams say otherwise", async (t) => {
  t.equal(after(), 4);
  t.equal(after([128, 64]), 3);
  t.equal(after([128, 64], [640, 128]), 4, "by the tokens of the answers");
  t.equal(after([20, 10]), Math.round((276 / 74) * 1000) / 1000, "a short answer says little");
  const ratios = new TokenRatios("outputs");
  ratios.learn("a/m", 200, 100);
  t.equal(ratios.of("a/other"), 4);
});

t.test("the last answers count, and none alone", async (t) => {
  const dense = Array.from({ length: 20 }, () => [2000, 1000] as const);
  t.ok(after(...dense) < 2.01);
  t.equal(after(...dense, [4_000_000, 1_000_000]), 2.5, "a long answer is a quarter");
  t.equal(after([0, 0]), 4);
});

t.test("a token is at least one byte, and hardly more than in English", async (t) => {
  t.ok(after(...Array.from({ length: 100 }, () => [10, 1000] as const)) < 1.01, "reasoning");
  t.ok(after(...Array.from({ length: 100 }, () => [100_000, 1000] as const)) <= 5);
  const prompts = new TokenRatios("prompts");
  for (let i = 0; i < 100; i++) prompts.learn("a/m", 100_000, 1000);
  t.equal(Math.round(prompts.of("a/m")), 16, "a prompt may be mostly JSON");
});

t.test("the targets are bounded", async (t) => {
  const ratios = new TokenRatios("outputs");
  for (let i = 0; i < learnedRatiosMax; i++) ratios.learn(`a/${i}`, 128, 64);
  ratios.learn("one/more", 128, 64);
  t.equal(ratios.of("one/more"), 4);
  ratios.learn("a/0", 128, 64);
  t.ok(ratios.of("a/0") < 3, "a known one goes on learning");
});
