/** OpenAI's SDK, responses. Its package is the first argument. */
import { fruitSchema, instructions, noteSchema, picture, readNote, serve, untilDone } from "./serve.mjs";

const { default: OpenAI } = await import(process.argv[2]);
const client = ({ url, key }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const tools = [
  {
    type: "function",
    name: "read_note",
    description: "reads",
    parameters: { ...noteSchema, additionalProperties: false },
    strict: false,
  },
];

const request = (job, input) => ({
  model: job.model,
  instructions,
  input,
  tools,
  store: false,
  include: ["reasoning.encrypted_content"],
});

async function create(job, input) {
  return client(job).responses.create(request(job, input));
}

async function stream(job, input) {
  let said = "";
  let response = null;
  for await (const event of await client(job).responses.create({ ...request(job, input), stream: true })) {
    if (event.type === "response.output_text.delta") said += event.delta;
    if (event.type === "response.completed") response = event.response;
  }
  if (!said.endsWith(response.output.findLast(({ type }) => type === "message")?.content[0].text))
    throw new Error(`the stream says ${said}`);
  return response;
}

const textOf = ({ output }) =>
  output.flatMap((item) => (item.type === "message" ? item.content.map(({ text }) => text) : [])).join("");

async function task(job, memory, ask) {
  const input = [{ role: "user", content: job.prompt }];
  memory.input = input;
  return untilDone(async () => {
    const response = await ask(job, input);
    input.push(...response.output);
    const calls = response.output.filter(({ type }) => type === "function_call");
    if (calls.length === 0) return textOf(response);
    for (const { call_id, arguments: given } of calls)
      input.push({ type: "function_call_output", call_id, output: readNote(JSON.parse(given).number) });
  });
}

serve({
  task: (job, memory) => task(job, memory, create),
  stream: (job, memory) => task(job, memory, stream),
  busy: (job, memory) => task(job, memory, stream),
  day: (job, memory) => task(job, memory, stream),
  async again(job, { input }) {
    input.push({ role: "user", content: job.prompt });
    return textOf(await create(job, input));
  },
  async json(job) {
    const response = await client(job).responses.create({
      model: job.model,
      input: job.prompt,
      store: false,
      text: { format: { type: "json_schema", name: "fruit", schema: fruitSchema, strict: true } },
    });
    return JSON.parse(textOf(response));
  },
  async picture(job) {
    const content = [
      { type: "input_text", text: job.prompt },
      { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${picture}` },
    ];
    const input = [{ role: "user", content }];
    return textOf(await client(job).responses.create({ model: job.model, input, store: false }));
  },
  async count(job) {
    const { input_tokens } = await client(job).responses.inputTokens.count({
      model: job.model,
      instructions,
      input: job.prompt,
      tools,
    });
    return `counted ${input_tokens} tokens`;
  },
  async abort(job) {
    const abort = new AbortController();
    for await (const event of await client(job).responses.create(
      { model: job.model, input: job.prompt, stream: true },
      { signal: abort.signal },
    ))
      if (event.type === "response.output_text.delta") abort.abort();
    return "left";
  },
});
