/** OpenAI's agents SDK, on responses and on chat completions: `agents-js.mjs chat`. */
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { fruitSchema, instructions, noteSchema, readNote, serve } from "./serve.mjs";

setTracingDisabled(true);
const useResponses = process.argv[2] !== "chat";

const readTool = tool({
  name: "read_note",
  description: "reads",
  parameters: { ...noteSchema, additionalProperties: true },
  strict: false,
  execute: ({ number }) => readNote(number),
});

function runnerOf({ url, key }) {
  return new Runner({
    modelProvider: new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: key, useResponses }),
    tracingDisabled: true,
  });
}

const agentOf = ({ model }, more = {}) =>
  new Agent({
    name: "Reader",
    instructions,
    model,
    tools: [readTool],
    // Sluice stores no responses of translated models.
    modelSettings: useResponses
      ? { store: false, providerData: { include: ["reasoning.encrypted_content"] } }
      : {},
    ...more,
  });

async function ask(job, input) {
  const result = await runnerOf(job).run(agentOf(job), input);
  return { said: result.finalOutput, history: result.history };
}

async function stream(job, input) {
  const result = await runnerOf(job).run(agentOf(job), input, { stream: true });
  let said = "";
  for await (const piece of result.toTextStream()) said += piece;
  await result.completed;
  return { said, history: result.history };
}

async function task(job, memory, how) {
  const { said, history } = await how(job, [{ role: "user", content: job.prompt }]);
  memory.history = history;
  return said;
}

serve({
  task: (job, memory) => task(job, memory, ask),
  stream: (job, memory) => task(job, memory, stream),
  busy: (job, memory) => task(job, memory, stream),
  day: (job, memory) => task(job, memory, stream),
  async again(job, { history }) {
    const { said } = await ask(job, [...history, { role: "user", content: job.prompt }]);
    return said;
  },
  async json(job) {
    const outputType = { type: "json_schema", name: "fruit", strict: true, schema: fruitSchema };
    const result = await runnerOf(job).run(agentOf(job, { tools: [], outputType }), job.prompt);
    return result.finalOutput;
  },
  async abort(job) {
    const abort = new AbortController();
    const result = await runnerOf(job).run(agentOf(job), job.prompt, {
      stream: true,
      signal: abort.signal,
    });
    try {
      for await (const piece of result.toTextStream()) if (piece !== "") abort.abort();
    } catch {
      // It has left.
    }
    return "left";
  },
});
