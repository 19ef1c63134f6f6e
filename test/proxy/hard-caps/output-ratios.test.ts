import t from "tap";
import { OutputRatios } from "../../../proxy/hard-caps/output-ratios.js";
import { learnedRatiosMax } from "../../../shared/bounds.js";

/** Bytes per token after streams of 100 tokens with so many bytes. */
function after(...textBytes: readonly number[]): number {
  const ratios = new OutputRatios();
  for (const bytes of textBytes) ratios.learn("a/m", bytes, 100);
  return Math.round(ratios.of("a/m") * 1000) / 1000;
}

t.test("a target counts as English until its streams say otherwise, with a margin", async (t) => {
  t.equal(after(), 3.2);
  t.equal(after(400), 3.6);
  t.equal(after(200), 2.7, "half the way down");
  t.equal(after(200, 200), 2.25);
  t.equal(after(200, 400), 2.79, "a tenth of the way up");
  const ratios = new OutputRatios();
  ratios.learn("a/m", 200, 100);
  t.equal(ratios.of("a/other"), 3.2);
});

t.test("a token is at least one byte, and hardly more than in English", async (t) => {
  t.equal(after(...Array.from({ length: 20 }, () => 10)), 1, "hidden reasoning");
  t.equal(after(...Array.from({ length: 100 }, () => 100_000)), 4.5);
});

t.test("a short answer teaches nothing, and the targets are bounded", async (t) => {
  const ratios = new OutputRatios();
  ratios.learn("a/m", 20, 20);
  t.equal(ratios.of("a/m"), 3.2);
  for (let i = 0; i < learnedRatiosMax; i++) ratios.learn(`a/${i}`, 200, 100);
  ratios.learn("one/more", 200, 100);
  t.equal(ratios.of("one/more"), 3.2);
  t.equal(ratios.of("a/0"), 2.7);
});
