/**
 * What happens to a hard cap while streams in every dialect draw on it, through real processes: its
 * rule is raised, made soft or deleted, its daemon is killed, the whole is reloaded or stopped.
 * Each stream ends as its dialect ends an answer, what clients got is charged, and nothing is held.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startProgram, temporaryDirectory } from "../../bin/program-run.js";
import { agesSeconds } from "../../support/ages.js";
import { admin, type RuleItem, until } from "../../support/client.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const provider = await startEndlessStreams();
t.teardown(() => provider.close());
// About 50 tokens a second of each stream.
Object.assign(provider, { atOnce: 1, pauseMs: 20 });
const streams = 24;
const tokensMax = 3000;
/** The most that a prompt counts. */
const promptMax = 20;
const crowdMax = 30_000;

const site = makeSite(t, configuration("limiter: { deadline_ms: 20000 }"));
let daemon: Part = await site.startDaemon();
const { ready: url } = await site.startProxy();

function configuration(more: string, paths = ["raised", "ending"]): string {
  const limit = `limits: [{ period_seconds: ${agesSeconds}, max_tokens: ${tokensMax}, hold: hard }]`;
  return `
entitlements: [quota_templates]
providers:
  openai: { type: openai, base_url: "${provider.baseUrl}", api_key: a, models: [gpt], retries: 0 }
  claude: { type: anthropic, base_url: "${provider.baseUrl}", api_key: a, models: [claude], retries: 0 }
  gemini: { type: gemini, base_url: "${provider.baseUrl}/openai", api_key: a, models: [gemini], retries: 0 }
${more}
rate_limits:
  user_paths:
${paths.map((path) => `    - { path: /${path}, ${limit} }`).join("\n")}
    - { path: /each, per_child: true, ${limit} }
    - { path: /soft, limits: [{ period_seconds: ${agesSeconds}, max_tokens: ${2 * tokensMax}, hold: hard }] }
    - { path: /gone, limits: [{ period_seconds: ${agesSeconds}, max_tokens: ${2 * tokensMax}, hold: hard }] }
    - { path: /crowd, limits: [{ period_seconds: ${agesSeconds}, max_tokens: ${crowdMax}, hold: hard }] }
`;
}

const messages = [{ role: "user", content: "hi" }];

/** How each dialect asks for a stream, shows a token, and ends at its maximum, and by itself. */
const dialects = [
  {
    path: "/v1/chat/completions",
    body: { model: "gpt", messages, stream: true },
    token: /"content":"four"/g,
    atCap: /"finish_reason":"length"[^]*data: \[DONE\]\n\n$/,
    whole: /"finish_reason":"stop"[^]*data: \[DONE\]\n\n$/,
  },
  {
    path: "/v1/messages",
    body: { model: "claude", messages, stream: true, max_tokens: 64_000 },
    token: /"text":"four"/g,
    atCap: /"stop_reason":"max_tokens"[^]*"message_stop"\}\n\n$/,
    whole: /"stop_reason":"end_turn"[^]*"message_stop"\}\n\n$/,
  },
  {
    path: "/v1/responses",
    body: { model: "gpt", input: "hi", stream: true },
    token: /"delta":"four"/g,
    atCap: /event: response\.incomplete\ndata: .*"max_output_tokens".*\n\n$/,
    whole: /event: response\.completed\ndata: .*\n\n$/,
  },
  {
    path: "/v1beta/models/gemini:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    token: /"text":"four"/g,
    atCap: /"finishReason":"MAX_TOKENS".*\n\n$/,
    whole: /"finishReason":"STOP".*\n\n$/,
  },
] as const;

interface Ended {
  readonly end: "at the cap" | "whole" | "refused" | "broken";
  readonly tokens: number;
  /** The end of its text, for a test that fails. */
  readonly last: string;
}

async function ask(at: string, userPath: string, n: number): Promise<Ended> {
  const { path, body, token, atCap, whole } = dialects[n % dialects.length]!;
  let text = "";
  let status = 0;
  try {
    const response = await fetch(at + path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sluice-user-path": userPath },
      body: JSON.stringify(body),
    });
    status = response.status;
    const decoder = new TextDecoder();
    for await (const piece of response.body!) text += decoder.decode(piece, { stream: true });
  } catch {
    // A broken connection: what came until then is judged.
  }
  const end =
    status === 429
      ? "refused"
      : atCap.test(text)
        ? "at the cap"
        : whole.test(text)
          ? "whole"
          : "broken";
  return { end, tokens: text.match(token)?.length ?? 0, last: `${path} ${text.slice(-300)}` };
}

const all = (at: string, path: string, count = streams): Promise<readonly Ended[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => ask(at, path, n)));

const tokensIn = (ended: readonly Ended[]): number =>
  ended.reduce((sum, { tokens }) => sum + tokens, 0);

/** What the provider has put out after so many calls. */
const sentSince = (before: number): number =>
  provider.calls.slice(before).reduce((sum, { tokens }) => sum + tokens, 0);

/** Until the provider has put out so many more tokens. */
function untilSent(before: number, tokens: number): Promise<number> {
  return until(
    async () => sentSince(before),
    (now) => now >= tokens,
  );
}

async function rulesOf(at: string, path: string): Promise<readonly RuleItem[]> {
  // Without a daemon there are none.
  const { rate_limits = [] } = (await admin(at, "GET /rate-limits")).body;
  return rate_limits.filter(({ subject }) => subject === path);
}

/** The output in the records of a path, once there are so many records. */
async function outputIn(at: string, path: string, count: number): Promise<number> {
  const records = await until(
    async () => {
      const file = await fetch(`${at}/admin/usage/records?format=ndjson&user_path=${path}`);
      const lines = (await file.text()).split("\n").filter((line) => line !== "");
      return lines.map((line) => JSON.parse(line) as { readonly output_tokens: number });
    },
    ({ length }) => length === count,
  );
  return records.reduce((sum, { output_tokens }) => sum + output_tokens, 0);
}

/** Until no chunk is left of the cap: the next draw of each stream waits. */
function untilAllDrawn(at: string, path: string): Promise<unknown> {
  return until(
    () => rulesOf(at, path),
    ([rule]) =>
      rule !== undefined && rule.tokens_used + Number(rule["tokens_held"]) > tokensMax - 8,
  );
}

/** Runs `change` while the provider is too slow to fill a cap meanwhile. */
async function slowly(change: () => Promise<unknown>): Promise<void> {
  const { pauseMs } = provider;
  provider.pauseMs = 1000;
  await change();
  provider.pauseMs = pauseMs;
}

interface Bounded {
  readonly path: string;
  readonly cap: number;
  /** The provider's calls before. */
  readonly before: number;
  readonly at?: string;
}

/**
 * Once all are charged, nothing is held. What clients got is charged, but no more than the provider
 * has sent since `before`, and clients got hardly more than the cap. Returns what is charged.
 */
async function isCharged(
  t: Test,
  ended: readonly Ended[],
  { path, cap, before, at = url }: Bounded,
): Promise<number> {
  const got = tokensIn(ended);
  const begun = ended.filter(({ end }) => end !== "refused").length;
  const rules = await until(
    () => rulesOf(at, path),
    ([rule]) => rule?.["tokens_held"] === 0 && rule.tokens_used >= got,
  );
  const charged = rules[0]!.tokens_used;
  const sent = sentSince(before);
  t.ok(
    charged <= sent + begun * promptMax,
    `${path}: ${charged} are charged of ${sent} and their prompts`,
  );
  t.ok(got <= cap + 8 * begun, `${path}: ${got} of ${cap} are passed on`);
  return charged;
}

/** All ended as `end` says; those that were cut at a cap, or whole. */
function endAs(t: Test, ended: readonly Ended[], ...ends: readonly Ended["end"][]): void {
  t.same(
    ended.filter(({ end }) => !ends.includes(end)),
    [],
    `all end ${ends.join(" or ")}`,
  );
}

const key = (path: string): object => ({
  user_path: `/${path}`,
  limit_key: { period_seconds: agesSeconds },
});

/** Returns the rules, as they are then. */
async function change(t: Test, operation: string, body: object): Promise<readonly RuleItem[]> {
  const { status, body: answer } = await admin(url, operation, body);
  t.equal(status, 200, status === 200 ? operation : JSON.stringify(answer));
  return answer.rate_limits;
}

t.test("a raise while streams draw lets them go on to the raised cap", async (t) => {
  const before = provider.calls.length;
  const answers = all(url, "/raised");
  await untilSent(before, tokensMax / 2);
  const raised = 2 * tokensMax;
  const raise = { max_tokens: raised, for_seconds: 600, reason: "test" };
  await change(t, "POST /rate-limits/raise", { ...key("raised"), ...raise });
  const ended = await answers;
  endAs(t, ended, "at the cap");
  const used = await isCharged(t, ended, { path: "/raised", cap: raised, before });
  t.ok(used >= 0.95 * raised, `${used} of ${raised} are used`);
});

t.test("a raise that ends while streams draw ends them", async (t) => {
  const before = provider.calls.length;
  const raise = { max_tokens: 100 * tokensMax, for_seconds: 600, reason: "test" };
  await change(t, "POST /rate-limits/raise", { ...key("ending"), ...raise });
  const answers = all(url, "/ending");
  await untilSent(before, 1.5 * tokensMax);
  const rules = await change(t, "DELETE /rate-limits/raise", key("ending"));
  const { tokens_used, tokens_held } = rules.find(({ subject }) => subject === "/ending")!;
  const ended = await answers;
  endAs(t, ended, "at the cap");
  // What was granted under the raise may be used.
  await isCharged(t, ended, { path: "/ending", cap: tokens_used + Number(tokens_held), before });
  endAs(t, await all(url, "/ending", dialects.length), "refused");
});

t.test("each child of a template has its cap", async (t) => {
  const children = ["/each/a", "/each/b", "/each/c"];
  const answers = await Promise.all(children.map((path) => all(url, path, streams / 2)));
  for (const [i, path] of children.entries()) {
    const ended = answers[i]!;
    endAs(t, ended, "at the cap");
    const got = tokensIn(ended);
    t.ok(got <= tokensMax + 8 * ended.length, `${path}: ${got}`);
    const charged = await outputIn(url, path, ended.length);
    t.ok(charged >= got, `${path}: ${charged} are charged`);
    t.ok(charged + ended.length * promptMax >= 0.95 * tokensMax, `${path}: ${charged} are used`);
  }
});

t.test("a cap that is made soft, or deleted, while streams draw lets them go on", async (t) => {
  provider.tokensMax = 300;
  const limit = { max_tokens: 2 * tokensMax, hold: "soft" };
  for (const [name, operation, more] of [
    ["soft", "PUT /rate-limits", limit],
    ["gone", "DELETE /rate-limits", {}],
  ] as const) {
    const before = provider.calls.length;
    const answers = all(url, `/${name}`);
    await untilSent(before, tokensMax / 2);
    await slowly(() => change(t, operation, { ...key(name), ...more }));
    const ended = await answers;
    endAs(t, ended, "whole");
    t.equal(tokensIn(ended), streams * provider.tokensMax);
    t.equal(await outputIn(url, `/${name}`, streams), streams * provider.tokensMax);
    const rules = await until(
      () => rulesOf(url, `/${name}`),
      ([rule]) => (name === "gone" ? rule === undefined : rule?.["in_flight"] === 0),
    );
    for (const { tokens_used } of rules)
      t.ok(tokens_used > streams * provider.tokensMax, "and their prompts");
  }
  provider.tokensMax = 50_000;
});

t.test("two hundred streams draw while their daemon is killed twice", async (t) => {
  provider.pauseMs = 40;
  const before = provider.calls.length;
  const answers = all(url, "/crowd", 200);
  for (const part of [0.25, 0.5]) {
    await untilSent(before, part * crowdMax);
    await daemon.kill("SIGKILL");
    daemon = await site.startDaemon();
  }
  const ended = await answers;
  endAs(t, ended, "at the cap", "refused");
  const begun = ended.filter(({ end }) => end !== "refused");
  t.ok(begun.length > 100, `${begun.length} are admitted`);
  await isCharged(t, ended, { path: "/crowd", cap: crowdMax, before });
  provider.pauseMs = 20;
});

for (const mode of ["open", "closed"] as const)
  t.test(`failure_mode ${mode}: the daemon dies while streams draw, and comes back`, async (t) => {
    provider.tokensMax = 300;
    const other = makeSite(
      t,
      configuration(`limiter: { deadline_ms: 1000, failure_mode: ${mode} }`, ["away"]),
    );
    const dead = await other.startDaemon();
    const proxy = await other.startProxy();
    const before = provider.calls.length;
    const answers = all(proxy.ready, "/away");
    await untilSent(before, tokensMax / 4);
    await dead.kill("SIGKILL");
    const ended = await answers;
    endAs(t, ended, mode === "open" ? "whole" : "at the cap");
    await other.startDaemon();
    const cap = mode === "open" ? streams * provider.tokensMax : tokensMax;
    await isCharged(t, ended, { path: "/away", cap, before, at: proxy.ready });
    provider.tokensMax = 50_000;
  });

t.test("sluice up reloads and stops while streams wait at a cap", async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, "sluice.yaml");
  const server = "server: { proxies: 1, drain_grace_seconds: 0, drain_seconds: 60 }";
  writeFileSync(file, configuration(server, ["first", "second"]));
  const paths = ["--socket", join(directory, "l.sock"), "--data-dir", join(directory, "data")];
  const up = startProgram(t, programPath("sluice"), ["up", "--port=0", "--verbose", ...paths], {
    cwd: directory,
  });
  const at = (await up.line(/^ready: /)).replace(/^ready: +/, "");
  let last: readonly Ended[] = [];
  for (const [path, signal] of [
    ["/first", "SIGHUP"],
    ["/second", "SIGTERM"],
  ] as const) {
    const before = provider.calls.length;
    const answers = all(at, path);
    await untilAllDrawn(at, path);
    up.child.kill(signal);
    last = await answers;
    endAs(t, last, "at the cap");
    const got = tokensIn(last);
    t.ok(got <= tokensMax + 8 * streams, `${path}, ${signal}: ${got}`);
    if (signal === "SIGTERM") continue;
    const charged = await isCharged(t, last, { path, cap: tokensMax, before, at });
    t.ok(charged >= 0.95 * tokensMax, `${path}: ${charged} are used`);
  }
  t.match(await up.ended, { code: 0, signal: null });
  const again = startProgram(t, programPath("sluice"), ["up", "--port=0", ...paths], {
    cwd: directory,
  });
  const next = (await again.line(/^ready: /)).replace(/^ready: +/, "");
  const charged = await outputIn(next, "/second", streams);
  t.ok(charged >= tokensIn(last), `${charged} are charged before the stop`);
  const [rule] = await rulesOf(next, "/second");
  t.ok(rule!.tokens_used >= 0.95 * tokensMax, `${rule!.tokens_used} are used`);
});
