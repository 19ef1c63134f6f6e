import t from "tap";
import { modelInPath, operationAt, usableModel } from "../../../proxy/body/passthrough-model.js";

t.test(
  "an operation of Sluice's own is recognized by the end of its path, and only as a POST",
  async (t) => {
    const table = [
      ["POST", "/v1/chat/completions", "chat_completions"],
      ["POST", "/openai/deployments/d/chat/completions", "chat_completions"],
      ["POST", "/v1/responses", "responses"],
      ["POST", "/v1/messages", "messages"],
      ["POST", "/v1/embeddings", "embeddings"],
      ["GET", "/v1/chat/completions", null],
      ["POST", "/v1/responses/resp_1/cancel", null],
      ["POST", "/v1/messages/count_tokens", null],
      ["POST", "/v1/threads/t/messages/m", null],
      ["POST", "/v1/threads/t/messages", null],
      ["POST", "/v1/files", null],
    ] as const;
    for (const [method, path, operation] of table)
      t.equal(operationAt(method, path), operation, `${method} ${path}`);
  },
);

t.test("a model is found in the paths of Gemini and Azure", async (t) => {
  const table = [
    ["/v1beta/models/gemini-2.5-flash:generateContent", "gemini-2.5-flash"],
    ["/v1beta/models/gemini-2.5-flash:streamGenerateContent", "gemini-2.5-flash"],
    ["/openai/deployments/my%20model/embeddings", "my model"],
    ["/v1/models/gpt-4o", ""],
    ["/v1/chat/completions", ""],
    ["/openai/deployments/%ff/embeddings", ""],
    [`/openai/deployments/${"a".repeat(513)}/embeddings`, ""],
  ] as const;
  for (const [path, model] of table) t.equal(modelInPath(path), model, path);
  t.equal(usableModel(" gpt-4o "), "gpt-4o");
});
