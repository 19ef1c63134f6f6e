import t from "tap";
import { periodSecondsMax, rotationOverlapSeconds } from "../../../shared/bounds.js";
import { parseKeyRotation } from "../../../shared/domain/key-rotation.js";

t.test("a rotation takes an overlap or none, and nothing else", async (t) => {
  for (const [body, overlapSeconds] of [
    [{}, rotationOverlapSeconds],
    [{ overlap_seconds: 0 }, 0],
    [{ overlap_seconds: periodSecondsMax }, periodSecondsMax],
  ] as const)
    t.same(parseKeyRotation(body), { ok: true, value: { overlapSeconds } });
  for (const [models, parsed] of [
    [undefined, undefined],
    [null, null],
    [["GPT-4o"], ["gpt-4o"]],
  ] as const)
    t.strictSame(parseKeyRotation({ overlap_seconds: 5, models }), {
      ok: true,
      value: { overlapSeconds: 5, models: parsed },
    });
  for (const [body, param, message] of [
    ["now", "body", /must be a JSON object, not "now"/],
    [{ overlap: 5 }, "overlap", "unknown field overlap: expected overlap_seconds"],
    [{ overlap_seconds: 0, x: 1 }, "x", /unknown field x/],
    [{ overlap_seconds: -1 }, "overlap_seconds", /must be an integer from 0 to \d+, not -1/],
    [{ overlap_seconds: 0.5 }, "overlap_seconds", /not 0\.5/],
    [{ models: "gpt-*" }, "models", /models must be/],
    [{ models: [7] }, "models", /^models/],
    [{ overlap_seconds: periodSecondsMax + 1 }, "overlap_seconds", /must be an integer/],
  ] as const)
    t.match(parseKeyRotation(body), { ok: false, failure: { param, message } });
});
