/**
 * Sessions of agents at a virtual model whose targets belong to two accounts, with two models of
 * one maker: an outage in mid-session, a compaction, a session that began elsewhere. The stand-ins
 * refuse what the real providers refuse, by model and by account.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { foreignSecret, withSecretsOf } from "../../clients/providers/accounts.js";
import { chatChunks, readChat } from "../../clients/providers/chat-answers.js";
import { googleChunks, readGoogle } from "../../clients/providers/google-answers.js";
import { googleRules } from "../../clients/providers/google-rules.js";
import { hosts } from "../../clients/providers/hosts.js";
import { messagesEvents, readMessages } from "../../clients/providers/messages-answers.js";
import { messagesRules } from "../../clients/providers/messages-rules.js";
import { readResponses, responsesEvents } from "../../clients/providers/responses-answers.js";
import { encrypted, responsesRules } from "../../clients/providers/responses-rules.js";
import { note, replyTo } from "../../clients/providers/script.js";
import {
  firstProblem,
  isJson,
  type Json,
  listOf,
  type Rule,
} from "../../clients/providers/shape.js";
import { makeSite } from "../../support/processes/processes.js";

/** The host of chat completions that an account is of. */
function chatHost(account: string): (typeof hosts)[number] {
  const name = account.startsWith("gemini") ? "gemini" : "openai";
  return hosts.find((host) => host.name === name)!;
}

/** What an account has received and refused. */
interface Account {
  isDown: boolean;
  requests: number;
  readonly refused: string[];
}

const accounts = new Map<string, Account>();
const accountOf = (name: string): Account => {
  const known = accounts.get(name) ?? { isDown: false, requests: 0, refused: [] };
  accounts.set(name, known);
  return known;
};

let numbered = 1000;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name = "", ...rest] = (request.url ?? "").split("?")[0]!.split("/");
  const path = rest.join("/");
  const account = accountOf(name);
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  const reply = (status: number, body: Json): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  if (account.isDown) return reply(503, { error: { message: "overloaded" } });
  account.requests++;
  const [, googleModel] = /models\/([^:]+):/.exec(path) ?? [];
  const body: Json = { ...(JSON.parse(text) as Json), ...(googleModel && { model: googleModel }) };
  const rules: readonly Rule[] = path.endsWith("messages")
    ? messagesRules
    : path.includes("responses")
      ? responsesRules
      : googleModel === undefined
        ? chatHost(name).rules["chat/completions"]!
        : googleRules;
  const problem = firstProblem(body, request.headers as Json, rules);
  const isMarked = /"(?:encrypted_content|signature)":"made_by/.test(text);
  const foreign = isMarked ? { message: "marked" } : foreignSecret(text, name);
  if (problem !== null || foreign !== null) {
    account.refused.push(problem ?? String(foreign!["message"]));
    const error = { type: "invalid_request_error", message: problem, param: null, ...foreign };
    return reply(400, { type: "error", error });
  }
  numbered += 10;
  const first = { first: numbered };
  if (path.endsWith("responses/compact")) {
    const users = listOf(body["input"]).filter(({ role }) => role === "user");
    const encrypted_content = `${encrypted}${first.first}-${name}`;
    const output = [...users, { type: "compaction", id: "cmp_1", encrypted_content }];
    const usage = { input_tokens: 9, output_tokens: 9, total_tokens: 18 };
    return reply(200, { id: "resp_c", object: "response.compaction", output, usage });
  }
  const events = path.endsWith("messages")
    ? messagesEvents(body, replyTo(readMessages(body)), first)
    : path.includes("responses")
      ? responsesEvents(body, replyTo(readResponses(body, [])), first)
      : googleModel === undefined
        ? chatChunks(body, replyTo(readChat(body)), chatHost(name).chat, first)
        : googleChunks(body, replyTo(readGoogle(body)), first);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    const data = withSecretsOf(name, JSON.stringify(event));
    const type = event["type"];
    response.write(`${typeof type === "string" ? `event: ${type}\n` : ""}data: ${data}\n\n`);
  }
  response.end();
}

const server = createServer((request, response) => void serve(request, response));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
t.teardown(() => {
  server.close();
  server.closeAllConnections();
});
const { port } = server.address() as AddressInfo;
const provider = (name: string, type: string, models: string): string =>
  `  ${name}: { type: ${type}, base_url: "http://127.0.0.1:${port}/${name}/v1", api_key: key-of-the-operator, retries: 0, breaker_failures: 0, models: [${models}] }`;
const site = makeSite(
  t,
  `
providers:
${provider("anthropic", "anthropic", "claude-opus-4-8")}
${provider("anthropic2", "anthropic", "claude-opus-4-8, claude-sonnet-4-5")}
${provider("openai", "openai", "gpt-5.2, gpt-5.5")}
${provider("azure", "azure", "gpt-5.2, gpt-5.5, gpt-4.1")}
${provider("gemini", "gemini", "gemini-3-pro-preview")}
${provider("gemini2", "gemini", "gemini-3-pro-preview, gemini-2.5-pro")}
rate_limits:
  user_paths: [{ path: /, limits: [{ period: day, max_requests: 100000 }] }]
virtual_models:
  claude: { targets: [{ model: anthropic/claude-opus-4-8 }, { model: anthropic2/claude-opus-4-8 }] }
  claude-moved: { strategy: failover, targets: [{ model: anthropic/claude-opus-4-8 }, { model: anthropic2/claude-sonnet-4-5 }] }
  gpt: { targets: [{ model: openai/gpt-5.5 }, { model: azure/gpt-5.5 }] }
  gpt-moved: { strategy: failover, targets: [{ model: openai/gpt-5.5 }, { model: azure/gpt-4.1 }] }
  gpt-chat: { targets: [{ model: openai/gpt-5.2 }, { model: azure/gpt-5.2 }] }
  gpt-chat-moved: { strategy: failover, targets: [{ model: openai/gpt-5.2 }, { model: azure/gpt-4.1 }] }
  gemini: { targets: [{ model: gemini/gemini-3-pro-preview }, { model: gemini2/gemini-3-pro-preview }] }
  gemini-moved: { strategy: failover, targets: [{ model: gemini/gemini-3-pro-preview }, { model: gemini2/gemini-2.5-pro }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

type History = readonly Json[];

/** An agent: how it writes requests, and what it keeps of answers. */
interface Agent {
  readonly name: string;
  readonly accounts: readonly [string, string];
  readonly model: string;
  readonly movedModel: string;
  readonly named: string;
  readonly headers?: Readonly<Record<string, string>>;
  path(model: string): string;
  body(model: string, history: History): Json;
  said(text: string): History;
  /** What the model's turn adds to the history. */
  turn(events: readonly Json[]): History;
  /** The results of the calls in it. */
  results(turn: History): History;
}

const schema = { type: "object", properties: { number: { type: "integer" } } };
const read_note = { name: "read_note", description: "Reads a note." };
const resultOf = (input: unknown): string => note(Number((input as Json)["number"]));

const claudeCode: Agent = {
  name: "Claude Code",
  accounts: ["anthropic", "anthropic2"],
  model: "claude",
  movedModel: "claude-moved",
  named: "anthropic/claude-opus-4-8",
  headers: {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "context-management-2025-06-27",
  },
  path: () => "/v1/messages",
  body: (model, history) => ({
    model,
    max_tokens: 100_000,
    stream: true,
    thinking: { type: "adaptive" },
    output_config: { effort: "xhigh" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    system: [{ type: "text", text: "You are Claude Code." }],
    messages: history,
    tools: [{ ...read_note, input_schema: schema }],
  }),
  said: (content) => [
    { role: "user", content },
    { role: "system", content: "The date is 2026-11-28." },
  ],
  turn(events) {
    const blocks: Record<string, unknown>[] = [];
    for (const { type, index, content_block: block, delta } of events) {
      if (type === "content_block_start") blocks[index as number] = { ...(block as Json) };
      if (type !== "content_block_delta") continue;
      const at = blocks[index as number]!;
      const { type: _, partial_json: json, ...texts } = delta as Json;
      for (const [name, text] of Object.entries(texts)) at[name] = `${at[name] ?? ""}${text}`;
      if (json !== undefined) at["json"] = `${at["json"] ?? ""}${json}`;
    }
    const content = blocks.map(({ json, ...block }) =>
      json === undefined ? block : { ...block, input: JSON.parse(String(json)) },
    );
    return [{ role: "assistant", content }];
  },
  results(turn) {
    const calls = listOf(turn[0]!["content"]).filter(({ type }) => type === "tool_use");
    if (calls.length === 0) return [];
    const content = calls.map(({ id, input }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: resultOf(input),
    }));
    return [{ role: "user", content }];
  },
};

const codex: Agent = {
  name: "Codex",
  accounts: ["openai", "azure"],
  model: "gpt",
  movedModel: "gpt-moved",
  named: "openai/gpt-5.5",
  path: () => "/v1/responses",
  body: (model, history) => ({
    model,
    instructions: "You are Codex.",
    input: history,
    tools: [{ type: "function", ...read_note, parameters: schema }],
    store: false,
    stream: true,
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "high", summary: "auto" },
    text: { verbosity: "low" },
  }),
  said: (text) => [{ type: "message", role: "user", content: [{ type: "input_text", text }] }],
  turn(events) {
    const completed = events.find(({ type }) => type === "response.completed");
    return listOf((completed!["response"] as Json)["output"]);
  },
  results: (turn) =>
    turn
      .filter(({ type }) => type === "function_call")
      .map(({ call_id, arguments: json }) => ({
        type: "function_call_output",
        call_id,
        output: resultOf(JSON.parse(String(json))),
      })),
};

const opencode: Agent = {
  name: "opencode",
  accounts: ["openai", "azure"],
  model: "gpt-chat",
  movedModel: "gpt-chat-moved",
  named: "openai/gpt-5.2",
  path: () => "/v1/chat/completions",
  body: (model, history) => ({
    model,
    messages: history,
    tools: [{ type: "function", function: { ...read_note, parameters: schema } }],
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: "high",
    verbosity: "low",
    max_completion_tokens: 60_000,
  }),
  said: (content) => [{ role: "user", content }],
  turn(events) {
    let content = "";
    const calls: Record<string, unknown>[] = [];
    for (const { delta } of events.flatMap(({ choices }) => listOf(choices))) {
      content += (delta as Json)["content"] ?? "";
      for (const { index, ...call } of listOf((delta as Json)["tool_calls"])) {
        const known = calls[index as number] ?? { ...call, function: {} };
        const called = known["function"] as Json;
        const { name, arguments: json } = call["function"] as Json;
        calls[index as number] = {
          ...known,
          function: {
            name: name ?? called["name"],
            arguments: `${called["arguments"] ?? ""}${json ?? ""}`,
          },
        };
      }
    }
    const more = calls.length === 0 ? {} : { tool_calls: calls };
    return [{ role: "assistant", content, ...more }];
  },
  results: (turn) =>
    listOf(turn[0]!["tool_calls"]).map(({ id, function: called }) => ({
      role: "tool",
      tool_call_id: id,
      content: resultOf(JSON.parse(String((called as Json)["arguments"]))),
    })),
};

const geminiCli: Agent = {
  name: "gemini-cli",
  accounts: ["gemini", "gemini2"],
  model: "gemini",
  movedModel: "gemini-moved",
  named: "gemini/gemini-3-pro-preview",
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
  body: (_model, history) => ({
    contents: history,
    tools: [{ functionDeclarations: [{ ...read_note, parametersJsonSchema: schema }] }],
    generationConfig: { thinkingConfig: { thinkingLevel: "HIGH", includeThoughts: true } },
  }),
  said: (text) => [{ role: "user", parts: [{ text }] }],
  turn(events) {
    const parts = events
      .flatMap(({ candidates }) => listOf(candidates))
      .flatMap(({ content }) => listOf((content as Json)["parts"]))
      .filter(({ thought, text }) => thought !== true && text !== "");
    const said = parts.map(({ text }) => text ?? "").join("");
    return [
      {
        role: "model",
        parts: [...(said === "" ? [] : [{ text: said }]), ...parts.filter(isCall)],
      },
    ];
  },
  results(turn) {
    const parts = listOf(turn[0]!["parts"])
      .filter(isCall)
      .map(({ functionCall: called }) => {
        const { name, args } = called as Json;
        return { functionResponse: { name, response: { output: resultOf(args) } } };
      });
    return parts.length === 0 ? [] : [{ role: "user", parts }];
  },
};

function isCall({ functionCall }: Json): boolean {
  return functionCall !== undefined;
}

interface Answer {
  readonly status: number;
  readonly target: string;
  readonly dropped: string;
  /** Requests left under the limit. */
  readonly left: number;
  readonly text: string;
  readonly turn: History;
}

async function ask(agent: Agent, model: string, history: History): Promise<Answer> {
  const response = await fetch(`${url}${agent.path(model)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...agent.headers },
    body: JSON.stringify(agent.body(model, history)),
  });
  const text = await response.text();
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, json]) => JSON.parse(json!) as Json,
  );
  const target = response.headers.get("x-sluice-target") ?? "";
  return {
    status: response.status,
    target: target.slice(0, target.indexOf("/")),
    dropped: response.headers.get("x-sluice-dropped") ?? "",
    left: Number(response.headers.get("x-ratelimit-remaining-requests")),
    text,
    turn: response.status === 200 ? agent.turn(events) : [],
  };
}

interface Session {
  readonly history: History;
  readonly answers: readonly Answer[];
}

/** Goes on until the model calls no more. `before`: runs before each request, by its number. */
async function goOn(
  t: Pick<Test, "equal">,
  agent: Agent,
  { model, history, before }: { model: string; history: History; before?: (n: number) => void },
): Promise<Session> {
  const answers: Answer[] = [];
  let all = history;
  for (;;) {
    before?.(answers.length);
    const answer = await ask(agent, model, all);
    answers.push(answer);
    if (answer.status !== 200 || answers.length > 9) {
      t.equal(answer.status, 200, answer.text.slice(0, 500));
      return { history: all, answers };
    }
    const results = agent.results(answer.turn);
    all = [...all, ...answer.turn, ...results];
    if (results.length === 0) return { history: all, answers };
  }
}

function begin(agent: Agent): readonly [Account, Account] {
  const [first, second] = agent.accounts.map(accountOf);
  for (const account of [first!, second!]) {
    account.isDown = false;
    account.requests = 0;
    account.refused.length = 0;
  }
  return [first!, second!];
}

const isDone = (history: History): boolean =>
  JSON.stringify(history.at(-1)).includes("The word is kumquat.") ||
  JSON.stringify(history.at(-1)).includes("The word was kumquat.");

for (const agent of [claudeCode, codex, opencode, geminiCli]) {
  t.test(
    `${agent.name}: an outage moves a session to another model of another account, and back`,
    async (t) => {
      const [first, second] = begin(agent);
      const model = agent.movedModel;
      const { history, answers } = await goOn(t, agent, {
        model,
        history: agent.said("[[TASK /notes]]"),
        before: (n) => (first.isDown = n === 1),
      });
      const [one, two] = agent.accounts;
      t.same(
        answers.map(({ target }) => target),
        [one, two, one],
      );
      t.ok(isDone(history), "the whole task");
      first.isDown = true;
      const again = [...history, ...agent.said("[[AGAIN]]")];
      const moved = await goOn(t, agent, { model, history: again });
      t.ok(isDone(moved.history), "with all of it");
      t.same([first.refused, second.refused], [[], []], "no account was sent what it refuses");
    },
  );

  t.test(`${agent.name}: reasoning goes to no other account of the same model`, async (t) => {
    const [first, second] = begin(agent);
    const { model } = agent;
    const { history } = await goOn(t, agent, {
      model,
      history: agent.said("[[TASK /notes]]"),
      before(n) {
        first.isDown = n % 2 === 1;
        second.isDown = n % 2 === 0;
      },
    });
    t.ok(isDone(history), "the whole task");
    t.same([first.refused, second.refused], [[], []]);
  });

  t.test(`${agent.name}: a session that began elsewhere goes on`, async (t) => {
    const [first, second] = begin(agent);
    const started = await goOn(t, agent, {
      model: agent.named,
      history: agent.said("[[TASK /notes]]"),
    });
    first.isDown = true;
    const history = [...started.history, ...agent.said("[[AGAIN]]")];
    const moved = await goOn(t, agent, { model: agent.model, history });
    t.ok(isDone(moved.history));
    t.same(first.refused, []);
    t.ok(second.refused.length <= 1, "at most one request more");
    const [last, before] = [moved.answers[0]!.left, started.answers.at(-1)!.left];
    t.equal(before - last, 1, "which the limits don't count");
  });
}

for (const agent of [claudeCode, codex, geminiCli])
  t.test(`${agent.name}: a session stays with its account in turn and turn about`, async (t) => {
    const [first, second] = begin(agent);
    for (let i = 0; i < 4; i++) {
      const { answers } = await goOn(t, agent, {
        model: agent.model,
        history: agent.said("[[TASK /notes]]"),
      });
      t.equal(new Set(answers.map(({ target }) => target)).size, 1, answers[0]!.target);
    }
    t.same([first.refused, second.refused], [[], []]);
    t.equal(first.requests, second.requests, "sessions take turns");
  });

const elsewhere: readonly (readonly [Agent, maker: Agent])[] = [
  [claudeCode, codex],
  [claudeCode, geminiCli],
  [codex, claudeCode],
  [codex, geminiCli],
  [opencode, claudeCode],
  [opencode, geminiCli],
  [geminiCli, claudeCode],
  [geminiCli, codex],
];
for (const [agent, maker] of elsewhere)
  t.test(`${agent.name} at models of ${maker.name}'s maker moves between accounts`, async (t) => {
    const [first, second] = begin(maker);
    const { history, answers } = await goOn(t, agent, {
      model: maker.model,
      history: agent.said("[[TASK /notes]]"),
      before(n) {
        first.isDown = n % 2 === 1;
        second.isDown = n % 2 === 0;
      },
    });
    t.ok(isDone(history), "the whole task");
    t.equal(answers.length, 3);
    t.same([first.refused, second.refused], [[], []]);
  });

t.test("Codex: a compaction goes back to its account; elsewhere a note replaces it", async (t) => {
  const [first, second] = begin(codex);
  const { history } = await goOn(t, codex, {
    model: codex.model,
    history: codex.said("[[TASK /notes]]"),
  });
  const response = await fetch(`${url}/v1/responses/compact`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: codex.model, input: history }),
  });
  t.equal(response.status, 200);
  const { output } = (await response.json()) as { readonly output: History };
  const compacted = [...output, ...codex.said("Go on.")];
  const kept = await ask(codex, codex.model, compacted);
  t.same([kept.status, kept.dropped], [200, ""]);
  (kept.target === codex.accounts[0] ? first : second).isDown = true;
  const moved = await ask(codex, codex.model, compacted);
  t.same([moved.status, moved.dropped], [200, "input[] (compaction)"], moved.text.slice(0, 300));
  t.not(moved.target, kept.target);
  t.same([first.refused, second.refused], [[], []]);
  const claude = await ask(codex, claudeCode.model, compacted);
  t.equal(claude.status, 200, claude.text.slice(0, 300));
  t.ok(isJson(claude.turn[0]));
});
