import t from "tap";
import { estimateTokens } from "../../proxy/estimate-tokens.js";
import { tokensPerResponseMax } from "../../shared/bounds.js";

t.test("four bytes or characters are a token, rounded up once", async (t) => {
  const cases: readonly (readonly [number, number, number])[] = [[0, 0, 0], [1, 0, 1], [0, 1, 1], [2, 2, 1], [3, 2, 2], [400, 100, 125], [401, 100, 126]];
  for (const [promptBytes, contentChars, tokens] of cases) t.equal(estimateTokens({ promptBytes, contentChars }), tokens, `${promptBytes} and ${contentChars}`);
});

t.test("an estimate never claims more than a response may", async (t) => {
  t.equal(estimateTokens({ promptBytes: 2 ** 50, contentChars: 0 }), tokensPerResponseMax);
});
