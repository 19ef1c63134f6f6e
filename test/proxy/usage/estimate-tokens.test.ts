import t from "tap";
import { estimateTokens } from "../../../proxy/usage/estimate-tokens.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";

t.test("four bytes or characters are a token, rounded up once", async (t) => {
  const cases: readonly (readonly [number, number, number])[] = [
    [0, 0, 0],
    [1, 0, 1],
    [0, 1, 1],
    [2, 2, 1],
    [3, 2, 2],
    [400, 100, 125],
    [401, 100, 126],
  ];
  for (const [promptBytes, contentChars, tokens] of cases)
    t.equal(
      estimateTokens({ promptBytes, contentChars }).totalTokens,
      tokens,
      `${promptBytes} and ${contentChars}`,
    );
});

t.test("an estimate never exceeds what a response may report", async (t) => {
  t.equal(
    estimateTokens({ promptBytes: 2 ** 50, contentChars: 0 }).totalTokens,
    tokensPerResponseMax,
  );
});

t.test(
  "the prompt is the input, the answer the output, and they add up to the total",
  async (t) => {
    t.match(estimateTokens({ promptBytes: 401, contentChars: 100 }), {
      inputTokens: 101,
      outputTokens: 25,
      totalTokens: 126,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      reportedCost: null,
      details: null,
    });
    for (const [promptBytes, contentChars] of [
      [0, 0],
      [1, 1],
      [3, 1],
      [2 ** 50, 7],
      [0, 2 ** 50],
    ] as const) {
      const { inputTokens, outputTokens, totalTokens } = estimateTokens({
        promptBytes,
        contentChars,
      });
      t.equal(inputTokens + outputTokens, totalTokens);
      t.ok(inputTokens >= 0 && outputTokens >= 0);
    }
  },
);
