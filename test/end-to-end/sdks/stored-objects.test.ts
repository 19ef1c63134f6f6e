/**
 * What a provider keeps belongs to the path that has made it: two tenants with keys of their own,
 * and the operator, on one account, with the official SDK and real processes.
 */
import OpenAI, { toFile } from "openai";
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import { startModelApi } from "../../support/providers/model-api.js";
import { openaiKey } from "../../support/providers/model-api-call.js";

const api = await startModelApi();
t.teardown(() => api.close());
const site = makeSite(
  t,
  `
providers:
  openai: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [gpt-test], retries: 0 }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
const daemon = await site.startDaemon();
const { ready: url } = await site.startProxy();

const sdk = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

async function tenant(path: string): Promise<OpenAI> {
  const bearer = { authorization: `Bearer ${masterKey}` };
  const { body } = await admin(url, "POST /auth-keys", { name: path, user_path: path }, bearer);
  return sdk((body as unknown as { readonly value: string }).value);
}

const [ann, bob] = [await tenant("/ann"), await tenant("/bob")];
const operator = sdk(masterKey);
const file = () => toFile(Buffer.from("{}"), "a.jsonl");
const missing = { status: 404, type: "not_found_error" };
const failureOf = (asked: PromiseLike<unknown>): PromiseLike<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

async function all(list: AsyncIterable<{ readonly id: string }>): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

t.test("another path's key neither lists nor reads nor deletes a file or a batch", async (t) => {
  const anns = await ann.files.create({ file: await file(), purpose: "batch" });
  const bobs = await bob.files.create({ file: await file(), purpose: "batch" });
  t.same(await all(ann.files.list()), [anns.id]);
  t.same(await all(bob.files.list()), [bobs.id]);
  t.same((await all(operator.files.list())).length, 2, "the master key sees all");
  for (const asked of [
    bob.files.retrieve(anns.id),
    bob.files.content(anns.id),
    bob.files.delete(anns.id),
  ])
    t.match(await failureOf(asked), missing);
  t.equal((await ann.files.retrieve(anns.id)).id, anns.id);
  t.equal((await operator.files.retrieve(anns.id)).id, anns.id);
  const work = { endpoint: "/v1/embeddings", completion_window: "24h" } as const;
  t.match(await failureOf(bob.batches.create({ ...work, input_file_id: anns.id })), missing);
  const batch = await ann.batches.create({ ...work, input_file_id: anns.id });
  t.match(await failureOf(bob.batches.retrieve(batch.id)), missing);
  t.match(await failureOf(bob.batches.cancel(batch.id)), missing);
  t.same([await all(ann.batches.list()), await all(bob.batches.list())], [[batch.id], []]);
  t.equal((await ann.batches.cancel(batch.id)).status, "cancelling");
});

t.test("a response is read and continued by its own path alone, streamed or not", async (t) => {
  for (const stream of [false, true]) {
    const asked = { model: "gpt-test", input: "hi" };
    let id = "";
    if (stream)
      for await (const event of await ann.responses.create({ ...asked, stream: true })) {
        if (event.type === "response.created") id = event.response.id;
      }
    else id = (await ann.responses.create(asked)).id;
    t.equal((await ann.responses.retrieve(id)).id, id);
    t.match(await failureOf(bob.responses.retrieve(id)), missing);
    t.match(await failureOf(bob.responses.delete(id)), missing);
    const continued = { ...asked, previous_response_id: id };
    t.match(await failureOf(bob.responses.create(continued)), missing);
    t.ok(await ann.responses.create(continued));
    await operator.responses.delete(id);
  }
});

t.test(
  "a batch whose lines name another path's response isn't submitted, whatever its file was for",
  async (t) => {
    const { id } = await ann.responses.create({ model: "gpt-test", input: "hi" });
    const line = { custom_id: "1", body: { model: "gpt-test", previous_response_id: id } };
    const lines = Buffer.from(`{}\n${JSON.stringify(line)}\n`);
    const submitted = async (by: OpenAI, purpose: "batch" | "user_data") => {
      const file = await by.files.create({ file: await toFile(lines, "a.jsonl"), purpose });
      const work = { endpoint: "/v1/responses", completion_window: "24h" } as const;
      return by.batches.create({ ...work, input_file_id: file.id });
    };
    for (const purpose of ["batch", "user_data"] as const)
      t.match(await failureOf(submitted(bob, purpose)), {
        ...missing,
        message: new RegExp(`line 2 of file-\\d+: there is no ${id} of this user path`),
        param: "input_file_id",
      });
    t.same(await all(bob.batches.list()), []);
    t.match(await submitted(ann, "batch"), { object: "batch" });
    t.match(await submitted(operator, "batch"), { object: "batch" });
  },
);

t.test("who has made what survives a crash of the daemon", async (t) => {
  const { id } = await ann.files.create({ file: await file(), purpose: "batch" });
  await daemon.kill("SIGKILL");
  await site.startDaemon();
  await until(
    async () => (await fetch(`${url}/ready`)).status,
    (status) => status === 200,
  );
  t.equal((await ann.files.retrieve(id)).id, id);
  t.match(await failureOf(bob.files.retrieve(id)), missing);
});
