import t from "tap";
import { modelProblem } from "../../../limiterd/keys/judge-model.js";

t.test("a key for some models allows what has one of their names", async (t) => {
  const target = (provider: string, model: string) => ({ provider, model });
  const plain = target("openai", "gpt-4o");
  const slashed = target("openai", "groq/llama");
  const allows = (
    models: readonly string[] | null,
    asked: Parameters<typeof modelProblem>[1],
  ): boolean => modelProblem({ id: "key_1", models }, asked) === null;
  t.equal(modelProblem(null, { targets: [] }), null, "a caller without a key");
  for (const [models, asked, allowed] of [
    [null, { targets: [plain] }, true],
    [[], { targets: [plain] }, false],
    [["gpt-4o"], { targets: [plain] }, true],
    [["openai/gpt-4o"], { targets: [plain] }, true],
    [["openai/*"], { targets: [plain, slashed] }, true],
    [["gpt-4o"], { targets: [plain, target("azure", "gpt-4")] }, false],
    [["groq/*"], { targets: [slashed] }, false],
    [["groq/llama"], { targets: [slashed] }, false],
    [["*"], { targets: [target("openai", "")] }, false],
    [["*"], { targets: [] }, true],
    [["fast"], { targets: [plain], modelNames: ["fast"] }, true],
    [["gpt-4o"], { targets: [plain], modelNames: ["fast"] }, false],
    [["*"], { targets: [plain], modelNames: [] }, false],
  ] as const)
    t.equal(allows(models, asked), allowed, JSON.stringify([models, asked]));
});
