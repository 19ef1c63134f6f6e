/**
 * Streams that wait for room while their clients are told their place, with the official SDKs as
 * clients: they read the answer as ever, and throw whatever else ends the wait.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  beginStream,
  chunk,
  type ReceivedCall,
  replyError,
  replyStream,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const provider = await startScriptedUpstream();
t.teardown(() => provider.close());
const site = makeSite(
  t,
  `
server: { drain_seconds: 0.5, drain_grace_seconds: 0 }
waiting: { max_seconds: 60, keep_alive_seconds: 0.2 }
providers:
  one: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: [a], operations: [chat_completions], retries: 0, breaker_failures: 0 }
rate_limits:
  user_paths: [{ path: /slot, limits: [{ period: concurrent, max_requests: 1 }] }]
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;
let userPath = "/slot";
const prefer = () => ({ prefer: "wait=60", "x-sluice-user-path": userPath });
const bearer = { authorization: `Bearer ${masterKey}` };
const messages = [{ role: "user" as const, content: "hi" }];
/** The answers that have begun. */
let begun = 0;
const fetchCounted: typeof fetch = async (...request) => {
  const response = await fetch(...request);
  begun++;
  return response;
};
const sdk = (wait = 60) => ({
  apiKey: masterKey,
  fetch: fetchCounted,
  maxRetries: 0,
  defaultHeaders: { ...prefer(), prefer: `wait=${wait}` },
});
const openai = (wait?: number) => new OpenAI({ baseURL: `${url}/v1`, ...sdk(wait) });
const anthropic = (wait?: number) => new Anthropic({ baseURL: url, ...sdk(wait) });

/** What the provider does with the next calls. */
let next: (call: ReceivedCall) => void = replyStream;
/** Ends the request that has the slot. */
let free: (() => void) | null = null;
provider.answer = (call) => {
  if (call.body.includes("hold on")) free = () => replyStream(call);
  else next(call);
};

/** The number of requests that wait. */
const waiting = async (): Promise<number> => {
  const { body } = await admin(url, "GET /queues", undefined, bearer);
  return (body as unknown as { readonly waiting: number }).waiting;
};

/** Takes the slot; the result gives it back, once something has waited and was told so. */
async function hold(): Promise<() => Promise<void>> {
  const before = begun;
  const response = fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...bearer, "x-sluice-user-path": "/slot" },
    body: JSON.stringify({ model: "one/a", messages: [{ role: "user", content: "hold on" }] }),
  }).then(
    (answer) => answer.text(),
    // The proxy stops.
    () => "",
  );
  await until(
    async () => free,
    (found) => found !== null,
  );
  return async () => {
    await until(waiting, (count) => count > 0);
    await until(
      async () => begun,
      (count) => count > before,
    );
    free!();
    free = null;
    await response;
  };
}

/** Reads a stream; `told` is resolved once its client has heard twice that it waits. */
function readWaiting({ body }: Response): {
  readonly told: Promise<void>;
  readonly text: Promise<string>;
} {
  let hearTwice = (): void => {};
  const told = new Promise<void>((resolve) => (hearTwice = resolve));
  const read = async (): Promise<string> => {
    let text = "";
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.split(/\r?\n\r?\n/).length > 2) hearTwice();
    }
    return text;
  };
  return { told, text: read() };
}

const google = (wait = 60) =>
  fetchCounted(`${url}/v1beta/models/one%2Fa:streamGenerateContent?alt=sse`, {
    method: "POST",
    headers: { ...bearer, ...prefer(), prefer: `wait=${wait}` },
    body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] }),
  });

/** The texts of the answers of each SDK. */
const asks: Readonly<Record<string, (wait?: number, onText?: () => void) => Promise<string>>> = {
  async chat(wait, onText) {
    const asked = { model: "one/a", messages, stream: true } as const;
    let text = "";
    for await (const { choices } of await openai(wait).chat.completions.create(asked)) {
      text += choices[0]?.delta.content ?? "";
      if (text !== "") onText?.();
    }
    return text;
  },
  messages(wait, onText) {
    const stream = anthropic(wait).messages.stream({ model: "one/a", max_tokens: 9, messages });
    stream.on("text", () => onText?.());
    return stream.finalText();
  },
  async responses(wait, onText) {
    const stream = openai(wait).responses.stream({ model: "one/a", input: "hi" });
    stream.on("response.output_text.delta", () => onText?.());
    return (await stream.finalResponse()).output_text;
  },
};

t.test("a client that waits is told its place, in its dialect", async (t) => {
  const release = await hold();
  // It begins before there is room.
  const ofChat = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...bearer, ...prefer() },
    body: JSON.stringify({ model: "one/a", messages, stream: true }),
  });
  t.match(
    { status: ofChat.status, type: ofChat.headers.get("content-type") },
    { status: 200, type: "text/event-stream" },
  );
  const ofGoogle = await google();
  t.equal(ofGoogle.status, 200);
  const [chatWaits, googleWaits] = [readWaiting(ofChat), readWaiting(ofGoogle)];
  await Promise.all([chatWaits.told, googleWaits.told]);
  await release();
  const chatText = await chatWaits.text;
  t.match(chatText, /^(: waiting for room under a limit: number 1\n\n){2,}data: .*hello/);
  t.match(chatText, /\n\ndata: \[DONE\]\n\n$/);
  const googleText = await googleWaits.text;
  t.match(googleText, /^(data: .*"text": "".*\n\n){2,}data: .*"text":"hello"/);
  t.match(googleText, /"finishReason":"STOP"/);
  const { records } = (await until(
    async () => (await admin(url, "GET /usage/records?user_path=/slot", undefined, bearer)).body,
    (found) => (found["records"] as readonly unknown[]).length === 3,
  )) as unknown as { readonly records: readonly { readonly status: number }[] };
  t.same(new Set(records.map((record) => record.status)), new Set([200]));
});

t.test("the SDKs read the answer after it, in each dialect", async (t) => {
  for (const [name, ask] of Object.entries(asks)) {
    const release = await hold();
    const text = ask();
    await release();
    t.equal(await text, "hello", name);
  }
});

t.test("a refusal at the end of the wait is thrown, with its message", async (t) => {
  const release = await hold();
  for (const [name, ask] of Object.entries(asks)) {
    const thrown = await ask(1).catch((error: unknown) => error);
    t.match(thrown, { message: /concurrent/ }, name);
  }
  const text = await (await google(1)).text();
  t.match(
    text,
    /\n\ndata: \{"error":\{"code":429,"message":".*concurrent.*","status":"RESOURCE_EXHAUSTED"/,
  );
  const unheard = openai().chat.completions.create({ model: "one/a", messages });
  await release();
  await unheard;
  const refused = await until(
    async () =>
      proxy
        .output()
        .split("\n")
        .filter((line) => line.includes('"outcome":"rate_limited"')),
    ({ length }) => length >= 4,
  );
  t.equal(refused.length, 4);
  for (const line of refused) t.match(JSON.parse(line), { status: 429, queued_ms: Number });
});

t.test("an error of the provider after the wait is thrown, with its message", async (t) => {
  next = replyError;
  for (const [name, ask] of Object.entries(asks)) {
    const release = await hold();
    const thrown = ask().catch((error: unknown) => error);
    await release();
    t.match(await thrown, { message: /out of thoughts/ }, name);
  }
  next = replyStream;
});

t.test("a client that leaves after it was told gives its place back", async (t) => {
  const release = await hold();
  const leaving = new AbortController();
  const stream = openai().chat.completions.create(
    { model: "one/a", messages, stream: true },
    { signal: leaving.signal },
  );
  // The SDK has the head.
  await stream;
  t.equal(await waiting(), 1);
  leaving.abort();
  await until(waiting, (count) => count === 0);
  const staying = asks["chat"]!();
  await release();
  t.equal(await staying, "hello");
  await proxy.printed(/"outcome":"client_gone"/);
});

async function textUntilCut({ body }: Response): Promise<string> {
  let text = "";
  try {
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) text += piece;
  } catch {
    return text;
  }
  throw new Error("the body isn't cut");
}

t.test("a stop of the proxy is thrown with its message, waiting or in mid-stream", async (t) => {
  const caught = (name: string, answer: Promise<string>) =>
    answer.then(
      (text) => [name, text] as const,
      (error: unknown) => [name, error] as const,
    );
  await hold();
  const all = Object.entries(asks);
  const begunBefore = begun;
  const asked = all.map(([name, ask]) => caught(name, ask()));
  asked.push(caught("google", google().then(textUntilCut)));
  // Each has been told its place.
  await until(
    async () => begun - begunBefore,
    (count) => count === asked.length,
  );
  userPath = "/free";
  next = (call) => void beginStream(call).write(chunk("hello"));
  for (const [name, ask] of all)
    await new Promise<void>((onText) => asked.push(caught(`${name}, running`, ask(0, onText))));
  const response = await google(0);
  asked.push(caught("google, running", textUntilCut(response)));
  // One that has no answer yet.
  const called = provider.nextCall();
  next = () => {};
  asked.push(caught("chat, silent", asks["chat"]!(0)));
  await called;
  await proxy.kill("SIGTERM");
  for (const [name, thrown] of await Promise.all(asked))
    if (name.startsWith("google"))
      t.match(thrown, /data: \{"error":\{"code":503,.*the gateway is stopping.*\n\n$/, name);
    else t.match(thrown, { message: /the gateway is stopping/ }, name);
});
