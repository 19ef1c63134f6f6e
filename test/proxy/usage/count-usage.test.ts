import t from "tap";
import {
  countUsage,
  estimateTokens,
  isWithoutModel,
  joinedNotes,
  usageOfCutStream,
  usageOfCutTranslation,
} from "../../../proxy/usage/count-usage.js";
import { absentUsage, readUsage } from "../../../proxy/usage/read-usage.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";

const seen = (operation: Operation) => ({ operation, promptBytes: () => 400, contentChars: 4000 });

t.test("a reported usage is charged as it was reported", async (t) => {
  for (const operation of ["chat_completions", "embeddings", "images"] as const) {
    t.match(
      countUsage(
        readUsage({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }),
        seen(operation),
      ),
      { usage: { totalTokens: 5 }, estimated: false, note: null },
    );
  }
});

t.test(
  "a missing or invalid usage is estimated from prompt and text; vectors, pictures and sound aren't",
  async (t) => {
    const table: readonly (readonly [Operation, input: number, output: number])[] = [
      ["chat_completions", 100, 1000],
      ["responses", 100, 1000],
      ["messages", 100, 1000],
      ["transcriptions", 100, 1000],
      ["embeddings", 100, 0],
      ["images", 100, 0],
      ["speech", 100, 0],
    ];
    for (const [operation, inputTokens, outputTokens] of table) {
      t.match(
        countUsage(absentUsage, seen(operation)),
        { usage: { inputTokens, outputTokens }, estimated: true, note: null },
        operation,
      );
      t.match(
        countUsage(readUsage({ total_tokens: -1 }), seen(operation)),
        {
          usage: { inputTokens, outputTokens },
          estimated: true,
          note: /^usage not charged: total_tokens must be/,
        },
        operation,
      );
    }
  },
);

t.test("what providers store for callers is charged nothing, whatever is in it", async (t) => {
  for (const operation of ["files", "batches"] as const) {
    t.equal(isWithoutModel(operation), true);
    t.same(countUsage(readUsage({ total_tokens: 9 }), seen(operation)), {
      usage: null,
      estimated: false,
      note: null,
    });
  }
  t.equal(isWithoutModel("responses"), false);
});

t.test("of a stream that was cut, what came after its usage is estimated", async (t) => {
  const reported = readUsage({ prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 });
  t.equal(usageOfCutStream(reported, 0), reported, "nothing came");
  t.match(usageOfCutStream(reported, 4000), {
    kind: "usage",
    inputTokens: 30,
    outputTokens: 1002,
    totalTokens: 1032,
  });
  t.equal(usageOfCutStream(absentUsage, 4000), absentUsage);
});

t.test(
  "a translated stream that was cut has the larger output: the reported or the seen",
  async (t) => {
    const reported = readUsage({ prompt_tokens: 30, completion_tokens: 200, total_tokens: 230 });
    t.equal(usageOfCutTranslation(reported, 800), reported, "all that was seen is in it");
    t.match(usageOfCutTranslation(reported, 4000), { outputTokens: 1000, totalTokens: 1030 });
    t.equal(usageOfCutTranslation(absentUsage, 4000), absentUsage);
  },
);

t.test("two notes are one line", async (t) => {
  t.equal(joinedNotes("a", "b"), "a; b");
  t.equal(joinedNotes("a", null), "a");
  t.equal(joinedNotes(null, "b"), "b");
  t.equal(joinedNotes(null, null), null);
});

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
