/** LangChain's `createAgent` with a model of one of its packages: `langchain.mjs openai`. */
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { fruitSchema, instructions, noteSchema, readNote, serve } from "./serve.mjs";

const maker = process.argv[2];

function modelOf({ url, key, model }) {
  if (maker === "anthropic")
    return new ChatAnthropic({ model, apiKey: key, anthropicApiUrl: url, maxTokens: 8000 });
  return new ChatOpenAI({
    model,
    apiKey: key,
    configuration: { baseURL: `${url}/v1` },
    useResponsesApi: maker === "responses",
    ...(maker === "responses"
      ? { zdrEnabled: true, modelKwargs: { include: ["reasoning.encrypted_content"] } }
      : {}),
  });
}

const readTool = tool(({ number }) => readNote(number), {
  name: "read_note",
  description: "reads",
  schema: noteSchema,
});

const agentOf = (job) =>
  createAgent({ model: modelOf(job), tools: [readTool], systemPrompt: instructions });

async function ask(job, messages) {
  const result = await agentOf(job).invoke({ messages });
  return result.messages;
}

/** As pieces, which it puts together itself. */
async function stream(job, messages) {
  let last;
  for await (const [mode, state] of await agentOf(job).stream(
    { messages },
    { streamMode: ["messages", "values"] },
  ))
    if (mode === "values") last = state.messages;
  return last;
}

async function task(job, memory, how) {
  memory.messages = await how(job, [{ role: "user", content: job.prompt }]);
  return memory.messages.at(-1).text;
}

serve({
  task: (job, memory) => task(job, memory, ask),
  stream: (job, memory) => task(job, memory, stream),
  busy: (job, memory) => task(job, memory, stream),
  day: (job, memory) => task(job, memory, stream),
  async again(job, { messages }) {
    const now = await ask(job, [...messages, { role: "user", content: job.prompt }]);
    return now.at(-1).text;
  },
  async json(job) {
    const method = maker === "anthropic" ? {} : { method: "jsonSchema" };
    return modelOf(job)
      .withStructuredOutput({ title: "fruit", ...fruitSchema }, method)
      .invoke(job.prompt);
  },
  async abort(job) {
    const abort = new AbortController();
    try {
      for await (const piece of await modelOf(job).stream(job.prompt, { signal: abort.signal }))
        if (piece.text !== "") abort.abort();
    } catch {
      // It has left.
    }
    return "left";
  },
});
