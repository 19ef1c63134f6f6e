/** Google's SDK. Its package is the first argument. */
import { fruitSchema, instructions, noteSchema, picture, readNote, serve, untilDone } from "./serve.mjs";

const { GoogleGenAI } = await import(process.argv[2]);
const client = ({ url, key }) =>
  new GoogleGenAI({
    apiKey: key,
    httpOptions: { baseUrl: url, retryOptions: { attempts: 3, initialDelay: 0.5 } },
  });
const declaration = { name: "read_note", description: "reads", parametersJsonSchema: noteSchema };
const config = {
  systemInstruction: instructions,
  tools: [{ functionDeclarations: [declaration] }],
  thinkingConfig: { includeThoughts: true },
};

const ask = async (job, contents) => {
  const answer = await client(job).models.generateContent({ model: job.model, contents, config });
  return answer.candidates[0].content.parts;
};

async function askStream(job, contents) {
  const parts = [];
  let usage;
  for await (const chunk of await client(job).models.generateContentStream({
    model: job.model,
    contents,
    config,
  })) {
    parts.push(...chunk.candidates[0].content.parts);
    usage = chunk.usageMetadata ?? usage;
  }
  if (usage === undefined) throw new Error("the stream has no usage");
  return parts;
}

const textOf = (parts) => parts.filter(({ thought }) => !thought).map(({ text }) => text ?? "").join("");

async function task(job, memory, answer) {
  const contents = [{ role: "user", parts: [{ text: job.prompt }] }];
  memory.contents = contents;
  return untilDone(async () => {
    const parts = await answer(job, contents);
    contents.push({ role: "model", parts });
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    if (calls.length === 0) return textOf(parts);
    contents.push({
      role: "user",
      parts: calls.map(({ id, name, args }) => ({
        functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: readNote(args.number) } },
      })),
    });
  });
}

serve({
  task: (job, memory) => task(job, memory, ask),
  stream: (job, memory) => task(job, memory, askStream),
  busy: (job, memory) => task(job, memory, askStream),
  day: (job, memory) => task(job, memory, askStream),
  async again(job, { contents }) {
    contents.push({ role: "user", parts: [{ text: job.prompt }] });
    return textOf(await ask(job, contents));
  },
  async json(job) {
    const answer = await client(job).models.generateContent({
      model: job.model,
      contents: job.prompt,
      config: { responseMimeType: "application/json", responseJsonSchema: fruitSchema },
    });
    return JSON.parse(answer.text);
  },
  async picture(job) {
    const inlineData = { mimeType: "image/png", data: picture };
    const answer = await client(job).models.generateContent({
      model: job.model,
      contents: [{ role: "user", parts: [{ inlineData }, { text: job.prompt }] }],
    });
    return answer.text;
  },
  async count(job) {
    const { totalTokens } = await client(job).models.countTokens({
      model: job.model,
      contents: job.prompt,
    });
    return `counted ${totalTokens} tokens`;
  },
  async abort(job) {
    const abort = new AbortController();
    try {
      for await (const chunk of await client(job).models.generateContentStream({
        model: job.model,
        contents: job.prompt,
        config: { abortSignal: abort.signal },
      }))
        if (chunk.text) abort.abort();
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    }
    return "left";
  },
});
