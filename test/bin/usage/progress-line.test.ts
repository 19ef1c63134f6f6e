import t from "tap";
import { createProgressLine, progressText } from "../../../bin/usage/progress-line.js";

t.test(
  "work that is done in a moment shows nothing; longer work shows at most ten lines a second, and removes them",
  async (t) => {
    let now = 1_000_000;
    const drawn: string[] = [];
    const line = createProgressLine({
      draw: (text) => void drawn.push(text),
      monoMs: () => now,
      unicode: true,
    });
    const after = (ms: number, ratio: number): number => {
      now = 1_000_000 + ms;
      line.show(ratio, "1,000 records");
      return drawn.length;
    };
    t.equal(after(499, 0.4), 0);
    line.clear();
    t.same(drawn, [], "what wasn't shown isn't cleared");
    t.equal(after(500, 0.5), 1);
    t.equal(after(599, 0.6), 1);
    t.equal(after(600, 0.6), 2);
    line.clear();
    line.clear();
    t.equal(drawn.length, 3);
    t.equal(drawn[2], "");
  },
);

t.test("the line shows the ratio, the records and the time left, and doesn't wrap", async (t) => {
  const text = (ratio: number, unicode: boolean): string =>
    progressText({ ratio, done: "58,000 records", elapsedMs: 2_000, unicode });
  t.equal(text(0.25, false), "######------------------  25%  58,000 records, 6s left");
  t.equal(text(0.5, true), "████████████────────────  50%  58,000 records, 2s left");
  t.equal(text(0, false), "------------------------   0%  58,000 records");
  t.equal(text(1, false), "######################## 100%  58,000 records");
  t.equal(text(1.5, false), text(1, false), "a ratio that a daemon gets wrong draws no longer bar");
  t.equal(text(-1, false), text(0, false));
  t.ok(
    progressText({
      ratio: 0.011,
      done: "9,999,999,999 records",
      elapsedMs: 360_000_000,
      unicode: true,
    }).length <= 70,
  );
});
