/**
 * The sessions of agents, in records, reports, exports and log lines: each agent's request as it
 * sends it, through each client dialect, streamed and whole.
 */
import t from "tap";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

const site = makeSite(
  t,
  `
server: { passthrough: all }
providers:
  sim: { type: simulator }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const proxy = await site.startProxy();
const { ready: url } = proxy;
const bearer = { authorization: `Bearer ${masterKey}` };

const messages = [{ role: "user", content: "hi" }];
const model = "sim/sim-fast";
const claudeUser = JSON.stringify({ device_id: "d", account_uuid: "a", session_id: "claude-2" });

interface Agent {
  readonly session: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const agents: readonly Agent[] = [
  {
    session: "claude-1",
    path: "/v1/messages",
    headers: { "x-claude-code-session-id": "claude-1", "anthropic-version": "2023-06-01" },
    body: { model, max_tokens: 20, messages, metadata: { user_id: claudeUser } },
  },
  {
    session: "claude-2",
    path: "/v1/messages",
    body: { model, max_tokens: 20, messages, metadata: { user_id: claudeUser }, stream: true },
  },
  {
    session: "codex-1",
    path: "/v1/responses",
    headers: { "session-id": "codex-1", "thread-id": "thread-1" },
    body: { model, input: "hi", prompt_cache_key: "thread-1", stream: true, store: false },
  },
  {
    session: "opencode-1",
    path: "/v1/chat/completions",
    headers: { "x-session-affinity": "opencode-1", "X-Session-Id": "opencode-1" },
    body: { model, messages },
  },
  {
    session: "key-1",
    path: "/v1/chat/completions",
    body: { model, messages, prompt_cache_key: "key-1", stream: true },
  },
  {
    session: "google-1",
    path: `/v1beta/models/${model}:generateContent`,
    headers: { "session-id": "google-1" },
    body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
  },
];

async function send({ path, headers, body }: Agent): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...bearer, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${text}`);
}

for (const agent of agents) for (let i = 0; i < 2; i++) await send(agent);
await send({ session: "", path: "/v1/chat/completions", body: { model, messages } });

interface Records {
  readonly records: readonly { readonly session: string | null; readonly endpoint: string }[];
}

const recordsOf = async (query: string): Promise<Records["records"]> =>
  ((await admin(url, `GET /usage/records${query}`, undefined, bearer)).body as unknown as Records)
    .records;

t.test("records name the session, and are found by it", async (t) => {
  await until(
    () => recordsOf(""),
    (all) => all.length === 2 * agents.length + 1,
  );
  for (const { session, path } of agents) {
    const found = await recordsOf(`?session=${session}`);
    t.same(
      found.map((record) => record.session),
      [session, session],
    );
    // A model in the path isn't part of the endpoint.
    t.ok(path.startsWith(found[0]!.endpoint.split(":")[0]!), found[0]!.endpoint);
  }
  t.same(await recordsOf("?session=none-such"), []);
  t.equal((await recordsOf("?session=")).length, 2 * agents.length + 1, "an empty value is absent");
});

t.test("usage is summed by session, for the master key alone", async (t) => {
  const of = async (path: string, headers: Readonly<Record<string, string>> = bearer) =>
    await (await fetch(`${url}${path}`, { headers })).json();
  const right = [
    ...agents.map(({ session }) => ({ key: session, requests: 2 })),
    { key: "(none)", requests: 1 },
  ];
  for (const path of ["/admin/usage?by=session", "/v1/usage?by=session"]) {
    const { groups } = (await of(path)) as {
      groups: readonly { readonly key: string; readonly requests: number }[];
    };
    const shown = groups.map(({ key, requests }) => ({ key, requests }));
    t.same(
      shown.sort((a, b) => (a.key < b.key ? -1 : 1)),
      right.sort((a, b) => (a.key < b.key ? -1 : 1)),
      path,
    );
  }
  const made = await admin(url, "POST /auth-keys", { name: "k", user_path: "/k" }, bearer);
  const { value } = made.body as unknown as { readonly value: string };
  t.match(await of("/v1/usage?by=session", { authorization: `Bearer ${value}` }), {
    error: { message: "by=session needs the master key" },
  });
});

t.test("log lines and exports have it", async (t) => {
  const csv = await fetch(`${url}/admin/usage/records?format=csv&session=codex-1`, {
    headers: bearer,
  });
  const [head = "", ...lines] = (await csv.text()).trim().split("\r\n");
  const column = head.split(",").indexOf("session");
  t.same(
    lines.map((line) => line.split(",")[column]),
    ["codex-1", "codex-1"],
  );
  for (const { session } of agents)
    await until(
      async () => proxy.output().split(`"session":"${session}"`).length - 1,
      (seen) => seen === 2,
    );
});
