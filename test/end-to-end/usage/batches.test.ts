/**
 * Batches through real processes: what their results say is charged to the path that submitted
 * them, at the rates of batches, once, whoever reads them and however often, also over crashes; and
 * what no client reads is looked up.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

type Json = Readonly<Record<string, unknown>>;

/** What the provider keeps, by id: batches as it answers with them, and files. */
const batches = new Map<string, Json>();
const files = new Map<string, string>();
/** Files whose download breaks off, and how often. */
const cuts = new Map<string, number>();
/** Files whose download waits. */
const holds = new Map<string, Promise<void>>();
const calls: string[] = [];
let made = 0;

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => answer(request, response, Buffer.concat(pieces).toString()));
});

function answer(
  { method, url: raw = "" }: IncomingMessage,
  response: ServerResponse,
  body: string,
) {
  const url = decodeURIComponent(raw);
  calls.push(`${method} ${url}`);
  const send = (status: number, value: unknown): void =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(value));
  const [, fileId] = /\/files\/([\w-]+)(?:\/content|:download)/.exec(url) ?? [];
  const [, resultsOf] = /\/batches\/([\w-]+)\/results/.exec(url) ?? [];
  const file = fileId ?? resultsOf;
  if (file !== undefined) {
    const text = files.get(file);
    if (text === undefined) return send(404, { error: { message: "no such file" } });
    response.writeHead(200, { "content-type": "application/octet-stream" });
    const left = cuts.get(file) ?? 0;
    const held = holds.get(file);
    if (held !== undefined) return void held.then(() => response.end(text));
    if (left === 0) return response.end(text);
    cuts.set(file, left - 1);
    response.write(text.slice(0, text.length / 2));
    return setTimeout(() => response.destroy(), 50);
  }
  if (method === "POST" && /\/files$/.test(url)) {
    const id = `file-${++made}`;
    files.set(id, /\{.*\}/s.exec(body)?.[0] ?? "{}");
    return send(200, { id, object: "file", purpose: "batch" });
  }
  if (method === "POST" && /\/batches$|:batchGenerateContent$/.test(url)) {
    const id = `batch_${++made}`;
    const batch = url.includes("/v1beta/")
      ? { name: `batches/${id}`, metadata: { state: "BATCH_STATE_PENDING" } }
      : url.includes("/messages/")
        ? { id, type: "message_batch", processing_status: "in_progress" }
        : { id, object: "batch", status: "validating" };
    batches.set(id, batch);
    return send(200, batch);
  }
  const [, objectId] = /\/files\/([\w-]+)$/.exec(url) ?? [];
  if (objectId !== undefined) {
    if (method === "DELETE") files.delete(objectId);
    const purpose = objectId.startsWith("file-out-") ? "batch_output" : "batch";
    return send(200, { id: objectId, object: "file", purpose });
  }
  const [, id] = /\/batches\/([\w-]+)/.exec(url) ?? [];
  const found = id === undefined ? undefined : batches.get(id);
  if (found === undefined) return send(404, { error: { message: "no such batch" } });
  if (method === "DELETE") batches.delete(id!);
  send(200, found);
}

server.listen(0, "127.0.0.1");
await once(server, "listening");
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const master = "sk-batches-0123456789abcdef";
const configured = (usage: string): string => `
limiter: { deadline_ms: 30000 }
server: { passthrough: all }
usage: { ${usage} }
providers:
  openai: { type: openai, base_url: "${origin}/v1", api_key: none, models: ["*"], retries: 0 }
  anthropic: { type: anthropic, base_url: "${origin}/v1", api_key: none, models: ["*"], retries: 0 }
  gemini: { type: gemini, base_url: "${origin}/v1beta/openai", api_key: none, models: ["*"], retries: 0 }
prices:
  openai/gpt-b: { input: 2, output: 10, service_tiers: { batch: 0.5 } }
  anthropic/claude-b: { input: 4, output: 20, service_tiers: { batch: 0.5 } }
  anthropic/claude-c: { input: 8, output: 40, service_tiers: { batch: 0.5 } }
  gemini/gemini-b: { input: 2, output: 4, service_tiers: { batch: 0.5 } }
budgets:
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, amount: 1000 }] }]
`;
const environment = { SLUICE_MASTER_KEY: master };
const site = makeSite(t, configured("background_lookup_seconds: 0"), environment);
let daemon = await site.startDaemon();
let proxy = await site.startProxy();
const byMaster = { authorization: `Bearer ${master}` };

interface Key {
  readonly id: string;
  readonly headers: Record<string, string>;
}

async function issue(path: string, url = proxy.ready): Promise<Key> {
  const { body } = await admin(url, "POST /auth-keys", { user_path: path }, byMaster);
  const authorization = `Bearer ${String(body["value"])}`;
  return { id: String(body["id"]), headers: { authorization, "content-type": "application/json" } };
}

async function submit(key: Key, url = proxy.ready, prefix = ""): Promise<string> {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob(['{"custom_id":"1","body":{"model":"gpt-b"}}']), "in.jsonl");
  const { authorization = "" } = key.headers;
  const uploaded = await fetch(`${url}${prefix}/v1/files`, {
    method: "POST",
    headers: { authorization },
    body: form,
  });
  const { id } = (await uploaded.json()) as { id: string };
  const response = await fetch(`${url}${prefix}/v1/batches`, {
    method: "POST",
    headers: key.headers,
    body: JSON.stringify({
      input_file_id: id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    }),
  });
  t.equal(response.status, 200);
  return ((await response.json()) as { id: string }).id;
}

const lineOf = (model: string, input: number, output: number, status = 200): string =>
  `${JSON.stringify({
    id: "batch_req_1",
    custom_id: "1",
    response: {
      status_code: status,
      body: {
        object: "chat.completion",
        model,
        choices: [{ message: { content: 'a "usage": {"prompt_tokens": 7}' } }],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
        service_tier: "default",
      },
    },
    error: null,
  })}\n`;

/** Ends a batch of OpenAI's; null without results. */
function end(id: string, results: string | null, status = "completed", more: Json = {}): string {
  const file = `file-out-${id}`;
  if (results !== null) files.set(file, results);
  const output = results === null ? null : file;
  batches.set(id, { id, object: "batch", status, output_file_id: output, ...more });
  return file;
}

const get = async (path: string, headers: Record<string, string>, url = proxy.ready) => {
  const response = await fetch(`${url}${path}`, { headers });
  return { status: response.status, text: await response.text() };
};

const remove = async (path: string, headers: Record<string, string>, url = proxy.ready) => {
  const response = await fetch(`${url}${path}`, { method: "DELETE", headers });
  return {
    status: response.status,
    wait: response.headers.get("retry-after"),
    text: await response.text(),
  };
};

interface Usage {
  /** Absent while the daemon is away. */
  readonly usage?: Json;
  readonly groups: readonly Json[];
}

const usageOf = async (path: string, url = proxy.ready): Promise<Usage> =>
  (await admin(url, `GET /usage?user_path=${path}&by=model`, undefined, byMaster))
    .body as unknown as Usage;

const settled = (path: string, total: number, url = proxy.ready): Promise<Usage> =>
  until(
    () => usageOf(path, url),
    ({ usage }) => usage?.["total_tokens"] === total,
  );

const spentAt = async (headers: Record<string, string>): Promise<number> => {
  const { text } = await get("/v1/usage", headers);
  return (JSON.parse(text) as { budgets: { spent: number }[] }).budgets[0]!.spent;
};

t.test("results are charged to who submitted the batch, once, whoever reads them", async (t) => {
  const ann = await issue("/ann");
  const id = await submit(ann);
  const before = await usageOf("/ann");
  t.match(before.usage, { total_requests: 1, total_tokens: 0, total_cost: 0 });
  await get(`/v1/batches/${id}`, ann.headers);
  t.match((await usageOf("/ann")).usage, { total_tokens: 0 }, "it runs");
  const spent = await spentAt(ann.headers);
  const results =
    lineOf("gpt-b", 1000, 500) + lineOf("gpt-b", 1000, 0) + lineOf("gpt-b", 9, 9, 429);
  const file = end(id, results);
  await Promise.all([
    get(`/v1/batches/${id}`, byMaster),
    get(`/v1/batches/${id}`, ann.headers),
    get(`/v1/files/${file}/content`, { ...byMaster, range: "bytes=0-99" }),
  ]);
  const after = await settled("/ann", 2500);
  // Half of $2 and $10 a million.
  t.match(after.usage, { total_requests: 1, unpriced_requests: 0, total_cost: 0.0045 });
  t.match(
    after.groups.find(({ key }) => key === "openai/gpt-b"),
    {
      total_tokens: 2500,
      total_cost: 0.0045,
    },
  );
  t.equal((await get(`/v1/files/${file}/content`, ann.headers)).text, results);
  await get(`/v1/batches/${id}`, ann.headers);
  await get(`/v1/batches/${id}`, byMaster);
  const again = await usageOf("/ann");
  t.same(again.usage, after.usage, "and never again");
  t.equal(Math.round(((await spentAt(ann.headers)) - spent) * 1e6), 4500, "budgets, too");
  t.match((await usageOf("/")).usage, { total_tokens: 2500 }, "no other path is charged");
  const records = await admin(
    proxy.ready,
    "GET /usage/records?user_path=/ann",
    undefined,
    byMaster,
  );
  t.match(
    (records.body["records"] as Json[]).find(({ total_tokens: total }) => total === 2500),
    {
      key_id: ann.id,
      endpoint: "/v1/batches",
      model: "gpt-b",
      service_tier: "batch",
      status: 102,
      cost_source: "operator",
      estimated: false,
    },
  );
});

t.test("Anthropic's batches have several models, and a result may have failed", async (t) => {
  const bob = await issue("/bob");
  const submitted = await fetch(`${proxy.ready}/v1/messages/batches`, {
    method: "POST",
    headers: { ...bob.headers, "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ requests: [{ custom_id: "1", params: { model: "claude-b" } }] }),
  });
  t.equal(submitted.status, 200);
  const { id } = (await submitted.json()) as { id: string };
  const result = (model: string, input: number, output: number): string =>
    `${JSON.stringify({
      custom_id: "1",
      result: {
        type: "succeeded",
        message: {
          type: "message",
          model,
          usage: {
            input_tokens: input,
            cache_read_input_tokens: 0,
            output_tokens: output,
            service_tier: "batch",
          },
        },
      },
    })}\n`;
  files.set(
    id,
    result("claude-b", 1000, 100) +
      result("claude-c", 1000, 100) +
      `${JSON.stringify({ custom_id: "3", result: { type: "expired" } })}\n`,
  );
  batches.set(id, { id, type: "message_batch", processing_status: "ended" });
  const read = await get(`/v1/messages/batches/${id}/results`, bob.headers);
  t.equal(read.text, files.get(id));
  const { usage, groups } = await settled("/bob", 2200);
  t.match(usage, { total_cost: 0.009, unpriced_requests: 0 });
  t.match(
    groups.find(({ key }) => key === "anthropic/claude-b"),
    { total_cost: 0.003 },
  );
  t.match(
    groups.find(({ key }) => key === "anthropic/claude-c"),
    { total_cost: 0.006 },
  );
});

t.test("passthrough: OpenAI's, and Gemini's with results inside or in a file", async (t) => {
  const carl = await issue("/carl");
  const id = await submit(carl, proxy.ready, "/p/openai");
  end(id, lineOf("gpt-b", 10, 20));
  await get(`/p/openai/v1/%62atches/${id}`, carl.headers);
  await settled("/carl", 30);
  const answerOf = { usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 100 } };
  for (const [path, isFile] of [
    ["/inline", false],
    ["/file", true],
  ] as const) {
    const key = await issue(path);
    const response = await fetch(
      `${proxy.ready}/p/gemini/v1beta/models/gemini-b:batchGenerateContent`,
      { method: "POST", headers: key.headers, body: JSON.stringify({ batch: {} }) },
    );
    const { name } = (await response.json()) as { name: string };
    const batch = name.slice("batches/".length);
    t.match((await usageOf(path)).usage, { unpriced_requests: 0 });
    const line = { key: "1", response: { ...answerOf, modelVersion: "gemini-b" } };
    files.set(`out-${batch}`, `${JSON.stringify(line)}\n`);
    batches.set(batch, {
      name,
      metadata: { state: "BATCH_STATE_SUCCEEDED" },
      done: true,
      response: isFile
        ? { responsesFile: `files/out-${batch}` }
        : { inlinedResponses: { inlinedResponses: [{ response: answerOf }] } },
    });
    await get(`/p/gemini/v1beta/batches/${batch}`, key.headers);
    t.match((await settled(path, 1100)).usage, { total_cost: 0.0012, unpriced_requests: 0 }, path);
  }
});

t.test("a download that breaks off, a batch that failed, and results that are gone", async (t) => {
  const dora = await issue("/dora");
  const cut = await submit(dora);
  cuts.set(end(cut, lineOf("gpt-b", 100, 1) + lineOf("gpt-b", 100, 2), "expired"), 2);
  await until(
    async () => {
      await get(`/v1/batches/${cut}`, dora.headers);
      return usageOf("/dora");
    },
    ({ usage }) => usage?.["total_tokens"] === 203,
  );
  const failed = await submit(dora);
  end(failed, null, "failed");
  await get(`/v1/batches/${failed}`, dora.headers);
  const gone = await submit(dora);
  const sum = { model: "gpt-b", usage: { input_tokens: 5, output_tokens: 6, total_tokens: 11 } };
  files.delete(end(gone, "", "cancelled", sum));
  await get(`/v1/batches/${gone}`, dora.headers);
  t.match((await settled("/dora", 214)).usage, { total_requests: 3 });
  const unpriced = await submit(dora);
  end(unpriced, lineOf("gpt-unknown", 5, 5));
  await get(`/v1/batches/${unpriced}`, dora.headers);
  await settled("/dora", 224);
  await until(
    async () => (await admin(proxy.ready, "GET /status", undefined, byMaster)).body,
    (body) => body["pending_responses"] === 0,
  );
});

t.test("once, whatever is killed in between", async (t) => {
  const eve = await issue("/eve");
  const id = await submit(eve);
  const isKnown = (): Promise<Usage> =>
    until(
      () => usageOf("/eve"),
      ({ usage }) => usage?.["total_requests"] === 1,
    );
  await isKnown();
  await daemon.kill("SIGKILL");
  daemon = await site.startDaemon();
  await isKnown();
  await proxy.kill("SIGKILL");
  proxy = await site.startProxy();
  await isKnown();
  end(id, lineOf("gpt-b", 40, 2));
  await get(`/v1/batches/${id}`, eve.headers);
  await settled("/eve", 42);
  await daemon.kill("SIGKILL");
  daemon = await site.startDaemon();
  await until(
    async () => {
      await get(`/v1/batches/${id}`, eve.headers);
      return usageOf("/eve");
    },
    ({ usage }) => usage?.["total_tokens"] === 42,
  );
  const { body } = await admin(
    proxy.ready,
    "GET /usage/records?user_path=/eve",
    undefined,
    byMaster,
  );
  t.match(body["records"], exactly([{ total_tokens: 42 }, { total_tokens: 0 }]));
});

const removed = (id: string): boolean =>
  calls.some((call) => call.startsWith("DELETE") && call.endsWith(`/${id}`));

async function submitMessages(key: Key, total: number): Promise<string> {
  const response = await fetch(`${proxy.ready}/v1/messages/batches`, {
    method: "POST",
    headers: { ...key.headers, "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ requests: [{ custom_id: "1", params: { model: "claude-b" } }] }),
  });
  const { id } = (await response.json()) as { id: string };
  const message = {
    type: "message",
    model: "claude-b",
    usage: { input_tokens: total - 1, output_tokens: 1 },
  };
  files.set(id, `${JSON.stringify({ custom_id: "1", result: { type: "succeeded", message } })}\n`);
  batches.set(id, { id, type: "message_batch", processing_status: "ended" });
  return id;
}

t.test("a batch is deleted only when its usage is recorded", async (t) => {
  const fay = await issue("/fay");
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await submitMessages(fay, 10));
  const [first = "", , , , last = ""] = ids;
  const release: (() => void)[] = [];
  for (const id of ids.slice(0, 4))
    holds.set(id, new Promise((resolve) => release.push(() => resolve())));
  for (const id of ids.slice(0, 4)) {
    await get(`/v1/messages/batches/${id}`, fay.headers);
    await until(
      () => Promise.resolve(calls),
      (all) => all.includes(`GET /v1/messages/batches/${id}/results`),
    );
  }
  // As many as Sluice reads at a time.
  const full = await remove(`/v1/messages/batches/${last}`, fay.headers);
  t.match(full, { status: 409, wait: "10", text: /isn't recorded yet/ });
  t.equal((await remove(`/v1/messages/batches/${last}`, byMaster)).status, 409);
  t.equal(removed(last), false);
  const removing = remove(`/v1/messages/batches/${first}`, fay.headers);
  await get(`/v1/messages/batches/${first}`, fay.headers);
  t.equal(removed(first), false, "it waits for the results");
  for (const free of release) free();
  t.equal((await removing).status, 200);
  t.equal(removed(first), true);
  await until(
    () => remove(`/v1/messages/batches/${last}`, fay.headers),
    ({ status }) => status === 200,
  );
  await settled("/fay", 50);
});

t.test("by passthrough, too; and results that are too large are unpriced", async (t) => {
  const gil = await issue("/gil");
  const response = await fetch(
    `${proxy.ready}/p/gemini/v1beta/models/gemini-b:batchGenerateContent`,
    { method: "POST", headers: gil.headers, body: JSON.stringify({ batch: {} }) },
  );
  const { name } = (await response.json()) as { name: string };
  const id = name.slice("batches/".length);
  const path = `/p/gemini/v1beta/batches/${id}`;
  // The submission is settled behind its answer.
  await until(
    () => usageOf("/gil"),
    ({ usage }) => usage?.["total_requests"] === 1,
  );
  t.match(await remove(path, gil.headers), { status: 409, wait: "10" }, "it runs");
  t.equal(removed(id), false);
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1 };
  const text = "x".repeat(33 * 1024 * 1024);
  const answers = [{ response: { usageMetadata, text } }];
  batches.set(id, {
    name,
    metadata: { state: "BATCH_STATE_SUCCEEDED" },
    done: true,
    response: { inlinedResponses: { inlinedResponses: answers } },
  });
  t.equal((await remove(path, gil.headers)).status, 200);
  t.equal(removed(id), true);
  const { body } = await admin(
    proxy.ready,
    "GET /usage/records?user_path=/gil",
    undefined,
    byMaster,
  );
  t.match(
    (body["records"] as Json[]).find(({ status }) => status === 102),
    { key_id: gil.id, model: "gemini-b", total_tokens: 0, total_cost: null },
  );
  await proxy.printed(/more than 32 MiB of results/);
});

t.test("a file with results is deleted only when their usage is recorded", async (t) => {
  for (const [i, prefix] of ["", "/p/openai"].entries()) {
    const userPath = `/hal${i}`;
    const hal = await issue(userPath);
    const id = await submit(hal, proxy.ready, prefix);
    const running = await submit(hal, proxy.ready, prefix);
    // Submissions are settled behind their answers.
    await until(
      () => admin(proxy.ready, `GET /usage/records?user_path=${userPath}`, undefined, byMaster),
      ({ body }) =>
        ((body["records"] ?? []) as Json[]).filter(({ endpoint }) =>
          String(endpoint).endsWith("/batches"),
        ).length === 2,
    );
    const file = end(id, lineOf("gpt-b", 10, 5));
    cuts.set(file, 1);
    const path = `${prefix}/v1/files/${file}`;
    t.match(await remove(path, byMaster), { status: 409, wait: "10", text: /isn't recorded yet/ });
    t.ok(files.has(file));
    t.equal((await remove(path, byMaster)).status, 200);
    t.notOk(files.has(file));
    await settled(userPath, 15);
    const before = calls.length;
    t.equal((await remove(`${prefix}/v1/files/file-in`, byMaster)).status, 200);
    t.notOk(
      calls.slice(before).some((call) => call.includes("/batches/")),
      "a file of another purpose has no results",
    );
    if (prefix !== "")
      for (const owner of ["containers/c1", "vector_stores/v1"]) {
        const before = calls.length;
        const own = `/v1/${owner}/files/file-own`;
        t.equal((await remove(`${prefix}${own}`, byMaster)).status, 200);
        t.same(calls.slice(before), [`DELETE ${own}`], "no file of the account");
      }
    end(running, null, "failed");
    await get(`/v1/batches/${running}`, byMaster);
  }
});

t.test("what no client reads is looked up", async (t) => {
  const other = makeSite(t, configured("background_lookup_seconds: 0.3"), environment);
  await other.startDaemon();
  const { ready: url } = await other.startProxy();
  const id = await submit(await issue("/unread", url), url);
  await until(
    async () => calls.filter((call) => call === `GET /v1/batches/${id}`).length,
    (count) => count >= 2,
  );
  t.match((await usageOf("/unread", url)).usage, { total_tokens: 0 });
  end(id, lineOf("gpt-b", 3, 4));
  await settled("/unread", 7, url);
});

t.test(
  "unfinished batches of a path hold their tokens, and give them back at their end",
  async (t) => {
    const own = makeSite(
      t,
      `${configured("background_lookup_seconds: 0")}rate_limits: { user_paths: [{ path: /cap, limits: [{ period: concurrent, max_enqueued_tokens: 30 }] }] }\n`,
      environment,
    );
    const ownDaemon = await own.startDaemon();
    const { ready: url } = await own.startProxy();
    const key = await issue("/cap/app", url);
    // The file of each has 42 bytes, so 11 tokens.
    const ids = [await submit(key, url), await submit(key, url)];
    const asked = async (body: Json, headers = key.headers, path = "/v1/batches") => {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const third = {
      input_file_id: "file-1",
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
    };
    files.set("file-1", '{"custom_id":"1","body":{"model":"gpt-b"}}');
    const refused = await asked(third);
    t.equal(refused.status, 429);
    t.equal(refused.headers.get("retry-after"), "60");
    t.match(refused.text, /30 enqueued tokens on \/cap is reached.*have 22, and this one has 11/);
    await ownDaemon.kill("SIGKILL");
    await own.startDaemon();
    const asOperator = { ...byMaster, "x-sluice-user-path": "/cap/other" };
    t.equal((await asked(third, asOperator)).status, 429, "also for the master key");
    t.equal((await asked(third, { ...byMaster, "x-sluice-user-path": "/cape" })).status, 200);
    const messages = { requests: [{ custom_id: "1", params: { model: "claude-b" } }] };
    t.equal((await asked(messages, key.headers, "/v1/messages/batches")).status, 429);
    t.match(await asked(third, key.headers, "/p/openai/v1/batches"), {
      status: 403,
      text: /can't be submitted by passthrough here/,
    });
    end(ids[0]!, null, "cancelled");
    await get(`/v1/batches/${ids[0]}`, key.headers, url);
    await until(
      () => asked(third),
      ({ status }) => status === 200,
    );
  },
);
