/** Vercel's AI SDK, with a provider package of the same generation: `vercel.mjs 6 openai 3 chat`. */
import { fruitSchema, instructions, noteSchema, readNote, serve } from "./serve.mjs";

const [, , generation, maker, version, kind] = process.argv;
const ai = await import(`ai-${generation}`);
const made = await import(`ai-${maker}-${version}`);
globalThis.AI_SDK_LOG_WARNINGS = false;

function modelOf({ url, key, model }) {
  const provider = (maker === "openai" ? made.createOpenAI : made.createAnthropic)({
    baseURL: `${url}/v1`,
    apiKey: key,
  });
  return kind === "chat" ? provider.chat(model) : kind === "responses" ? provider.responses(model) : provider(model);
}

const settings = (job) => ({
  model: modelOf(job),
  [generation === "7" ? "instructions" : "system"]: instructions,
  stopWhen: (ai.stepCountIs ?? ai.isStepCount)(6),
  tools: {
    read_note: ai.tool({
      description: "reads",
      inputSchema: ai.jsonSchema(noteSchema),
      execute: ({ number }) => readNote(number),
    }),
  },
  // Sluice stores no responses of translated models.
  ...(kind === "responses" ? { providerOptions: { openai: { store: false } } } : {}),
});

async function generate(job, messages) {
  const result = await ai.generateText({ ...settings(job), messages });
  messages.push(...(result.responseMessages ?? result.response.messages));
  return result.text;
}

async function stream(job, messages) {
  const problems = [];
  const result = ai.streamText({
    ...settings(job),
    messages,
    onError: ({ error }) => problems.push(error),
  });
  let said = "";
  for await (const piece of result.textStream) said += piece;
  if (problems.length > 0) throw problems[0];
  messages.push(...((await result.responseMessages) ?? (await result.response).messages));
  return said;
}

async function task(job, memory, ask) {
  memory.messages = [{ role: "user", content: job.prompt }];
  return ask(job, memory.messages);
}

serve({
  task: (job, memory) => task(job, memory, generate),
  stream: (job, memory) => task(job, memory, stream),
  busy: (job, memory) => task(job, memory, stream),
  day: (job, memory) => task(job, memory, stream),
  async again(job, { messages }) {
    messages.push({ role: "user", content: job.prompt });
    return generate(job, messages);
  },
  async json(job) {
    const { object } = await ai.generateObject({
      model: modelOf(job),
      schema: ai.jsonSchema(fruitSchema),
      prompt: job.prompt,
      ...(kind === "responses" ? { providerOptions: { openai: { store: false } } } : {}),
    });
    return object;
  },
  async abort(job) {
    const abort = new AbortController();
    const result = ai.streamText({
      model: modelOf(job),
      prompt: job.prompt,
      abortSignal: abort.signal,
      onError: () => {},
    });
    for await (const piece of result.textStream) if (piece !== "") abort.abort();
    return "left";
  },
});
