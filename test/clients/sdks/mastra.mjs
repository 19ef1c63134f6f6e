/** Mastra's agent, with a model by an OpenAI-compatible address. */
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { instructions, readNote, serve } from "./serve.mjs";

const readTool = createTool({
  id: "read_note",
  description: "reads",
  inputSchema: z.object({ number: z.number().int() }),
  execute: async (input) => readNote((input.context ?? input).number),
});

const agentOf = ({ url, key, model }) =>
  new Agent({
    id: "reader",
    name: "reader",
    instructions,
    model: { id: `sluice/${model}`, url: `${url}/v1`, apiKey: key },
    // With `maxRetries` it would wait for the end of a day, too.
    tools: { read_note: readTool },
  });

async function ask(job, messages) {
  const result = await agentOf(job).generate(messages, { maxSteps: 6 });
  return { said: result.text, messages: result.response.messages };
}

async function stream(job, messages) {
  const result = await agentOf(job).stream(messages, { maxSteps: 6 });
  let said = "";
  for await (const piece of result.textStream) said += piece;
  if (result.error !== undefined && result.error !== null) throw result.error;
  return { said, messages: [] };
}

async function task(job, memory, how) {
  const asked = { role: "user", content: job.prompt };
  const { said, messages } = await how(job, [asked]);
  memory.messages = [asked, ...messages];
  return said;
}

serve({
  task: (job, memory) => task(job, memory, ask),
  stream: (job, memory) => task(job, {}, stream),
  busy: (job) => task(job, {}, stream),
  day: (job) => task(job, {}, stream),
  async again(job, { messages }) {
    return (await ask(job, [...messages, { role: "user", content: job.prompt }])).said;
  },
  async json(job) {
    const schema = z.object({ fruit: z.string(), grams: z.number().int() });
    const result = await agentOf(job).generate(job.prompt, {
      structuredOutput: { schema },
      toolChoice: "none",
    });
    return result.object;
  },
  async abort(job) {
    const abort = new AbortController();
    const result = await agentOf(job).stream(job.prompt, { abortSignal: abort.signal });
    try {
      for await (const piece of result.textStream) if (piece !== "") abort.abort();
    } catch {
      // It has left.
    }
    return "left";
  },
});
