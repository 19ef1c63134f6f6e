/**
 * Request rewriters through real processes: what reaches the provider, and what usage reports about
 * it.
 */
import t from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyCompletion,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
  claude: { type: anthropic, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
prices:
  test/priced: { input: 3, output: 15 }
rewriters:
  - name: collapse_white_space
  - name: minify_tool_json
    paths: [/team, /messages]
  - name: drop_duplicate_system
    paths: [/team]
    models: [test/priced]
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

/** What the provider gets for a body. */
async function sent(
  path: string,
  body: string,
  endpoint = "/v1/chat/completions",
): Promise<string> {
  const response = await fetch(`${url}${endpoint}`, {
    method: "POST",
    headers: { "x-sluice-user-path": path },
    body,
  });
  await response.text();
  t.equal(response.status, 200);
  t.equal(response.headers.get("x-cache"), null, "the cache is off");
  return upstream.calls.at(-1)!.body;
}

async function usageOf(path: string): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${url}/v1/usage`, { headers: { "x-sluice-user-path": path } });
  return ((await response.json()) as { usage: Record<string, unknown> }).usage;
}

const code = "```\\na  b\\n\\n\\n```";
const system = '{"role":"system","content":"Be kind."}';

t.test(
  "a prompt goes to the provider without what was taken out, and with all the rest; usage shows what that saved",
  async (t) => {
    upstream.answer = (call) => replyCompletion(call, 1000);
    const body = `{"seed":12345678901234567890,"model":"priced","messages":[${system},{"role":"user","content":"a    b${"  ".repeat(100)}c\\n${code}"},${system},{"role":"tool","tool_call_id":"1","content":"{ \\"b\\" : 1.0 }"}], "n":1}`;
    t.equal(
      await sent("/team/app", body),
      `{"seed":12345678901234567890,"model":"priced","messages":[${system},{"role":"user","content":"a b c\\n${code}"},{"role":"tool","tool_call_id":"1","content":"{\\"b\\":1.0}"}], "n":1}`,
    );
    const tokens = Math.floor((3 + 199 + system.length + 4) / 4);
    t.match(await usageOf("/team"), {
      total_requests: 1,
      total_input_tokens: 1000,
      rewrite_tokens_saved: tokens,
      rewrite_cost_saved: (tokens * 3) / 1e6,
    });
    const client = await connectDaemon({ socketPath: site.socket });
    t.match(
      await client.call("usage.export", { user_path: "/team" }),
      exactly({
        ok: true,
        body: {
          records: [{ rewrite_tokens_saved: tokens, rewrite_cost_saved: (tokens * 3) / 1e6 }],
        },
      }),
    );
    client.close();
  },
);

t.test(
  "each is done for its paths and models alone; without a price a saving has none",
  async (t) => {
    const body = (model: string): string =>
      `{"model":"${model}","messages":[${system},${system},{"role":"tool","content":"[ 1 ]"},{"role":"user","content":"a          b"}]}`;
    const collapsed = (model: string): string => body(model).replace(/a +b/, "a b");
    t.equal(await sent("/other", body("priced")), collapsed("priced"));
    t.equal(await sent("/team", body("unpriced")), collapsed("unpriced").replace("[ 1 ]", "[1]"));
    t.match(await usageOf("/other"), { rewrite_tokens_saved: 2, rewrite_cost_saved: 0.000006 });
    await sent("/unpriced", body("unpriced"));
    const usage = await until(
      () => usageOf("/unpriced"),
      ({ total_requests: requests }) => requests === 1,
    );
    t.match(usage, { rewrite_tokens_saved: 2, unpriced_requests: 1 });
    t.notOk("rewrite_cost_saved" in usage);
  },
);

t.test(
  "Anthropic's messages are rewritten too, with the model's name beside it; other endpoints are not",
  async (t) => {
    upstream.answer = (call) =>
      void call.response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"type":"message","content":[],"usage":{"input_tokens":5,"output_tokens":1}}');
    const body =
      '{"model":"claude/c","max_tokens":9,"system":"a  b","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"{ }"}]},{"role":"assistant","content":"c  d"}]}';
    const rewritten = body.replace("claude/c", "c").replace("a  b", "a b").replace("{ }", "{}");
    t.equal(await sent("/messages", body, "/v1/messages"), rewritten);
    t.equal(
      await sent("/messages", body, "/v1/messages/count_tokens"),
      rewritten,
      "what is counted is what would be sent",
    );
    upstream.answer = (call) =>
      void call.response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"data":[],"usage":{"prompt_tokens":5,"total_tokens":5}}');
    t.equal(
      await sent("/other", '{"model":"m","input":"a  b"}', "/v1/embeddings"),
      '{"model":"m","input":"a  b"}',
    );
  },
);
