/**
 * Gemini's Interactions API through real processes: each call as `@google/genai` sends it, and by
 * that SDK itself where the clients of `test/clients` are installed.
 */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

type Json = Readonly<Record<string, unknown>>;

const usage = {
  total_input_tokens: 7,
  total_cached_tokens: 2,
  total_output_tokens: 20,
  total_thought_tokens: 22,
  total_tool_use_tokens: 1,
  total_tokens: 50,
};

/** What the provider keeps, by id. */
const kept = new Map<string, { status: string; usage: Json | null; names: Json }>();
const seen: { what: string; key: unknown; body: Json }[] = [];

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => answer(request, response, Buffer.concat(pieces).toString()));
});

function interaction(id: string): Json {
  const { names, status, usage: used } = kept.get(id)!;
  const steps = [{ type: "model_output", content: [{ type: "text", text: "hi" }] }];
  return { id, status, ...names, ...(used === null ? {} : { usage: used, steps }) };
}

function replyStream(response: ServerResponse, id: string, isCut: boolean): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event: Json): void =>
    void response.write(
      `event: ${String(event["event_type"])}\ndata: ${JSON.stringify(event)}\n\n`,
    );
  const { names } = kept.get(id)!;
  const begun = { id, status: "in_progress", ...names };
  send({ event_type: "interaction.created", event_id: "e1", interaction: begun });
  const step = { type: "model_output", content: [] };
  send({ event_type: "step.start", event_id: "e2", index: 0, step });
  const delta = { type: "text", text: "hi" };
  send({ event_type: "step.delta", event_id: "e3", index: 0, delta });
  if (isCut) return;
  send({ event_type: "interaction.completed", event_id: "e4", interaction: interaction(id) });
  response.end("event: done\ndata: [DONE]\n\n");
}

function answer({ method, url, headers }: IncomingMessage, response: ServerResponse, text: string) {
  const body = (text.startsWith("{") ? JSON.parse(text) : {}) as Json;
  seen.push({ what: `${method} ${url}`, key: headers["x-goog-api-key"], body });
  const reply = (status: number, value: unknown): void =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(value));
  const [, id, cancels] =
    /^\/v1beta\/interactions(?:\/([^/?]+)(\/cancel)?)?(?:\?|$)/.exec(url!) ?? [];
  if (method === "POST" && id === undefined) {
    const made = `v1_${kept.size + 1}`;
    const isBackground = body["background"] === true;
    const { model, agent } = body;
    const names = agent === undefined ? { model } : { agent };
    const status = isBackground ? "in_progress" : "completed";
    kept.set(made, { status, usage: isBackground ? null : usage, names });
    return body["stream"] === true
      ? replyStream(response, made, isBackground)
      : reply(200, interaction(made));
  }
  const found = id === undefined ? undefined : kept.get(id);
  if (found === undefined)
    return reply(404, { error: { code: 404, message: "not found", status: "NOT_FOUND" } });
  if (method === "DELETE") return reply(200, {});
  if (cancels !== undefined) Object.assign(found, { status: "cancelled", usage });
  if (url!.includes("stream=true")) return replyStream(response, id!, false);
  reply(200, interaction(id!));
}

server.listen(0, "127.0.0.1");
await once(server, "listening");
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
usage: { background_lookup_seconds: 0 }
server: { passthrough: all }
providers:
  gemini: { type: gemini, base_url: "${origin}/v1beta/openai", api_key: gemini-secret, models: [gemini-test], retries: 0 }
virtual_models:
  smart: { targets: [{ model: gemini/gemini-test }] }
prices:
  gemini/gemini-test: { input: 1, output: 10 }
rate_limits:
  user_paths: [{ path: /limited, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }]
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

async function tenant(path: string): Promise<string> {
  const bearer = { authorization: `Bearer ${masterKey}` };
  const { body } = await admin(url, "POST /auth-keys", { name: path, user_path: path }, bearer);
  return (body as unknown as { readonly value: string }).value;
}

async function call(
  key: string,
  what: string,
  body?: Json,
): Promise<{ status: number; text: string; json: Json }> {
  const [method, path] = what.split(" ") as [string, string];
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "x-goog-api-key": key, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : {} };
}

async function used(key: string): Promise<Json> {
  const response = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { usage: Json }).usage;
}

const counted = (key: string, total: number): Promise<Json> =>
  until(
    () => used(key),
    (usage) => usage["total_tokens"] === total,
  );

const creation = "POST /v1beta/interactions";

t.test(
  "an interaction reaches Google's API unchanged and is metered, whole and streamed",
  async (t) => {
    const key = await tenant("/metered");
    const body = {
      model: "gemini-test",
      input: "hi",
      generation_config: { thinking_level: "low" },
    };
    const whole = await call(key, creation, body);
    t.match(whole, { status: 200, json: { id: "v1_1", status: "completed", usage } });
    t.match(seen.at(-1), { what: creation, key: "gemini-secret", body });
    t.match(await counted(key, 50), {
      total_input_tokens: 8,
      total_output_tokens: 42,
      cached_input_tokens: 2,
      total_cost: 0.000428,
    });
    const streamed = await call(key, creation, { ...body, model: "smart", stream: true });
    t.match(streamed.text, /interaction\.completed[^]*\[DONE\]/);
    t.match(seen.at(-1)!.body, { model: "gemini-test", stream: true });
    await counted(key, 100);
    for (const path of ["/v1/interactions", "/v1alpha/interactions/", "//v1beta/interactions"])
      t.equal((await call(key, `POST ${path}`, body)).status, 200, path);
    await counted(key, 250);
    const passed = await call(key, "POST /p/gemini/v1beta/interactions", body);
    t.equal(passed.status, 200);
    await counted(key, 300);
  },
);

t.test("an agent needs no model, with its provider's name and without it", async (t) => {
  const key = await tenant("/agents");
  for (const agent of ["deep-research-preview", "gemini/deep-research-preview"]) {
    t.equal((await call(key, creation, { agent, input: "why?" })).status, 200);
    t.same(seen.at(-1)!.body, { agent: "deep-research-preview", input: "why?" });
  }
  t.match(await counted(key, 100), { total_requests: 2 });
});

t.test("limits apply to the creation; errors have Google's form", async (t) => {
  const key = await tenant("/limited");
  const body = { model: "gemini-test", input: "hi" };
  const { json } = await call(key, creation, body);
  t.match(await call(key, creation, body), {
    status: 429,
    json: { error: { code: 429, status: "RESOURCE_EXHAUSTED" } },
  });
  t.equal((await call(key, `GET /v1beta/interactions/${String(json["id"])}`)).status, 200);
  t.match(await call(key, creation, { input: "hi" }), {
    status: 400,
    json: { error: { code: 400, message: /model/ } },
  });
});

t.test("another path neither reads, continues, cancels nor deletes an interaction", async (t) => {
  const [ann, bob] = [await tenant("/ann"), await tenant("/bob")];
  for (const stream of [false, true]) {
    const made = await call(ann, creation, { model: "gemini-test", input: "hi", stream });
    const id = /"id":"(v1_\d+)"/.exec(made.text)![1]!;
    const at = `/v1beta/interactions/${id}`;
    const continued = { model: "gemini-test", input: "and?", previous_interaction_id: id };
    const asks: readonly (readonly [string, Json?])[] = [
      [`GET ${at}`],
      [`GET ${at}?stream=true&last_event_id=e1`],
      [`POST ${at}/cancel`],
      [`DELETE ${at}`],
      [creation, continued],
    ];
    const before = seen.length;
    for (const [what, body] of asks)
      t.match(await call(bob, what, body), {
        status: 404,
        json: { error: { status: "NOT_FOUND" } },
      });
    t.equal(seen.length, before, "none of them was sent");
    for (const [what, body] of asks) t.equal((await call(ann, what, body)).status, 200, what);
    t.same(
      seen.slice(before).map(({ what }) => what),
      asks.map(([what]) => what),
    );
  }
});

t.test("a background interaction is charged once, when an answer shows its end", async (t) => {
  for (const [path, ask] of [
    ["/got", (id: string, key: string) => call(key, `GET /v1beta/interactions/${id}`)],
    [
      "/resumed",
      (id: string, key: string) =>
        call(key, `GET /v1beta/interactions/${id}?stream=true&last_event_id=e3`),
    ],
    [
      "/cancelled",
      (id: string, key: string) => call(key, `POST /v1beta/interactions/${id}/cancel`),
    ],
    ["/deleted", (id: string, key: string) => call(key, `DELETE /v1beta/interactions/${id}`)],
    ["/passed", (id: string, key: string) => call(key, `GET /p/gemini/v1beta/interactions/${id}`)],
  ] as const) {
    const key = await tenant(path);
    const made = await call(key, creation, {
      agent: "deep-research",
      input: "hi",
      background: true,
    });
    const id = String(made.json["id"]);
    t.match(await used(key), { total_requests: 1, unknown_calls: 1 });
    Object.assign(kept.get(id)!, { status: "completed", usage });
    for (let i = 0; i < 2; i++) await ask(id, key);
    t.match(await counted(key, 50), { total_output_tokens: 42, unknown_calls: undefined }, path);
  }
});

t.test("a background stream that the client leaves is charged by its end, too", async (t) => {
  const key = await tenant("/left");
  const leaving = new AbortController();
  const stream = await fetch(`${url}/v1beta/interactions`, {
    method: "POST",
    headers: { "x-goog-api-key": key },
    body: JSON.stringify({ model: "gemini-test", input: "hi", stream: true, background: true }),
    signal: leaving.signal,
  });
  await stream.body!.getReader().read();
  const id = [...kept.keys()].at(-1)!;
  leaving.abort();
  await until(
    () => used(key),
    (usage) => usage["unknown_calls"] === 1,
  );
  Object.assign(kept.get(id)!, { status: "completed", usage });
  await call(key, `GET /v1beta/interactions/${id}`);
  t.match(await counted(key, 50), { total_output_tokens: 42, unknown_calls: undefined });
});

const sdk = new URL("../../../../test/clients/node_modules/genai-3/", import.meta.url);

t.test("Google's SDK", { skip: !existsSync(sdk) && "test/clients is not installed" }, async (t) => {
  const { exports: entries } = JSON.parse(readFileSync(new URL("package.json", sdk), "utf8")) as {
    exports: { ".": { node: { import: string } } };
  };
  const { GoogleGenAI } = await import(
    pathToFileURL(new URL(entries["."].node.import, sdk).pathname).href
  );
  const key = await tenant("/sdk");
  const { interactions } = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
  const asked = { model: "gemini-test", input: "hi" };
  const first = await interactions.create(asked);
  t.match(first, { status: "completed", usage });
  const types: string[] = [];
  for await (const { event_type: type } of await interactions.create({ ...asked, stream: true }))
    types.push(type);
  t.same(types, ["interaction.created", "step.start", "step.delta", "interaction.completed"]);
  const research = await interactions.create({
    agent: "deep-research",
    input: "hi",
    background: true,
  });
  t.match(await interactions.get(research.id), { status: "in_progress" });
  t.match(await interactions.cancel(research.id), { status: "cancelled" });
  await interactions.delete(first.id);
  const failure: unknown = await interactions.get("v1_unknown").catch((error: unknown) => error);
  t.match(failure, { status: 404 });
  t.match(await counted(key, 150), { total_requests: 3 });
});
