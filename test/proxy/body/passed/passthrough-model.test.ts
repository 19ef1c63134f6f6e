import t from "tap";
import {
  deploymentInPath,
  modelInPath,
  needsModel,
  operationAt,
  usableModel,
} from "../../../../proxy/body/passed/passthrough-model.js";

t.test(
  "an operation of Sluice's own is recognized by the end of its path, and only as a POST",
  async (t) => {
    const table = [
      ["POST", "/v1/chat/completions", "chat_completions"],
      ["POST", "/openai/deployments/d/chat/completions", "chat_completions"],
      ["POST", "/v1/responses", "responses"],
      ["POST", "/v1/messages", "messages"],
      ["POST", "/v1/embeddings", "embeddings"],
      ["POST", "/v1/chat/completions/", "chat_completions"],
      ["POST", "/v1/Chat/Completions", "chat_completions"],
      ["POST", "/v1/chat/completion%73", "chat_completions"],
      ["POST", "/v1/chat%252Fcompletions", "chat_completions"],
      ["POST", "/v1/chat/completions;x=1", "chat_completions"],
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

t.test("what Sluice has an endpoint for needs a model, however its path is written", async (t) => {
  for (const path of [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/embeddings",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/responses/compact",
    "/v1/rerank",
    "/v1/images/GENERATIONS/",
    "/v1/audio/spee%63h",
  ]) {
    t.ok(needsModel("POST", path), path);
    t.notOk(needsModel("GET", path), path);
  }
  for (const path of ["/v1/files", "/v1/threads/t/messages", "/v1/messages/count_tokens", "/"])
    t.notOk(needsModel("POST", path), path);
});

t.test("a model is found in the paths of Gemini, Bedrock and Azure", async (t) => {
  const ofGemini = [
    ["/v1beta/models/gemini-2.5-flash:generateContent", "gemini-2.5-flash"],
    ["/v1beta/models/gemini-2.5-flash:streamGenerateContent", "gemini-2.5-flash"],
    ["/v1beta/models%2Fgemini-2.5-flash%3AgenerateContent", "gemini-2.5-flash"],
    ["/v1beta/models/gemini-2.5-flash:generateContent/", "gemini-2.5-flash"],
    ["/v1/publishers/acme/models/big%2Fmodel:predict", "big/model"],
    ["/v1beta/tunedModels/mine:generateContent", "tunedModels/mine"],
    ["/model/us.anthropic.claude-sonnet-5/converse", "us.anthropic.claude-sonnet-5"],
    ["/model/amazon.nova-lite-v1%3A0/converse-stream", "amazon.nova-lite-v1:0"],
    ["/model/anthropic.claude-3-haiku/invoke", "anthropic.claude-3-haiku"],
    ["/model/a%2Fb/invoke-with-response-stream/", "a/b"],
    ["/model/amazon.nova-lite-v1:0/count-tokens", ""],
    ["/v1/models/gpt-4o", ""],
    ["/v1/chat/completions", ""],
    ["/v1beta/models/%ff:generateContent", "\ufffd"],
  ] as const;
  for (const [path, model] of ofGemini) t.equal(modelInPath(path), model, path);
  const ofAzure = [
    ["/openai/deployments/my%20model/embeddings", "my model"],
    ["/openai/deployments/d/chat/completions", "d"],
    ["/openai/deployments/%ff/embeddings", "\ufffd"],
    [`/openai/deployments/${"a".repeat(513)}/embeddings`, ""],
    ["/v1/models/gpt-4o", ""],
  ] as const;
  for (const [path, model] of ofAzure) t.equal(deploymentInPath(path), model, path);
  t.equal(usableModel(" gpt-4o "), "gpt-4o");
});
