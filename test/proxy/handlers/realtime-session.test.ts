import t from "tap";
import { authenticatedCaller, type Caller } from "../../../proxy/auth/caller.js";
import { passthroughSession, realtimeSession } from "../../../proxy/handlers/realtime-session.js";
import type { ClientSocket } from "../../../proxy/http/exchange.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import { OpenSessions } from "../../../proxy/upstream/passthrough/open-sessions.js";
import type {
  PassthroughUpstream,
  TunnelSink,
} from "../../../proxy/upstream/passthrough/passthrough-upstream.js";
import { exactly } from "../../support/patterns/exactly.js";
import { FakeExchange } from "../fake-exchange.js";
import { fakeGateway } from "../fake-gateway.js";

const yaml = `
server: { passthrough: true }
providers:
  chatty: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x, live], operations: [chat_completions] }
  open: { type: openai, base_url: "http://127.0.0.1:1/v1/", models: [live] }
  deployed: { type: azure, base_url: "http://127.0.0.1:1/openai", api_version: "2024-10-21", api_key: k, models: [live2], operations: [realtime] }
  pretend: { type: simulator, models: [sim] }
virtual_models:
  mixed: { strategy: failover, targets: [{ model: chatty/live }, { model: open/live }] }
`;
const socket = {} as ClientSocket;

interface Opened {
  readonly path: string;
  readonly headers: readonly string[];
  readonly sink: TunnelSink;
}

async function open(
  query: string,
  {
    caller = authenticatedCaller("/team"),
    headers = [] as readonly string[],
    webSocket = socket as ClientSocket | null,
    path = "/v1/realtime",
    leaves = false,
  }: {
    caller?: Caller;
    headers?: readonly string[];
    webSocket?: ClientSocket | null;
    path?: string;
    leaves?: boolean;
  } = {},
) {
  const fake = fakeGateway(yaml);
  const opened: Opened[] = [];
  const upstream = {
    tunnel(_: ClientSocket, { path, headers }: Opened, sink: TunnelSink) {
      opened.push({ path, headers, sink });
      return { expect() {}, close() {}, abort() {} };
    },
    redact: (text: string) => text,
  } as unknown as PassthroughUpstream;
  for (const [name, provider] of fake.gateway.providers)
    (fake.gateway.providers as Map<string, unknown>).set(name, {
      ...provider,
      passthrough: name === "pretend" ? null : upstream,
    });
  Object.assign(fake.gateway, { sessions: new OpenSessions() });
  Object.assign(fake.gateway.limiter, { notices: { keysExist: false }, reachable: true });
  const exchange = new FakeExchange({ method: "GET", path, query, headers });
  exchange.webSocket = webSocket;
  const record = new RequestRecord(0);
  const context = { gateway: fake.gateway, exchange, caller, record } as RequestContext;
  if (leaves) exchange.leave();
  const done =
    path === "/v1/realtime" ? realtimeSession(context) : passthroughSession(context, socket);
  await new Promise((resolve) => setImmediate(resolve));
  const text = exchange.body.toString();
  return {
    ...fake,
    opened,
    exchange,
    record,
    done,
    body: text === "" ? null : (JSON.parse(text) as unknown),
  };
}

t.test("a session is admitted, opened at its target, and settled when it ends", async (t) => {
  const { opened, admitted, settled, record, done, exchange } = await open("model=open/live&x=1", {
    headers: [
      "sec-websocket-protocol",
      "realtime, openai-insecure-api-key.secret",
      "user-agent",
      "b",
    ],
  });
  t.match(
    admitted,
    exactly([{ targets: [{ provider: "open", model: "live" }], submission: false }]),
  );
  t.match(opened, exactly([{ path: "/v1/realtime?model=live&x=1" }]));
  t.same(opened[0]!.headers, ["user-agent", "b", "sec-websocket-protocol", "realtime"]);
  t.equal(record.model, "open/live");
  const head = opened[0]!.sink.onOpen([]);
  t.ok(head.includes("x-sluice-target"));
  t.ok(head.includes("open/live"));
  t.same(settled, [], "while it lasts it holds its slot");
  opened[0]!.sink.onEnd({ by: "client", reason: null });
  await done;
  t.equal(settled.length, 1);
  t.match(record, { status: 101, target: { provider: "open" } });
  t.same(exchange.calls, [], "the tunnel itself has answered");
});

t.test("targets without realtime are left out, and the path is the provider's own", async (t) => {
  for (const [query, path, provider] of [
    ["model=mixed", "/v1/realtime?model=live", "open"],
    [
      "model=deployed/live2",
      "/openai/realtime?deployment=live2&api-version=2024-10-21",
      "deployed",
    ],
    ["a=%20&model=open%2Flive", "/v1/realtime?a=%20&model=live", "open"],
  ] as const) {
    const { opened, admitted } = await open(query);
    t.match(admitted, exactly([{ targets: [{ provider }] }]));
    t.equal(admitted[0]!.targets.length, 1);
    const [where = "", sent = ""] = opened[0]!.path.split("?");
    const [wanted = "", parameters = ""] = path.split("?");
    t.equal(where, wanted);
    t.same(sent.split("&").sort(), parameters.split("&").sort(), query);
  }
});

t.test("what is no session is refused, and neither admitted nor opened", async (t) => {
  const table: readonly (readonly [string, Parameters<typeof open>[1], number, object])[] = [
    ["model=open/live", { webSocket: null }, 426, {}],
    ["", {}, 400, { param: "model" }],
    ["model=%20", {}, 400, { param: "model" }],
    ["model=nobody/x", {}, 404, { code: "model_not_found" }],
    ["model=chatty/x", {}, 400, {}],
    ["model=pretend/sim", {}, 400, {}],
    ["model=open/live&a=\u0001", {}, 400, {}],
    ["model=open/live&model=open/dear", {}, 400, { param: "model" }],
    ["model=open/live&Model=open/dear", {}, 400, { param: "model" }],
    ["model=open/live&deployment=dear", {}, 400, { param: "model" }],
    ["", { path: "/p/nobody/v1/realtime" }, 404, {}],
    ["", { path: "/p/pretend/v1/realtime" }, 400, {}],
    ["model=live&model=dear", { path: "/p/open/v1/realtime" }, 400, { param: "model" }],
  ];
  for (const [query, how, status, error] of table) {
    const { exchange, body, admitted, opened, settled, record } = await open(query, how);
    t.equal(exchange.status, status, `${how?.path ?? ""} ${query}`);
    t.match(body, { error });
    t.same([admitted, opened, settled], [[], [], []]);
    t.match(record, { status, outcome: "refused" });
    t.equal(exchange.sent("upgrade"), status === 426 ? "websocket" : undefined);
  }
});

t.test(
  "a passthrough session goes where its path says, with the model that it names",
  async (t) => {
    for (const [path, query, sent, model] of [
      ["/p/open/v1/realtime", "model=live", "/v1/realtime?model=live", "live"],
      ["/p/open/v1/realtime", "deployment=d", "/v1/realtime?deployment=d", "d"],
      ["/p/open/v1/any", "", "/v1/any", ""],
    ] as const) {
      const { opened, admitted, record, done, settled } = await open(query, { path });
      t.match(opened, exactly([{ path: sent }]));
      t.match(admitted, exactly([{ targets: [{ provider: "open", model }] }]));
      t.equal(record.model, model === "" ? null : model);
      opened[0]!.sink.onAnswer(403, [], Buffer.from("no"));
      await done;
      t.equal(settled.length, 1);
      t.match(record, { status: 403, outcome: "upstream_error" });
    }
  },
);

t.test("a session that was refused by a rule isn't opened", async (t) => {
  const { exchange, opened } = await open("model=open/live", { leaves: true });
  t.same([exchange.calls, opened], [[], []], "nor one whose client left");
});

t.test("each response is charged when it is done, and the session with the rest", async (t) => {
  const { opened, progress, settled, record, done, exchange } = await open("model=open/live");
  const { sink } = opened[0]!;
  sink.onOpen([]);
  const hear = (event: object): void => sink.onFromProvider(textFrame(JSON.stringify(event)));
  const used = { total_tokens: 15, input_tokens: 10, output_tokens: 5 };
  for (let i = 0; i < 2; i++) {
    hear({ type: "response.created" });
    t.equal(progress.length, i);
    hear({ type: "response.done", response: { usage: used } });
  }
  t.match(
    progress,
    exactly([
      { tokens: 15, record: { requestId: exchange.id, status: 102, inputTokens: 10 } },
      { tokens: 15, estimated: false },
    ]),
  );
  hear({ type: "response.created" });
  hear({ type: "response.output_text.delta", delta: "x".repeat(40) });
  sink.onEnd({ by: "client", reason: null });
  await done;
  t.match(
    settled,
    exactly([
      {
        tokens: 25,
        estimated: true,
        record: { status: 101, inputTokens: 15, outputTokens: 10, atMost: { tokens: 1_000_015 } },
      },
    ]),
  );
  t.match(record, { usage: { totalTokens: 55, inputTokens: 35 }, estimated: true });
});

/** An unmasked frame, as providers send it. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head =
    payload.length < 126
      ? [0x81, payload.length]
      : [0x81, 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from(head), payload]);
}
