/**
 * The official OpenAI SDK as a client of real processes: embeddings, audio, images, files and
 * batches.
 */
import { Readable } from "node:stream";
import OpenAI, { toFile } from "openai";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { speech, vector } from "../../support/providers/model-api-answers.js";
import { digestOf, jsonOf, reply } from "../../support/providers/model-api-call.js";

const { api, url, limit, counts } = await startSdkSite(t);
const sdk = (path = "/", headers: Record<string, string> = {}) =>
  new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: masterKey,
    maxRetries: 0,
    defaultHeaders: { "x-sluice-user-path": path, ...headers },
  });
const client = sdk();
const model = "openai/gpt-test";

t.test(
  "embeddings arrive as base64, which the SDK requests, and as numbers, and are counted",
  async (t) => {
    const added = await counts(async () => {
      const first = await client.embeddings.create({ model, input: ["hi", "ho"] });
      t.equal(jsonOf(api.last())["encoding_format"], "base64");
      t.same(
        first.data.map(({ embedding }) => embedding),
        [vector, vector],
      );
      t.same(
        (await client.embeddings.create({ model, input: "hi", encoding_format: "float" })).data[0]!
          .embedding,
        vector,
      );
    });
    t.same(added, { requests: 2, tokens: 12 });
  },
);

t.test("speech arrives with every byte unchanged", async (t) => {
  const spoken = await client.audio.speech.create({ model, voice: "alloy", input: "x".repeat(40) });
  t.equal(spoken.headers.get("content-type"), "audio/mpeg");
  t.ok(Buffer.from(await spoken.arrayBuffer()).equals(speech));
  t.match(jsonOf(api.last()), { model: "gpt-test", voice: "alloy" });
});

t.test("speech arrives while it is still being generated", async (t) => {
  api.intercept = (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "audio/mpeg" }).write(speech.subarray(0, 10));
    ending = () => response.end(speech.subarray(10));
  };
  let ending = () => {};
  const reader = (
    await client.audio.speech.create({ model, voice: "alloy", input: "hi" })
  ).body!.getReader();
  t.ok(
    Buffer.from((await reader.read()).value!).equals(speech.subarray(0, 10)),
    "before the provider has sent the rest",
  );
  ending();
  const rest: Uint8Array[] = [];
  for (let next = await reader.read(); !next.done; next = await reader.read())
    rest.push(next.value);
  t.ok(Buffer.concat(rest).equals(speech.subarray(10)));
});

t.test("recordings are transcribed as JSON, as text and as a stream, and translated", async (t) => {
  const recording = () => toFile(speech, "hello.mp3", { type: "audio/mpeg" });
  const transcript = `gpt-test transcribed hello.mp3: ${digestOf(speech)}`;
  const added = await counts(async () => {
    t.match(await client.audio.transcriptions.create({ file: await recording(), model }), {
      text: transcript,
      usage: { total_tokens: 23 },
    });
    t.equal(
      await client.audio.transcriptions.create({
        model,
        file: await recording(),
        response_format: "text",
      }),
      `${transcript}\n`,
    );
    const deltas: string[] = [];
    for await (const event of await client.audio.transcriptions.create({
      file: await recording(),
      model,
      stream: true,
    }))
      if (event.type === "transcript.text.delta") deltas.push(event.delta);
    t.equal(deltas.join(""), `${transcript} `);
    t.equal(
      (await client.audio.translations.create({ file: await recording(), model })).text,
      transcript,
    );
  });
  t.equal(
    (await client.audio.transcriptions.create({ file: await recording(), model: "smart" })).text,
    transcript,
    "targets that can't hear are passed over",
  );
  t.equal(added.requests, 4);
  t.ok(added.tokens >= 3 * 23, "three reported usage; the text is an estimate");
});

t.test("images arrive unchanged, and are counted", async (t) => {
  const added = await counts(async () => {
    const { data } = await client.images.generate({ model, prompt: "a lock on a river" });
    t.ok(Buffer.from(data![0]!.b64_json!, "base64").equals(speech));
  });
  t.same(added, { requests: 1, tokens: 15 });
});

t.test(
  "files are uploaded, listed, retrieved, read and deleted, and none of it counts",
  async (t) => {
    const added = await counts(async () => {
      const lines = Buffer.from('{"custom_id":"1"}\n'.repeat(5000));
      const file = await client.files.create({
        purpose: "batch",
        file: await toFile(Readable.from([lines.subarray(0, 9), lines.subarray(9)]), "in.jsonl"),
      });
      t.match(file, { bytes: lines.length, filename: "in.jsonl", purpose: "batch" });
      t.same(
        (await client.files.list({ purpose: "batch", limit: 3 })).data.map(({ id }) => id),
        [file.id],
      );
      t.equal(api.last().query, "?purpose=batch&limit=3");
      t.same(await client.files.retrieve(file.id), file);
      const content = await client.files.content(file.id);
      t.ok(Buffer.from(await content.arrayBuffer()).equals(lines));
      t.same(await client.files.delete(file.id), { id: file.id, object: "file", deleted: true });
      await t.rejects(client.files.content(file.id), {
        status: 404,
        type: "not_found_error",
        message: "404 No such object",
      });
    });
    t.same(added, { requests: 0, tokens: 0 });
  },
);

t.test(
  "a batch counts as one request of the user path and holds no slot; polling it is free",
  async (t) => {
    await limit("/batches", { period_seconds: 0, max_requests: 1 });
    await limit("/batches", { period_seconds: agesSeconds, max_requests: 2 });
    const batches = sdk("/batches").batches;
    const what = {
      input_file_id: "file-1",
      endpoint: "/v1/chat/completions" as const,
      completion_window: "24h" as const,
    };
    const added = await counts(async () => {
      let answer = () => {};
      const held = new Promise<void>((resolve) => {
        api.intercept = (request, response) => {
          request.resume();
          answer = () => reply(response, 200, { id: "batch_0", object: "batch" });
          resolve();
        };
      });
      const first = batches.create(what);
      await held;
      const batch = await batches.create({ ...what, metadata: { who: "me" } });
      answer();
      t.equal((await first).id, "batch_0", "two at once, though the path has one slot");
      t.match(batch, { object: "batch", status: "validating", metadata: { who: "me" } });
      t.equal((await batches.list()).data.length, 1);
      t.equal((await batches.retrieve(batch.id)).id, batch.id);
      t.equal((await batches.cancel(batch.id)).status, "cancelling");
      await t.rejects(
        batches.create(what),
        { status: 429, code: "rate_limit_exceeded" },
        "the third one is too many",
      );
    });
    t.same(added, { requests: 2, tokens: 0 });
  },
);

t.test("a request that names the provider of a stored object goes there", async (t) => {
  t.equal((await sdk("/", { "x-sluice-provider": "OpenAI" }).files.list()).data.length, 0);
  t.equal(api.last().headers["x-sluice-provider"], undefined);
  await t.rejects(sdk("/", { "x-sluice-provider": "chatty" }).files.list(), {
    status: 400,
    message: "400 X-Sluice-Provider: provider chatty does not offer files",
  });
  await t.rejects(sdk("/", { "x-sluice-provider": "nobody" }).files.list(), {
    status: 400,
    message: '400 X-Sluice-Provider: no provider "nobody" is configured',
  });
});
