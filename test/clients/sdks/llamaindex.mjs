/** LlamaIndex's agent on its OpenAI package. */
import { OpenAI } from "@llamaindex/openai";
import { agent } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import { instructions, noteSchema, readNote, serve } from "./serve.mjs";

const modelOf = ({ url, key, model }) =>
  new OpenAI({ model, apiKey: key, baseURL: `${url}/v1`, supportToolCall: true });

const readTool = tool({
  name: "read_note",
  description: "reads",
  parameters: noteSchema,
  execute: ({ number }) => readNote(number),
});

async function ask(job, chatHistory) {
  const workflow = agent({ llm: modelOf(job), tools: [readTool], systemPrompt: instructions });
  const result = await workflow.run(job.prompt, { chatHistory });
  return result.data;
}

serve({
  async task(job, memory) {
    const { result, state } = await ask(job, []);
    memory.history = await state.memory.getLLM();
    return result;
  },
  async again(job, { history }) {
    return (await ask(job, history)).result;
  },
  busy: async (job) => (await ask(job, [])).result,
  day: async (job) => (await ask(job, [])).result,
});
