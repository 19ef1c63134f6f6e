/**
 * Realtime sessions through real processes and http-proxy: OpenAI's own client, browsers'
 * credentials, limits, usage, and every way to end.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import t from "tap";
import { WebSocket } from "ws";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { startPassthroughProvider } from "../../support/providers/passthrough-provider.js";
import { created, delta, done, serveRealtime } from "../../support/providers/realtime-upstream.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const realtime = serveRealtime(upstream);
const serve = upstream.upgrade;
const master = "master-key.of_the-test";
const site = makeSite(
  t,
  `
server: { drain_seconds: 5 }
providers:
  test: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret-of-the-provider, models: ["gpt-realtime"], first_byte_timeout_ms: 500, idle_timeout_ms: 500 }
  azure: { type: azure, base_url: "${upstream.origin}/openai", api_key: secret-of-azure, api_version: "2025-04-01-preview", models: ["my voice"] }
  claude: { type: anthropic, base_url: "${upstream.origin}/v1", api_key: secret-of-claude, models: ["claude"] }
  sim: { type: simulator, operations: [realtime], models: [sim-fast] }
  nowhere: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: none, models: ["gone"] }
virtual_models:
  voice: { strategy: failover, targets: [ { model: claude/claude }, { model: test/gpt-busy }, { model: test/gpt-realtime } ] }
prices: { "test/*": { input: 1, output: 10 } }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_tokens: 100000 }, { period: concurrent, max_requests: 10 }] }
    - { path: /one, limits: [{ period: concurrent, max_requests: 1 }] }
  models:
    - { model: test/gpt-busy, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
`,
  { SLUICE_MASTER_KEY: master },
);
await site.startDaemon();
const proxy = await site.startProxy();
const { port } = new URL(proxy.ready);
const bearer = { authorization: `Bearer ${master}` };

const rule = async (subject: string, period: number) =>
  (await admin(proxy.ready, "GET /rate-limits", undefined, bearer)).body.rate_limits.find(
    (item) => item.subject === subject && item.period_seconds === period,
  )!;
const atRest = () =>
  until(
    () => rule("/", 0),
    ({ in_flight }) => in_flight === 0,
  );
const tokens = async () => (await rule("/", agesSeconds)).tokens_used;
const logged = (pattern: RegExp) => proxy.printed(pattern);

function open(
  path: string,
  {
    headers = bearer,
    protocols = [] as string[],
  }: { headers?: Record<string, string>; protocols?: string[] } = {},
): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers });
  socket.on("error", () => {});
  return socket;
}

const listening = new WeakMap<WebSocket, { readonly messages: string[]; changed: () => void }>();
/** The next messages of a session, as texts. */
async function messages(socket: WebSocket, count: number): Promise<string[]> {
  let inbox = listening.get(socket);
  if (inbox === undefined) {
    const fresh = { messages: [] as string[], changed: (): void => {} };
    socket.on("message", (message: Buffer) => {
      fresh.messages.push(message.toString());
      fresh.changed();
    });
    inbox = fresh;
    listening.set(socket, inbox);
  }
  const { messages: arrived } = inbox;
  while (arrived.length < count) {
    await new Promise<void>((resolve) => {
      inbox.changed = resolve;
    });
  }
  return inbox.messages.splice(0, count);
}

/** The plain answer to a handshake. */
async function refusal(
  path: string,
  headers: Record<string, string> = bearer,
): Promise<{
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: { error: Record<string, unknown> };
}> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  const [, answer] = (await once(socket, "unexpected-response")) as [
    unknown,
    import("node:http").IncomingMessage,
  ];
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) text += piece as string;
  return {
    status: answer.statusCode!,
    headers: answer.headers,
    body: (text === "" ? {} : JSON.parse(text)) as { error: Record<string, unknown> },
  };
}

t.test(
  "OpenAI's own realtime client talks through, and each of its responses is charged when it is done",
  async (t) => {
    const before = await rule("/", agesSeconds);
    const client = new OpenAI({ baseURL: `${proxy.ready}/v1`, apiKey: master });
    const session = new OpenAIRealtimeWS(
      {
        model: "gpt-realtime",
        options: {
          createConnection: () => connect(Number(port), "127.0.0.1"),
          headers: { cookie: "c=of-the-caller", "openai-beta": "realtime=v1" },
        } as never,
      },
      client,
    );
    const peer = await realtime.next();
    t.equal(peer.request.url, "/v1/realtime?model=gpt-realtime");
    t.match(peer.request.headers, {
      authorization: "Bearer secret-of-the-provider",
      "openai-beta": "realtime=v1",
      host: new URL(upstream.origin).host,
    });
    t.notMatch(JSON.stringify(peer.request.rawHeaders), /master-key|of-the-caller|extensions/i);
    await once(session.socket, "open");
    for (let i = 0; i < 2; i++) {
      session.send({ type: "response.create" });
      t.match(await session.emitted("response.done"), {
        response: { usage: { total_tokens: 15 } },
      });
      await until(
        () => rule("/", agesSeconds),
        ({ tokens_used: used }) => used === before.tokens_used + 15 * (i + 1),
      );
    }
    t.equal((await rule("/", 0)).in_flight, 1, "it holds one slot");
    session.close();
    await atRest();
    const after = await rule("/", agesSeconds);
    t.same(
      [after.requests_used - before.requests_used, after.tokens_used - before.tokens_used],
      [1, 30],
    );
    await logged(
      /"path":"\/v1\/realtime","status":101,"outcome":"complete".*"target":"test\/gpt-realtime".*"tokens":30,"input_tokens":20,"output_tokens":10,"cost_usd":0.00012/,
    );
  },
);

t.test(
  "a browser's key stands among its subprotocols: it opens the session, stays here, and isn't what was agreed on",
  async (t) => {
    const socket = open("/v1/realtime?model=gpt-realtime", {
      headers: {},
      protocols: ["realtime", `openai-insecure-api-key.${master}`],
    });
    const peer = await realtime.next();
    t.notMatch(JSON.stringify(peer.request.rawHeaders), /master-key|insecure/);
    t.equal(peer.request.headers["sec-websocket-protocol"], "realtime");
    await once(socket, "open");
    t.equal(socket.protocol, "realtime");
    socket.close();
    await atRest();
    const unknownCaller = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=gpt-realtime`, [
      "realtime",
      "openai-insecure-api-key.wrong",
    ]);
    const [, answer] = (await once(unknownCaller, "unexpected-response")) as [
      unknown,
      import("node:http").IncomingMessage,
    ];
    t.equal(answer.statusCode, 401);
    t.notMatch(proxy.output(), /master-key|secret-of/);
  },
);

t.test("compression is never offered, so that frames can be read", async (t) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=gpt-realtime`, {
    headers: bearer,
    perMessageDeflate: true,
  });
  const peer = await realtime.next();
  await once(socket, "open");
  t.equal(socket.extensions, "");
  t.equal(peer.socket.extensions, "");
  socket.close();
  await atRest();
});

t.test("refusals are plain answers, before the provider hears anything", async (t) => {
  const peers = realtime.peers.length;
  t.match(await refusal("/v1/realtime?model=gpt-realtime", {}), {
    status: 401,
    headers: { "www-authenticate": "Bearer" },
    body: { error: { type: "authentication_error" } },
  });
  t.match(await refusal("/v1/realtime?model=nope"), {
    status: 404,
    body: { error: { code: "model_not_found", param: "model" } },
  });
  t.match(await refusal("/v1/realtime"), { status: 400, body: { error: { param: "model" } } });
  t.match(await refusal("/v1/realtime?model=claude"), {
    status: 400,
    body: { error: { message: "provider claude does not offer realtime" } },
  });
  t.match(await refusal("/v1/realtime?model=sim/sim-fast"), {
    status: 400,
    body: { error: { message: "provider sim does not offer realtime" } },
  });
  t.match(await refusal("/p/sim/v1/realtime"), { status: 400 });
  t.match(await refusal("/p/nobody/v1/realtime"), { status: 404 });
  t.match(await refusal("/p/test/..%2fv1/realtime"), { status: 400 });
  const held = open("/v1/realtime?model=gpt-realtime", {
    headers: { ...bearer, "x-sluice-user-path": "/one" },
  });
  await once(held, "open");
  const full = await refusal("/v1/realtime?model=gpt-realtime", {
    ...bearer,
    "x-sluice-user-path": "/one",
  });
  t.match(full, {
    status: 429,
    headers: { "retry-after": "1", connection: "close" },
    body: {
      error: {
        code: "rate_limit_exceeded",
        message: "rate limit exceeded for /one: concurrent request limit of 1 reached",
      },
    },
  });
  held.close();
  await atRest();
  t.equal(realtime.peers.length, peers + 1);
  const plain = await fetch(`${proxy.ready}/v1/realtime?model=gpt-realtime`, { headers: bearer });
  t.equal(plain.status, 426);
  t.equal(plain.headers.get("upgrade"), "websocket");
  t.equal(
    (await fetch(`${proxy.ready}/v1/realtime`, { method: "POST", headers: bearer })).status,
    405,
  );
});

t.test("what the provider answers instead of switching is the client's answer", async (t) => {
  upstream.upgrade = ({ socket }) =>
    void socket.end(
      'HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nx-ratelimit-limit-requests: 7\r\ntransfer-encoding: chunked\r\n\r\n2f\r\n{"error":{"message":"no","code":"not_for_you"}}\r\n0\r\n\r\n',
    );
  t.match(await refusal("/v1/realtime?model=gpt-realtime"), {
    status: 502,
    headers: { "x-ratelimit-limit-requests": "1000" },
    body: {
      error: {
        type: "provider_error",
        message: "no",
        code: "provider_credentials",
        provider: "test",
      },
    },
  });
  t.match(await refusal("/p/test/v1/realtime?model=gpt-realtime"), {
    status: 403,
    headers: { "x-ratelimit-limit-requests": "7" },
    body: { error: { message: "no" } },
  });
  t.match(await refusal("/v1/realtime?model=gone"), {
    status: 502,
    body: { error: { code: "provider_unavailable", provider: "nowhere" } },
  });
  upstream.upgrade = ({ socket }) => void socket.destroy();
  t.match(await refusal("/v1/realtime?model=gpt-realtime"), { status: 502 });
  upstream.upgrade = () => {};
  t.match(await refusal("/v1/realtime?model=gpt-realtime"), { status: 504 });
  upstream.upgrade = serve;
  await atRest();
});

t.test(
  "a virtual model goes to its first target that offers sessions and has room; Azure's model is its deployment; passthrough takes any path",
  async (t) => {
    const table = [
      ["/v1/realtime?model=voice", "/v1/realtime?model=gpt-busy", "test/gpt-busy"],
      ["/v1/realtime?model=voice&x=1", "/v1/realtime?model=gpt-realtime&x=1", "test/gpt-realtime"],
      [
        "/v1/realtime?model=azure/my%20voice",
        "/openai/realtime?deployment=my%20voice&api-version=2025-04-01-preview",
        "azure/my%20voice",
      ],
      [
        "/p/test/v1/realtime?model=gpt-realtime&api-key=x",
        "/v1/realtime?model=gpt-realtime",
        "test/gpt-realtime",
      ],
      ["/p/test/realtime?call_id=rtc_1", "/v1/realtime?call_id=rtc_1", "test/-"],
    ] as const;
    for (const [asked, seen, target] of table) {
      const socket = open(asked);
      const opened = new Promise<string | string[] | undefined>((resolve) =>
        socket.once("upgrade", (answer) => resolve(answer.headers["x-sluice-target"])),
      );
      const peer = await realtime.next();
      t.equal(peer.request.url, seen);
      t.equal(await opened, target);
      socket.terminate();
      await atRest();
    }
  },
);

t.test("every message passes unaltered: large, binary, in pieces, pings", async (t) => {
  const socket = open("/v1/realtime?model=gpt-realtime");
  const peer = await realtime.next();
  await once(socket, "open");
  const large = "x".repeat(3 * 1024 * 1024);
  peer.socket.send(large);
  t.same(await messages(socket, 1), [large]);
  for (const piece of ["one ", "two "]) peer.socket.send(piece, { fin: false });
  peer.socket.ping();
  peer.socket.send("three");
  t.same(await messages(socket, 1), ["one two three"]);
  socket.send(Buffer.from([1, 2, 3]));
  t.same(await messages(socket, 1), ["\u0001\u0002\u0003"]);
  socket.ping("are you there");
  t.equal(String((await once(socket, "pong"))[0]), "are you there");
  socket.close(4321, "of its own");
  t.same((await once(peer.socket, "close")).map(String), ["4321", "of its own"]);
  await atRest();
});

t.test(
  "both sides end together, however one of them ends, and what was used is charged",
  async (t) => {
    const ends: Readonly<Record<string, (socket: WebSocket, peer: WebSocket) => unknown>> = {
      "the client closes": (socket) => socket.close(),
      "the client vanishes": (socket) => socket.terminate(),
      "the client resets": (socket) =>
        (socket as unknown as { _socket: Socket })._socket.resetAndDestroy(),
      "the provider closes": (_socket, peer) => peer.close(1000, "enough"),
      "the provider vanishes": (_socket, peer) => peer.terminate(),
      "the provider resets": (_socket, peer) =>
        (peer as unknown as { _socket: Socket })._socket.resetAndDestroy(),
    };
    for (const [name, end] of Object.entries(ends)) {
      const before = await tokens();
      const socket = open("/v1/realtime?model=gpt-realtime");
      const { socket: peer } = await realtime.next();
      await once(socket, "open");
      socket.send('{"type":"response.create"}');
      await messages(socket, 3);
      const closed = Promise.all([once(socket, "close"), once(peer, "close")]);
      end(socket, peer);
      await closed;
      await atRest();
      t.equal(await tokens(), before + 15, name);
    }
  },
);

t.test(
  "a response that is cut is charged with what was sent and seen of it, as an estimate with a bound",
  async (t) => {
    const before = await tokens();
    const headers = { ...bearer, "x-sluice-user-path": "/cut" };
    const socket = open("/v1/realtime?model=gpt-realtime", { headers });
    const { socket: peer } = await realtime.next();
    await once(socket, "open");
    for (const sent of [created, done(10, 5), created, delta("x".repeat(400))]) peer.send(sent);
    await messages(socket, 4);
    socket.terminate();
    await atRest();
    t.equal(await tokens(), before + 15 + 15 + 100);
    await logged(/"outcome":"client_gone".*"tokens":130.*"estimated":true/);
    const { usage } = (await (await fetch(`${proxy.ready}/v1/usage`, { headers })).json()) as {
      usage: object;
    };
    t.match(usage, { total_requests: 1, unknown_calls: 1, unknown_tokens_at_most: 1_000_015 });
  },
);

t.test("a response that was asked for, and never came, is charged what was sent", async (t) => {
  const before = await tokens();
  const headers = { ...bearer, "x-sluice-user-path": "/asked" };
  for (const path of ["/v1/realtime", "/p/test/v1/realtime"]) {
    const socket = open(`${path}?model=gpt-realtime`, { headers });
    const { socket: peer } = await realtime.next();
    peer.removeAllListeners("message");
    await once(socket, "open");
    const asked = once(peer, "message");
    socket.send(JSON.stringify({ type: "response.create", response: { input: "x".repeat(348) } }));
    await asked;
    peer.terminate();
    await once(socket, "close");
    await atRest();
  }
  t.equal(await tokens(), before + 200);
  const { usage } = (await (await fetch(`${proxy.ready}/v1/usage`, { headers })).json()) as {
    usage: object;
  };
  t.match(usage, { total_requests: 2, total_input_tokens: 200, unknown_calls: 2 });
});

t.test("a provider that is silent in the middle of a response is given up: 1011", async (t) => {
  const socket = open("/v1/realtime?model=gpt-realtime");
  const { socket: peer } = await realtime.next();
  await once(socket, "open");
  peer.send(created);
  t.same((await once(socket, "close")).map(String), [
    "1011",
    "the provider said nothing for 500 ms",
  ]);
  await atRest();
  await logged(/"outcome":"upstream_cut".*"note":"the provider said nothing for 500 ms"/);
});

t.test("what breaks the rules of frames passes too, and does no harm", async (t) => {
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    `GET /v1/realtime?model=gpt-realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${master}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  // Early: a frame of 2^62 bytes, before anything has opened.
  socket.write(
    Buffer.from([0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, ...Buffer.from("endless")]),
  );
  const { socket: peer } = await realtime.next();
  t.equal(
    await new Promise((resolve) => peer.once("close", resolve)),
    1006,
    "the provider ends it",
  );
  socket.destroy();
  await atRest();
});

t.test(
  "a proxy on its way out ends idle sessions at once and running ones after their response, both sides with 1001",
  async (t) => {
    const second = await site.startProxy();
    const sessions = [];
    for (let i = 0; i < 2; i++) {
      const socket = new WebSocket(
        `${second.ready.replace("http", "ws")}/v1/realtime?model=gpt-realtime`,
        { headers: bearer },
      );
      const peer = await realtime.next();
      await once(socket, "open");
      sessions.push({ socket, peer: peer.socket });
    }
    const [idle, busy] = sessions as [(typeof sessions)[0], (typeof sessions)[0]];
    busy.peer.send(created);
    await messages(busy.socket, 1);
    const closed = (session: typeof idle) =>
      Promise.all([once(session.socket, "close"), once(session.peer, "close")]).then((both) =>
        both.map(([code]) => code as number),
      );
    const idleClosed = closed(idle);
    const busyClosed = closed(busy);
    const stopped = second.kill("SIGTERM");
    t.same(await idleClosed, [1001, 1001]);
    t.equal(busy.socket.readyState, WebSocket.OPEN);
    busy.peer.send(done(1000, 1));
    t.same(await messages(busy.socket, 1), [done(1000, 1)]);
    t.same(await busyClosed, [1001, 1001]);
    await stopped;
    t.match(second.output(), /"tokens":1001/);
    t.match(second.output(), /proxy stopped/);
    t.notMatch(second.output(), /never acknowledged/);
  },
);

t.test("a proxy whose drain is over closes running sessions with 1001", async (t) => {
  const stopping = makeSite(
    t,
    `
server: { drain_seconds: 0 }
providers:
  test: { type: openai, base_url: "${upstream.origin}/v1", api_key: none, models: ["gpt-realtime"] }
`,
    { SLUICE_MASTER_KEY: master },
  );
  await stopping.startDaemon();
  const third = await stopping.startProxy();
  const address = `${third.ready.replace("http", "ws")}/v1/realtime?model=gpt-realtime`;
  const running = new WebSocket(address, { headers: bearer });
  const peer = await realtime.next();
  await once(running, "open");
  peer.socket.send(created);
  await messages(running, 1);
  const closed = once(running, "close");
  const stopped = third.kill("SIGTERM");
  t.equal((await closed)[0], 1001);
  await stopped;
  t.match(third.output(), /"status":101,"outcome":"shutdown"/);
});
