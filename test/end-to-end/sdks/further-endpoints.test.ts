/**
 * The endpoints beside the usual ones, called with the official SDKs: what is a model's is counted,
 * what is stored goes to a provider of the client's own dialect.
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import t, { type Test } from "tap";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import {
  anthropicKey,
  openaiKey,
  reply,
  replyEvents,
} from "../../support/providers/model-api-call.js";

const { api, url, counts } = await startSdkSite(t);
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: masterKey, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: masterKey, maxRetries: 0 });
const model = "openai/gpt-test";

interface Seen {
  what: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The provider answers the next request so; what it was is filled in. */
function answering(answer: unknown): Seen {
  const seen: Seen = { what: "", headers: {}, body: "" };
  api.intercept = (request, response: ServerResponse) => {
    seen.what = `${request.method} ${request.url}`;
    seen.headers = request.headers;
    request.on("data", (piece: Buffer) => (seen.body += piece.toString("latin1")));
    request.on("end", () =>
      typeof answer === "string" ? replyEvents(response, [answer]) : reply(response, 200, answer),
    );
  };
  return seen;
}

const failureOf = (asked: PromiseLike<unknown>): PromiseLike<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

function isOpenai(t: Test, { headers }: Seen): void {
  t.equal(headers.authorization, `Bearer ${openaiKey}`);
}

t.test(
  "a prompt is completed, whole and as a stream whose usage is asked for and hidden",
  async (t) => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const added = await counts(async () => {
      const whole = answering({
        id: "c",
        object: "text_completion",
        choices: [{ text: "a" }],
        usage,
      });
      t.equal((await openai.completions.create({ model, prompt: "x" })).choices[0]!.text, "a");
      t.same(
        [whole.what, JSON.parse(whole.body)],
        ["POST /v1/completions", { model: "gpt-test", prompt: "x" }],
      );
      const events = [
        { object: "text_completion", choices: [{ index: 0, text: "a", finish_reason: null }] },
        { object: "text_completion", choices: [{ index: 0, text: "", finish_reason: "stop" }] },
        { object: "text_completion", choices: [], usage },
      ];
      const stream = answering(
        `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`,
      );
      const chunks: unknown[] = [];
      for await (const chunk of await openai.completions.create({
        model,
        prompt: "x",
        stream: true,
      }))
        chunks.push(chunk);
      t.equal(chunks.length, 2);
      t.match(JSON.parse(stream.body), { stream_options: { include_usage: true } });
    });
    t.same(added, { requests: 2, tokens: 10 });
  },
);

t.test("moderations, edited images and compacted conversations are counted", async (t) => {
  const added = await counts(async () => {
    const moderation = answering({ id: "m", model: "omni-moderation-latest", results: [] });
    const asked = { model, input: "x" };
    t.same((await openai.moderations.create(asked)).results, []);
    t.equal(moderation.what, "POST /v1/moderations");
    const picture = await toFile(Buffer.from("PNG"), "a.png", { type: "image/png" });
    const edited = answering({
      data: [{ b64_json: "eA==" }],
      usage: { input_tokens: 5, output_tokens: 6, total_tokens: 11 },
    });
    await openai.images.edit({ model, image: picture, prompt: "brighter" });
    t.equal(edited.what, "POST /v1/images/edits");
    t.match(edited.body, /name="model"\r\n\r\ngpt-test\r\n/);
    const compacted = answering({
      object: "response.compaction",
      output: [],
      usage: { input_tokens: 8, output_tokens: 1, total_tokens: 9 },
    });
    await openai.responses.compact({ model, input: "long" } as never);
    t.equal(compacted.what, "POST /v1/responses/compact");
  });
  t.equal(added.requests, 3);
  t.ok(added.tokens >= 20, `${added.tokens} tokens, of the moderation an estimate`);
});

t.test(
  "what is stored goes to a provider of the client's dialect, and costs nothing",
  async (t) => {
    const added = await counts(async () => {
      const conversation = answering({ id: "conv_1", object: "conversation" });
      await openai.conversations.create({});
      t.equal(conversation.what, "POST /v1/conversations");
      isOpenai(t, conversation);
      const upload = answering({ id: "upload_1", object: "upload" });
      await openai.uploads.create({
        bytes: 1,
        filename: "a",
        mime_type: "text/plain",
        purpose: "batch",
      });
      t.equal(upload.what, "POST /v1/uploads");
      const part = answering({ id: "part_1", object: "upload.part" });
      await openai.uploads.parts.create("upload_1", { data: await toFile(Buffer.from("x"), "x") });
      t.equal(part.what, "POST /v1/uploads/upload_1/parts");
      const files = answering({ data: [], has_more: false });
      await anthropic.beta.files.list();
      t.match(files.what, /^GET \/v1\/files/);
      t.equal(files.headers["x-api-key"], anthropicKey, "not OpenAI's, who have this path too");
      const results = answering({ id: "msgbatch_1", type: "message_batch" });
      await anthropic.messages.batches.retrieve("msgbatch_1");
      t.equal(results.what, "GET /v1/messages/batches/msgbatch_1");
    });
    t.same(added, { requests: 0, tokens: 0 });
  },
);

t.test("a batch of messages is one request, and one without requests none", async (t) => {
  const added = await counts(async () => {
    const batch = answering({ id: "msgbatch_1", type: "message_batch" });
    const params = { model: "claude-test", max_tokens: 1, messages: [] };
    await anthropic.messages.batches.create({ requests: [{ custom_id: "a", params }] });
    t.equal(batch.what, "POST /v1/messages/batches");
    const refused = await failureOf(anthropic.messages.batches.create({} as never));
    t.match(refused, { status: 400, error: { error: { message: "requests is required" } } });
  });
  t.equal(added.requests, 1);
});

t.test("an endpoint that isn't offered answers in the caller's dialect", async (t) => {
  t.match(await failureOf(openai.vectorStores.list()), {
    status: 404,
    type: "not_found_error",
    message: /\/p\/\{provider\}\/v1\/vector_stores/,
  });
  t.match(await failureOf(anthropic.get("/v1/vector_stores")), {
    status: 404,
    error: { type: "error", error: { type: "not_found_error" } },
  });
});
