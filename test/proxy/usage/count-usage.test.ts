import t from "tap";
import { countUsage, isWithoutModel } from "../../../proxy/usage/count-usage.js";
import { absentUsage, readUsage } from "../../../proxy/usage/read-usage.js";
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
