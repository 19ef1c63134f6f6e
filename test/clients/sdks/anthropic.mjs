/** Anthropic's SDK. Its package is the first argument. */
import { fruitSchema, instructions, noteSchema, picture, readNote, serve, untilDone } from "./serve.mjs";

const { default: Anthropic } = await import(process.argv[2]);
const isOld = process.argv[2].endsWith("-0");
const client = ({ url, key }) => new Anthropic({ baseURL: url, apiKey: key });
const tools = [{ name: "read_note", description: "reads", input_schema: noteSchema }];

/** Thinking as each generation of models has it; others are asked as the newest ones. */
function thinking(model) {
  if (isOld) return {};
  return /4-5/.test(model)
    ? { thinking: { type: "enabled", budget_tokens: 2000 } }
    : { thinking: { type: "adaptive" } };
}

const request = (job, messages) => ({
  model: job.model,
  max_tokens: 8000,
  system: [{ type: "text", text: instructions, cache_control: { type: "ephemeral" } }],
  messages,
  tools,
  ...thinking(job.model),
});

const create = (job, messages) => client(job).messages.create(request(job, messages));
const stream = (job, messages) => client(job).messages.stream(request(job, messages)).finalMessage();
const textOf = ({ content }) => content.map(({ text }) => text ?? "").join("");

async function task(job, memory, ask) {
  const messages = [{ role: "user", content: job.prompt }];
  memory.messages = messages;
  return untilDone(async () => {
    const message = await ask(job, messages);
    messages.push({ role: "assistant", content: message.content });
    const calls = message.content.filter(({ type }) => type === "tool_use");
    if (calls.length === 0) return textOf(message);
    messages.push({
      role: "user",
      content: calls.map(({ id, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: readNote(input.number),
      })),
    });
  });
}

serve({
  task: (job, memory) => task(job, memory, create),
  stream: (job, memory) => task(job, memory, stream),
  busy: (job, memory) => task(job, memory, stream),
  day: (job, memory) => task(job, memory, stream),
  async again(job, { messages }) {
    messages.push({ role: "user", content: job.prompt });
    return textOf(await create(job, messages));
  },
  async json(job) {
    const message = await client(job).messages.create({
      model: job.model,
      max_tokens: 1000,
      messages: [{ role: "user", content: job.prompt }],
      output_config: { format: { type: "json_schema", schema: { ...fruitSchema, properties: { fruit: { type: "string" }, grams: { type: "integer" } } } } },
    });
    return JSON.parse(textOf(message));
  },
  async picture(job) {
    const source = { type: "base64", media_type: "image/png", data: picture };
    const message = await client(job).messages.create({
      model: job.model,
      max_tokens: 1000,
      messages: [
        { role: "user", content: [{ type: "image", source }, { type: "text", text: job.prompt }] },
      ],
    });
    return textOf(message);
  },
  async count(job) {
    const { max_tokens: _, ...counted } = request(job, [{ role: "user", content: job.prompt }]);
    const { input_tokens } = await client(job).messages.countTokens(counted);
    return `counted ${input_tokens} tokens`;
  },
  async abort(job) {
    const streamed = client(job).messages.stream({
      model: job.model,
      max_tokens: 1000,
      messages: [{ role: "user", content: job.prompt }],
    });
    streamed.on("text", () => streamed.abort());
    await streamed.done().catch(() => {});
    return "left";
  },
});
