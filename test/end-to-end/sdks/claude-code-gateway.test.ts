/**
 * What Claude Code requires of a gateway, by its gateway protocol (code.claude.com/docs/en/
 * llm-gateway-protocol, and the contract that version 2.1.332 itself serves at `GET /protocol`).
 * Model discovery and the first HEAD are in `model-sizes.test.ts`, its session in
 * `../usage/sessions.test.ts`.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  type ReceivedRequest,
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
const site = makeSite(
  t,
  `
server: { max_body_bytes: 100000 }
providers:
  anthropic: { type: anthropic, base_url: "${provider.origin}/v1", api_key: k, models: [claude-sonnet-4-5], retries: 0 }
  kimi: { type: anthropic, base_url: "${provider.origin}/kimi", api_key: k, models: [kimi-k2] }
  openai: { type: openai, base_url: "${provider.origin}/openai", api_key: k, models: [gpt-5.4] }
rate_limits:
  user_paths: [{ path: /limited, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }]
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const headers = {
  authorization: `Bearer ${masterKey}`,
  "content-type": "application/json",
  "anthropic-version": "2023-06-01",
  "anthropic-beta": "claude-code-20250219,a-beta-of-tomorrow-2027-01-01",
  "x-app": "cli",
  "x-stainless-lang": "js",
  "x-claude-code-session-id": "s",
  "x-claude-code-agent-id": "agent",
  "x-claude-code-header-of-tomorrow": "1",
};
const billing = (checksum: string): string =>
  `x-anthropic-billing-header: cc_version=2.1.332.a; cc_entrypoint=cli; cch=${checksum};`;
const text = (value: string): object => ({ type: "text", text: value });
const body = (more: object = {}): object => ({
  model: "claude-sonnet-4-5",
  max_tokens: 100,
  system: [text(billing("00000")), text("You are Claude Code.")],
  messages: [{ role: "user", content: "hi" }],
  metadata: { user_id: '{"session_id":"s"}' },
  ...more,
});
const answer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
};

function send(
  sent: string,
  path = "/v1/messages?beta=true",
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, { method: "POST", headers: { ...headers, ...more }, body: sent });
}

/** What the provider received of the last request, after it was answered with this. */
async function received(sent: string, value: object, path?: string): Promise<ReceivedRequest> {
  provider.answer = (each) => replyJson(each, value, { "anthropic-ratelimit-unified-status": "x" });
  const response = await send(sent, path);
  const passed = await response.json();
  if (response.status !== 200) throw new Error(JSON.stringify(passed));
  t.same(passed, value, "the answer passes with fields that Sluice doesn't know");
  t.equal(
    response.headers.get("anthropic-ratelimit-unified-status"),
    null,
    "the account's limits aren't the caller's",
  );
  return provider.received.at(-1)!;
}

t.test("requests pass unchanged, with fields and headers of tomorrow", async (t) => {
  const sent = JSON.stringify(
    body({ safeguards: { auto_mode: true }, tags: { group: "g" }, field_of_tomorrow: [1] }),
    null,
    1,
  );
  const asked = await received(sent, { ...answer, safeguard_results: [{ verdict: "allow" }] });
  t.equal(await asked.body, sent, "byte for byte");
  t.equal(asked.request.url, "/v1/messages?beta=true");
  for (const name of ["anthropic-version", "anthropic-beta", "x-app", "x-stainless-lang"] as const)
    t.equal(asked.request.headers[name], headers[name], name);
  t.equal(asked.request.headers["x-api-key"], "k", "the caller's key doesn't pass");
  t.equal(asked.request.headers.authorization, undefined);
  const counted = await received(sent, { input_tokens: 7 }, "/v1/messages/count_tokens?beta=true");
  t.equal(await counted.body, sent);
});

t.test("a stream isn't held back", async (t) => {
  provider.answer = () => {};
  const next = provider.next();
  const sending = send(JSON.stringify(body({ stream: true })));
  const { response: out } = await next;
  out.writeHead(200, { "content-type": "text/event-stream" });
  const start = { type: "message_start", message: { ...answer, content: [] } };
  out.write(`event: message_start\ndata: ${JSON.stringify(start)}\n\n`);
  const reader = (await sending).body!.getReader();
  const { value } = await reader.read();
  t.match(Buffer.from(value!).toString(), /message_start/, "before the second event is sent");
  out.end('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  while (!(await reader.read()).done);
});

t.test("errors are those that it acts on", async (t) => {
  const errorOf = async (response: Response): Promise<readonly unknown[]> => {
    const { type, error } = (await response.json()) as {
      readonly type: string;
      readonly error: { readonly type: string };
    };
    return [response.status, type, error.type, response.headers.get("x-should-retry")];
  };
  const sent = JSON.stringify(body());
  t.same(await errorOf(await send(sent, undefined, { authorization: "Bearer wrong" })), [
    401,
    "error",
    "authentication_error",
    "false",
  ]);
  t.same(await errorOf(await send("x".repeat(100_001))), [413, "error", "request_too_large", null]);
  t.same(await errorOf(await send("{")), [400, "error", "invalid_request_error", null]);
  provider.answer = (each) => replyJson(each, answer);
  const made = await admin(url, "POST /auth-keys", { name: "k", user_path: "/limited" }, headers);
  const { value } = made.body as unknown as { readonly value: string };
  const limited = { authorization: `Bearer ${value}` };
  t.equal((await send(sent, undefined, limited)).status, 200);
  const refused = await send(sent, undefined, limited);
  t.match(refused.headers.get("retry-after"), /^\d+$/);
  t.same(await errorOf(refused), [429, "error", "rate_limit_error", "false"]);
  provider.answer = ({ response }) =>
    void response
      .writeHead(529, { "content-type": "application/json" })
      .end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
  t.same((await errorOf(await send(sent))).slice(0, 3), [529, "error", "overloaded_error"]);
});

t.test("other makers' models don't get the attribution, which would end their cache", async (t) => {
  const chat = {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  };
  for (const model of ["openai/gpt-5.4", "kimi/kimi-k2"]) {
    const bodies: string[] = [];
    provider.answer = (each) => {
      void each.body.then((sent) => bodies.push(sent));
      replyJson(each, model.startsWith("openai") ? chat : answer);
    };
    for (const system of [
      [text(billing("00001")), text("You are Claude Code.")],
      [text(billing("00002")), text("You are Claude Code.")],
      `${billing("00003")}\nYou are Claude Code.`,
    ]) {
      const response = await send(JSON.stringify(body({ model, system })));
      t.equal(response.status, 200);
      await response.text();
    }
    t.equal(bodies.length, 3);
    t.equal(bodies[0], bodies[1], "the prompts are the same");
    t.notMatch(bodies.join(), /billing/, model);
    t.match(bodies[2], /You are Claude Code/);
  }
});

t.test("a safety check that the provider lacks is refused by its name", async (t) => {
  const refused = await send(
    JSON.stringify(body({ model: "openai/gpt-5.4", safeguards: { auto_mode: true } })),
  );
  t.equal(refused.status, 400);
  t.match(await refused.json(), {
    type: "error",
    error: { type: "invalid_request_error", message: /safeguards/ },
  });
});
