/**
 * Threads of Anthropic's Messages API, which the provider keeps: the helper of the official SDK,
 * two accounts that know only their own threads, and callers with keys of their own.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import t from "tap";
import { admin } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

interface Asked {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly unknown[];
  readonly thread?: { readonly type: string; readonly previous_message_id?: string } | null;
}

/** How many messages each account keeps, by the id of the last answer. */
const kept = new Map<string, number>();
const asked: { readonly account: string; readonly body: Asked }[] = [];
let answers = 0;

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const account = String(request.headers["x-api-key"]);
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Asked;
    asked.push({ account, body });
    const { thread } = body;
    const previous = `${account} ${thread?.previous_message_id}`;
    const reply = (status: number, value: object): void =>
      void response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify(value));
    if (thread?.type === "continue" && !kept.has(previous)) {
      const details = { error_code: "thread_not_found" };
      const error = { type: "not_found_error", message: "no such thread", details };
      return reply(404, { type: "error", error });
    }
    const id = `msg_${++answers}`;
    const count = (kept.get(previous) ?? 0) + body.messages.length + 1;
    if (thread != null) kept.set(`${account} ${id}`, count);
    const content = [{ type: "text", text: `${count} messages` }];
    const message = {
      id,
      type: "message",
      role: "assistant",
      model: body.model,
      content,
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 2 },
    };
    if (body.stream !== true) return reply(200, message);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (event: { readonly type: string }): void =>
      void response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const begun = { ...message, content: [], stop_reason: null };
    const events = [
      { type: "message_start", message: begun },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: content[0]!.text },
      },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 2 },
      },
      { type: "message_stop" },
    ];
    for (const event of events) send(event);
    response.end();
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const claude = (key: string): string =>
  `{ type: anthropic, base_url: "${origin}/v1", api_key: ${key}, models: [claude-test], retries: 0 }`;
const site = makeSite(
  t,
  `
providers:
  east: ${claude("east-secret")}
  west: ${claude("west-secret")}
  chat: { type: openai, base_url: "${origin}/v1", api_key: chat-secret, models: [gpt-test], retries: 0 }
virtual_models:
  smart: { strategy: round_robin, affinity: none, targets: [{ model: east/claude-test }, { model: west/claude-test }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

async function tenant(path: string): Promise<Anthropic> {
  const bearer = { authorization: `Bearer ${masterKey}` };
  const { body } = await admin(url, "POST /auth-keys", { name: path, user_path: path }, bearer);
  const { value } = body as unknown as { readonly value: string };
  return new Anthropic({ baseURL: url, apiKey: value, maxRetries: 0 });
}

const [ann, bob] = [await tenant("/ann"), await tenant("/bob")];
const hi = { role: "user", content: "hi" } as const;
const textOf = ({ content }: Anthropic.Beta.BetaMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : block.type)).join();

t.test("the SDK's thread goes on at the account that keeps it, streamed or not", async (t) => {
  for (const streams of [false, true]) {
    const thread = ann.beta.messages.thread({ model: "smart", max_tokens: 64 });
    const turn = async () =>
      textOf(await (streams ? thread.stream(hi).finalMessage() : thread.send(hi)));
    const from = asked.length;
    t.same(
      [await turn(), await turn(), await turn()],
      ["2 messages", "4 messages", "6 messages"],
      "no turn is sent twice",
    );
    const turns = asked.slice(from);
    t.equal(turns.length, 3, "the first account that is asked has it");
    t.equal(new Set(turns.map(({ account }) => account)).size, 1);
    t.same(
      turns.map(({ body }) => body.thread?.type),
      ["create", "continue", "continue"],
    );
  }
});

t.test("another caller's thread isn't continued, streamed or not", async (t) => {
  for (const stream of [false, true]) {
    const thread = ann.beta.messages.thread({ model: "east/claude-test", max_tokens: 64 });
    if (stream) await thread.stream(hi).finalMessage();
    else await thread.send(hi);
    const previous = thread.previousMessageId!;
    const continued = (by: Anthropic) =>
      by.beta.messages.create({
        model: "east/claude-test",
        max_tokens: 64,
        messages: [hi],
        thread: { type: "continue", previous_message_id: previous },
      });
    const from = asked.length;
    const refused = await continued(bob).then(
      () => null,
      (error: unknown) => error,
    );
    t.match(refused, {
      status: 404,
      error: {
        error: {
          type: "not_found_error",
          message: `there is no ${previous} of this user path`,
          details: { error_code: "thread_not_found" },
        },
      },
    });
    t.equal(asked.length, from, "the provider isn't asked");
    t.equal(textOf(await continued(ann)), "4 messages");
  }
});

t.test("the SDK sends the whole conversation when the provider has lost its thread", async (t) => {
  const thread = ann.beta.messages.thread({ model: "east/claude-test", max_tokens: 64 });
  await thread.send(hi);
  kept.clear();
  t.equal(textOf(await thread.send(hi)), "4 messages");
  t.match(asked.at(-1)!.body, { thread: { type: "create" } });
});

t.test("a provider of another dialect has no threads, and says so as Anthropic does", async (t) => {
  const thread = ann.beta.messages.thread({ model: "chat/gpt-test", max_tokens: 64 });
  const refused = await thread.send(hi).then(
    () => null,
    (error: unknown) => error,
  );
  t.match(refused, {
    status: 400,
    error: { error: { details: { error_code: "thread_unsupported_request" } } },
  });
});
