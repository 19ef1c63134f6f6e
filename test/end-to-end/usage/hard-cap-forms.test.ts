/**
 * Hard caps on streams of unusual forms, through real processes: a host that answers in another
 * dialect than it was asked in, several answers, sound. The client's stream ends near the cap, as
 * in its own dialect, and what has arrived is charged.
 */
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const provider = await startEndlessStreams();
t.teardown(() => provider.close());
const maxTokens = 3000;
/** What the provider sends until it is cancelled is charged, too. */
const onItsWay = 1000;
const asked = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  google: "/v1beta/models/gemini:streamGenerateContent?alt=sse",
} as const;
type Dialect = keyof typeof asked;
const dialects = Object.keys(asked) as Dialect[];
/** The last event with a reason of a stream that has reached its maximum. */
const ends: Readonly<Record<Dialect, RegExp>> = {
  chat: /"finish_reason":"length"[^]*data: \[DONE\]\n\n$/,
  completions: /"finish_reason":"length"[^]*data: \[DONE\]\n\n$/,
  messages: /"stop_reason":"max_tokens"[^]*event: message_stop\n[^]*\n\n$/,
  responses: /event: response\.incomplete\n[^]*"max_output_tokens"[^]*\n\n$/,
  google: /"finishReason":"MAX_TOKENS"[^]*\n\n$/,
};
const others = dialects.flatMap((own) =>
  dialects.flatMap((other) => (own === other ? [] : [[own, other] as const])),
);
const paths = [...others.map(([own, other]) => `/${own}-${other}`), "/two", "/sound"];
const site = makeSite(
  t,
  `
providers:
  openai: { type: openai, base_url: "${provider.baseUrl}", api_key: a, models: [gpt], retries: 0 }
  claude: { type: anthropic, base_url: "${provider.baseUrl}", api_key: a, models: [claude], retries: 0 }
  google: { type: gemini, base_url: "${provider.baseUrl}/openai", api_key: a, models: [gemini], retries: 0 }
rate_limits:
  user_paths:
${paths.map((path) => `    - { path: ${path}, limits: [{ period: day, max_tokens: ${maxTokens}, hold: hard }] }`).join("\n")}
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

const messages = [{ role: "user", content: "hi" }];
const bodies: Readonly<Record<Dialect, object>> = {
  chat: { model: "openai/gpt", messages, stream: true },
  completions: { model: "openai/gpt", prompt: "hi", stream: true },
  messages: { model: "claude/claude", messages, max_tokens: 50_000, stream: true },
  responses: { model: "openai/gpt", input: "hi", stream: true },
  google: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
};

async function ask(dialect: Dialect, path: string, more: object = {}): Promise<string> {
  const response = await fetch(`${url}${asked[dialect]}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": path },
    body: JSON.stringify({ ...bodies[dialect], ...more }),
  });
  return await response.text();
}

/** The tokens that a path is charged, once its request is settled. */
async function charged(path: string): Promise<number> {
  const [rule] = await until(
    async () =>
      (await admin(url, "GET /rate-limits")).body.rate_limits.filter(
        ({ subject }) => subject === path,
      ),
    ([now]) => now !== undefined && now.tokens_used > 0,
  );
  return rule!.tokens_used;
}

const tokensIn = (text: string): number => text.split(/four/).length - 1;

for (const [own, other] of others)
  t.test(`a host that answers ${own} with the events of ${other}`, async (t) => {
    provider.answersAs = new URL(asked[other], "http://x").pathname;
    t.teardown(() => {
      provider.answersAs = null;
    });
    const path = `/${own}-${other}`;
    const text = await ask(own, path);
    const tokens = tokensIn(text);
    t.ok(tokens > maxTokens / 2 && tokens <= maxTokens + 8, `the client gets ${tokens}`);
    t.match(text, ends[own]);
    const used = await charged(path);
    t.ok(used >= tokens && used <= maxTokens + onItsWay, `${used} are charged`);
  });

t.test("two answers share the cap, and both end", async (t) => {
  const text = await ask("chat", "/two", { n: 2 });
  const tokens = tokensIn(text);
  t.ok(tokens > maxTokens / 2 && tokens <= maxTokens + 8, `the client gets ${tokens}`);
  t.equal(text.split('"finish_reason":"length"').length - 1, 2);
  const used = await charged("/two");
  t.ok(used >= tokens && used <= maxTokens + onItsWay, `${used} are charged`);
});

t.test("sound counts as a few times its tokens at most", async (t) => {
  provider.kind = "audio";
  t.teardown(() => {
    provider.kind = "text";
  });
  const text = await ask("chat", "/sound", { modalities: ["text", "audio"] });
  const tokens = text.split('"audio_1"').length - 1;
  t.match(text, ends.chat);
  const used = await charged("/sound");
  // What was on its way when the cap cut it is charged, too.
  const { tokens: sent } = provider.calls.at(-1)!;
  t.ok(used >= tokens && used <= 4 * sent, `${used} are charged for ${tokens} of ${sent}`);
});
