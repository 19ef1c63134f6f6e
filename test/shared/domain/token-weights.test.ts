import { readFileSync } from "node:fs";
import t from "tap";
import {
  parseTokenWeights,
  type TokenWeights,
  textOfWeights,
  weighTokens,
  weightsOfText,
} from "../../../shared/domain/token-weights.js";
import { weightCases } from "./token-weight-cases.js";

t.test("the worked cases, and every row of the page is one, of the tokens that it names", (t) => {
  const page = readFileSync("docs/limit-people.md", "utf8");
  const rows = weightCases.flatMap(({ name, weights, tokens, counts }) => {
    const counted = [
      weighTokens(weights, "all", tokens),
      weighTokens(weights, "input", tokens),
      weighTokens(weights, "output", tokens),
    ];
    t.same(counted, counts, name);
    const { inputTokens, cachedInputTokens, cacheWriteInputTokens } = tokens;
    const uncached = inputTokens - cachedInputTokens - cacheWriteInputTokens;
    const output = tokens.outputTokens - tokens.reasoningTokens;
    const kinds = [
      uncached,
      cachedInputTokens,
      cacheWriteInputTokens,
      output,
      tokens.reasoningTokens,
    ];
    const written = Object.keys(weights).length === 0 ? "none" : `\`${textOfWeights(weights)}\``;
    const [input, cached, cacheWrite, visible, reasoning] = kinds;
    const named = `${input} \`input\`, ${cached} \`cached\`, ${cacheWrite} \`cache_write\`, ${visible} \`output\` and ${reasoning} \`reasoning\` tokens`;
    return page.includes(named) ? [`| ${[written, ...counts].join(" | ")} |`] : [];
  });
  const shown = page.split("\n").filter((line) => /^\|[^|]+(?:\| \d+ ){3}\|$/.test(line));
  t.ok(shown.length > 3);
  t.same(
    shown.filter((line) => !rows.includes(line)),
    [],
  );
  t.end();
});

/** By fractions of integers, in another way than the daemon. */
function slowly(weights: TokenWeights, counts: Readonly<Record<string, number>>): bigint {
  const weightOf = (kind: string): number => {
    const { input = 1, output = 1 } = weights;
    if (kind === "reasoning") return weights.reasoning ?? output;
    if (kind === "output") return output;
    return weights[kind as "input" | "cached" | "cache_write"] ?? input;
  };
  let sum = 0n;
  for (const [kind, count] of Object.entries(counts))
    sum += BigInt(count) * BigInt(weightOf(kind).toFixed(3).replace(".", ""));
  return (sum + 999n) / 1000n;
}

t.test("weighted tokens are exact, rounded up once, over random usage", (t) => {
  let seed = 7;
  const next = (max: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % max;
  };
  const kinds = ["input", "cached", "cache_write", "output", "reasoning"] as const;
  for (let i = 0; i < 2000; i++) {
    const weights = Object.fromEntries(
      kinds.flatMap((kind) => (next(2) === 0 ? [] : [[kind, next(100_001) / 1000]])),
    );
    const counts = Object.fromEntries(kinds.map((kind) => [kind, next(i % 2 === 0 ? 9 : 1e9)]));
    const { input = 0, cached = 0, cache_write: written = 0, output = 0, reasoning = 0 } = counts;
    const tokens = {
      inputTokens: input + cached + written,
      cachedInputTokens: cached,
      cacheWriteInputTokens: written,
      outputTokens: output + reasoning,
      reasoningTokens: reasoning,
    };
    t.equal(BigInt(weighTokens(weights, "all", tokens)), slowly(weights, counts), `${i}`);
    t.equal(
      BigInt(weighTokens(weights, "output", tokens)),
      slowly(weights, { output, reasoning }),
      `${i}, output`,
    );
  }
  t.end();
});

t.test("what isn't a weight is named, with what was expected", (t) => {
  for (const [raw, message] of [
    [5, /^token_weights must be a mapping of input, cached, .* not 5$/],
    [{}, /^token_weights must be a mapping/],
    [[], /^token_weights must be a mapping/],
    [{ cach: 1 }, /^unknown field token_weights\.cach: expected input, cached, cache_write/],
    [{ cached: -1 }, /^token_weights\.cached must be a number from 0 to 100, not -1$/],
    [{ cached: 101 }, /^token_weights\.cached must be a number from 0 to 100/],
    [{ output: "5" }, /^token_weights\.output must be a number/],
    ["cached=0.1;", /^token_weights must be a mapping/],
  ] as const) {
    const parsed = parseTokenWeights(weightsOfText(raw), "token_weights");
    t.match(parsed, { ok: false, failure: { message } });
  }
  t.same(parseTokenWeights(undefined, "x"), { ok: true, value: undefined });
  t.same(parseTokenWeights({ cached: 0.12345 }, "x"), { ok: true, value: { cached: 0.123 } });
  t.end();
});

t.test("a text of weights is read in any order and written in one", (t) => {
  const parsed = parseTokenWeights(weightsOfText("reasoning: 2 ,cached=0.1"), "x");
  t.same(parsed, { ok: true, value: { cached: 0.1, reasoning: 2 } });
  t.equal(textOfWeights({ cached: 0.1, reasoning: 2 }), "cached=0.1, reasoning=2");
  t.end();
});
