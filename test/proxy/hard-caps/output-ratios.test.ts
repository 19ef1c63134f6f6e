import t from "tap";
import { OutputRatios } from "../../../proxy/hard-caps/output-ratios.js";
import { learnedRatiosMax } from "../../../shared/bounds.js";

t.test("a target counts as English until its streams say otherwise, with a margin", async (t) => {
  const ratios = new OutputRatios();
  t.equal(ratios.of("a/m"), 3.2);
  ratios.learn("a/m", 200, 100);
  t.equal(ratios.of("a/m"), 1.6);
  ratios.learn("a/m", 400, 100);
  t.equal(ratios.of("a/m"), 2, "later streams move it by a part");
  t.equal(ratios.of("a/other"), 3.2);
});

t.test("a token is at least one byte, and hardly more than in English", async (t) => {
  const ratios = new OutputRatios();
  ratios.learn("hides/reasoning", 10, 1000);
  t.equal(ratios.of("hides/reasoning"), 1);
  ratios.learn("odd/m", 100_000, 100);
  t.equal(ratios.of("odd/m"), 3.2);
});

t.test("a short answer teaches nothing, and the targets are bounded", async (t) => {
  const ratios = new OutputRatios();
  ratios.learn("a/m", 20, 20);
  t.equal(ratios.of("a/m"), 3.2);
  for (let i = 0; i < learnedRatiosMax; i++) ratios.learn(`a/${i}`, 200, 100);
  ratios.learn("one/more", 200, 100);
  t.equal(ratios.of("one/more"), 3.2);
  t.equal(ratios.of("a/0"), 1.6);
});
