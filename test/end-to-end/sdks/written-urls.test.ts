/**
 * The official SDKs with the base URLs and credentials that people write, bodies that are
 * compressed, and requests for heads alone: real processes.
 */
import { gzipSync } from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { AzureOpenAI, toFile } from "openai";
import t from "tap";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { jsonOf } from "../../support/providers/model-api-call.js";

const { api, proxy, url } = await startSdkSite(t);

t.test("the SDKs work with /v1 in the base URL or without it, and with slashes", async (t) => {
  for (const base of ["", "/", "/v1", "/v1/", "//v1", "/v1/v1"]) {
    const openai = new OpenAI({ baseURL: url + base, apiKey: masterKey, maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "hi" }];
    const chat = await openai.chat.completions.create({ model: "gpt-test", messages });
    t.equal(chat.object, "chat.completion", `openai at ${base}`);
    t.ok((await openai.models.list()).data.length > 0, `models at ${base}`);
    const anthropic = new Anthropic({ baseURL: url + base, apiKey: masterKey, maxRetries: 0 });
    const asked = { model: "claude-test", max_tokens: 9, messages };
    t.equal((await anthropic.messages.create(asked)).type, "message", `anthropic at ${base}`);
  }
});

t.test(
  "a key in any header of a known client opens, one in the query doesn't; no log sees it",
  async (t) => {
    const body = '{"model":"gpt-test","messages":[{"role":"user","content":"hi"}]}';
    const json = { "content-type": "application/json" };
    for (const [query, headers] of [
      ["", { "api-key": masterKey }],
      ["", { "x-goog-api-key": masterKey }],
      [`?beta=true&key=${masterKey}`, { "api-key": masterKey }],
    ] as const) {
      const path = `/chat/completions${query}`;
      const sent = { method: "POST", headers: { ...json, ...headers }, body };
      t.equal((await fetch(url + path, sent)).status, 200, path);
      const { query: received, headers: passed } = api.last();
      t.equal(received, query === "" ? "" : "?beta=true");
      t.notMatch(JSON.stringify(passed), `"${masterKey}"`);
    }
    for (const path of ["/admin/rate-limits", "/v1/models"])
      t.equal((await fetch(`${url}${path}?key=${masterKey}`)).status, 401, path);
    t.notMatch(proxy.output(), `key=${masterKey}`);
  },
);

t.test("AzureOpenAI works unchanged, with models of any provider as deployments", async (t) => {
  for (const [deployment, sent] of [
    ["gpt-test", "gpt-test"],
    ["openai/gpt-test", "gpt-test"],
    [undefined, "gpt-test"],
  ] as const) {
    const azure = new AzureOpenAI({
      endpoint: url,
      apiKey: masterKey,
      apiVersion: "2024-10-21",
      maxRetries: 0,
      ...(deployment === undefined ? {} : { deployment }),
    });
    const messages = [{ role: "user" as const, content: "hi" }];
    const asked = { model: deployment ?? "gpt-test", messages };
    t.equal((await azure.chat.completions.create(asked)).object, "chat.completion");
    t.equal(jsonOf(api.last())["model"], sent);
    t.equal(api.last().query, "");
    const vectors = await azure.embeddings.create({ model: deployment ?? "gpt-test", input: "hi" });
    t.equal(vectors.data.length, 1);
    const file = await toFile(Buffer.from("ID3"), "a.mp3");
    const heard = await azure.audio.transcriptions.create({
      model: deployment ?? "gpt-test",
      file,
    });
    t.match(heard.text, /^gpt-test transcribed/);
    t.ok((await azure.models.list()).data.length > 0);
    const translated = { model: "claude-test", messages };
    if (deployment === undefined)
      t.equal((await azure.chat.completions.create(translated)).object, "chat.completion");
  }
});

t.test("a compressed body is decoded, and one that decodes to too much is refused", async (t) => {
  const post = async (body: Buffer, coding: string): Promise<number> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${masterKey}`,
        "content-type": "application/json",
        "content-encoding": coding,
      },
      body: new Uint8Array(body),
    });
    await response.text();
    return response.status;
  };
  const body = { model: "gpt-test", messages: [{ role: "user", content: "hi" }] };
  const packed = gzipSync(JSON.stringify(body));
  t.equal(await post(packed, "gzip"), 200);
  t.same(jsonOf(api.last()), body);
  t.equal(api.last().headers["content-encoding"], undefined);
  t.equal(await post(gzipSync(Buffer.alloc(100_000_000, " ")), "gzip"), 413);
  t.equal(await post(packed.subarray(0, 30), "gzip"), 400);
  t.equal(await post(packed, "compress"), 415);
});

t.test("HEAD is answered like GET, without a body", async (t) => {
  const headers = { authorization: `Bearer ${masterKey}` };
  const [head, get] = await Promise.all(
    ["HEAD", "GET"].map((method) => fetch(`${url}/v1/models`, { method, headers })),
  );
  t.equal(head!.status, 200);
  t.equal(head!.headers.get("content-length"), get!.headers.get("content-length"));
  t.equal(await head!.text(), "");
  await get!.text();
});
