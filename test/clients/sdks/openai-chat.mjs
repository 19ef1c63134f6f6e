/** OpenAI's SDK, chat completions. Its package is the first argument. */
import { fruitSchema, instructions, noteSchema, picture, readNote, serve, untilDone } from "./serve.mjs";

const { default: OpenAI } = await import(process.argv[2]);
const client = ({ url, key }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const tools = [
  { type: "function", function: { name: "read_note", description: "reads", parameters: noteSchema } },
];

async function complete(job, messages) {
  const { choices } = await client(job).chat.completions.create({ model: job.model, messages, tools });
  return choices[0].message;
}

/** Puts the pieces together, as its users do. */
async function stream(job, messages) {
  const message = { role: "assistant", content: "" };
  let usage = null;
  for await (const chunk of await client(job).chat.completions.create({
    model: job.model,
    messages,
    tools,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    usage = chunk.usage ?? usage;
    const { content, reasoning_content: reasoning, tool_calls: calls } = chunk.choices[0]?.delta ?? {};
    message.content += content ?? "";
    if (typeof reasoning === "string")
      message.reasoning_content = (message.reasoning_content ?? "") + reasoning;
    for (const { index, id, function: called, ...rest } of calls ?? []) {
      message.tool_calls ??= [];
      message.tool_calls[index] ??= { ...rest, id, type: "function", function: { name: called.name, arguments: "" } };
      message.tool_calls[index].function.arguments += called.arguments ?? "";
    }
  }
  if (usage === null) throw new Error("the stream has no usage");
  return message;
}

async function task(job, memory, ask) {
  const messages = [
    { role: "system", content: instructions },
    { role: "user", content: job.prompt },
  ];
  memory.messages = messages;
  return untilDone(async () => {
    const message = await ask(job, messages);
    messages.push(message);
    if (message.tool_calls === undefined) return message.content;
    for (const { id, function: called } of message.tool_calls)
      messages.push({
        role: "tool",
        tool_call_id: id,
        content: readNote(JSON.parse(called.arguments).number),
      });
  });
}

serve({
  task: (job, memory) => task(job, memory, complete),
  stream: (job, memory) => task(job, memory, stream),
  busy: (job, memory) => task(job, memory, stream),
  day: (job, memory) => task(job, memory, stream),
  async again(job, { messages }) {
    messages.push({ role: "user", content: job.prompt });
    return (await complete(job, messages)).content;
  },
  async json(job) {
    const { choices } = await client(job).chat.completions.create({
      model: job.model,
      messages: [{ role: "user", content: job.prompt }],
      response_format: {
        type: "json_schema",
        json_schema: { name: "fruit", strict: true, schema: fruitSchema },
      },
    });
    return JSON.parse(choices[0].message.content);
  },
  async picture(job) {
    const url = `data:image/png;base64,${picture}`;
    const content = [
      { type: "text", text: job.prompt },
      { type: "image_url", image_url: { url } },
    ];
    const messages = [{ role: "user", content }];
    const { choices } = await client(job).chat.completions.create({ model: job.model, messages });
    return choices[0].message.content;
  },
  async abort(job) {
    const abort = new AbortController();
    for await (const chunk of await client(job).chat.completions.create(
      { model: job.model, messages: [{ role: "user", content: job.prompt }], stream: true },
      { signal: abort.signal },
    ))
      if (chunk.choices[0]?.delta.content) abort.abort();
    return "left";
  },
});
