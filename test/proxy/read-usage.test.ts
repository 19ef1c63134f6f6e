import t from "tap";
import { readUsage, type UsageReading } from "../../proxy/read-usage.js";
import { tokensPerResponseMax } from "../../shared/bounds.js";

function usage(inputTokens: number, outputTokens: number, totalTokens: number): UsageReading {
  return { kind: "usage", inputTokens, outputTokens, totalTokens };
}

t.test("the total is charged, else the sum of its parts", async (t) => {
  const cases: readonly (readonly [unknown, UsageReading])[] = [
    [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }, usage(10, 5, 15)],
    [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: 40, completion_tokens_details: { reasoning_tokens: 25 } }, usage(10, 5, 40)],
    [{ prompt_tokens: 10, completion_tokens: 5 }, usage(10, 5, 15)],
    [{ prompt_tokens: 10, completion_tokens: 5, total_tokens: null }, usage(10, 5, 15)],
    [{ input_tokens: 7, output_tokens: 2 }, usage(7, 2, 9)],
    [{ prompt_tokens: 7 }, usage(7, 0, 7)],
    [{ completion_tokens: 3, prompt_tokens: null }, usage(0, 3, 3)],
    [{ total_tokens: 12 }, usage(0, 0, 12)],
    [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, usage(0, 0, 0)],
    [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 0 }, usage(4, 5, 9)],
    [{ total_tokens: tokensPerResponseMax }, usage(0, 0, tokensPerResponseMax)],
    [{ prompt_tokens: -4, completion_tokens: 5, total_tokens: 9 }, usage(0, 5, 9)],
    [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: -9 }, usage(4, 5, 9)],
    [{ prompt_tokens: 4, completion_tokens: 5, total_tokens: "9" }, usage(4, 5, 9)],
  ];
  for (const [value, expected] of cases) t.same(readUsage(value), expected, JSON.stringify(value));
});

t.test("no usage, null and an object without counts are absent", async (t) => {
  for (const value of [undefined, null, {}, { prompt_tokens: null }, { cost: 0.1 }]) t.same(readUsage(value), { kind: "absent" }, JSON.stringify(value));
});

t.test("nonsense is named and not charged", async (t) => {
  const range = `must be an integer from 0 to ${tokensPerResponseMax}`;
  const cases: readonly (readonly [unknown, string])[] = [
    [{ total_tokens: -1 }, `total_tokens ${range}, not -1`],
    [{ total_tokens: 1.5 }, `total_tokens ${range}, not 1.5`],
    [{ total_tokens: "12" }, `total_tokens ${range}, not "12"`],
    [{ total_tokens: tokensPerResponseMax + 1 }, `total_tokens ${range}, not ${tokensPerResponseMax + 1}`],
    [{ total_tokens: Infinity }, `total_tokens ${range}, not null`],
    [{ prompt_tokens: -5, completion_tokens: 7 }, `prompt_tokens ${range}, not -5`],
    [{ prompt_tokens: 5, completion_tokens: 0.5 }, `completion_tokens ${range}, not 0.5`],
    [{ prompt_tokens: 5, completion_tokens: {} }, `completion_tokens ${range}, not {}`],
    [{ prompt_tokens: -5, completion_tokens: 7, total_tokens: 2 ** 60 }, `prompt_tokens ${range}, not -5`],
    [{ prompt_tokens: tokensPerResponseMax, completion_tokens: 1 }, `the sum of prompt_tokens and completion_tokens ${range}, not ${tokensPerResponseMax + 1}`],
    [[1, 2], `usage ${range}, not [1,2]`],
    [12, `usage ${range}, not 12`],
  ];
  for (const [value, reason] of cases) t.same(readUsage(value), { kind: "absurd", reason }, JSON.stringify(value));
});
