import t from "tap";
import { describeEnd, describePart, type RunPart } from "../verify/report.js";

const part = (name: string, more: Partial<RunPart> = {}): RunPart => ({
  ...{ name, text: "3 seeds", advice: `Report ${name}.`, details: {}, problems: [], ...more },
});
const repeat = "sluice verify --seed 0x00000001 --minutes 1";

t.test("a part that holds is a line, one that fails also says what happened before", async (t) => {
  t.equal(describePart(part("caps")), "ok      caps          3 seeds");
  const failed = part("caps", {
    problems: ["seed 0x1: too many"],
    trace: ["12 admit", "15 settle"],
  });
  t.same(describePart(failed).split("\n"), [
    "FAILED  caps          3 seeds",
    "        seed 0x1: too many",
    "        What happened before:",
    "          12 admit",
    "          15 settle",
  ]);
});

t.test(
  "the end says how to repeat the run, and what to do about each kind of problem",
  async (t) => {
    const ok = part("packages");
    t.match(describeEnd([ok], 61, repeat), /^\nEverything holds \(61 s\)\. .*--seed 0x00000001/);
    const failed = ["caps", "caps", "kills"].map((name) => part(name, { problems: ["x"] }));
    t.same(describeEnd([ok, ...failed], 61, repeat).split("\n"), [
      "",
      `3 problems (61 s). To repeat the run: ${repeat}`,
      "Report caps.",
      "Report kills.",
    ]);
    t.match(describeEnd([failed[0]!], 61, repeat), "1 problem (61 s).");
  },
);
