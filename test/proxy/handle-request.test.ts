/**
 * A request through the proxy without a socket: each is answered once, by whom it is for, after the
 * checks that are its. What is thrown on its way is in `handlers/fail-request.test.ts`.
 */
import t from "tap";
import {
  FairTurns,
  RunningPerCaller,
  runningPerCallerMax,
} from "../../proxy/capacity/unlimited-requests.js";
import type { Capacity, Gateway } from "../../proxy/gateway.js";
import { handleRequest } from "../../proxy/handle-request.js";
import type { ClientSocket } from "../../proxy/http/exchange.js";
import { exactly } from "../support/patterns/exactly.js";
import { FakeExchange } from "./fake-exchange.js";
import { fakeCapacity, fakeGateway } from "./fake-gateway.js";

const yaml = `
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] }
`;

interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  readonly masterKey?: string | null;
  readonly keysExist?: boolean;
  readonly authorization?: unknown;
  readonly webSocket?: boolean;
  readonly capacity?: Capacity;
  readonly runningPerCaller?: Gateway["runningPerCaller"];
  readonly fairTurns?: Gateway["fairTurns"];
  /** The client leaves before the request is looked at. */
  readonly gone?: boolean;
}

async function ask({
  method = "GET",
  path,
  headers = [],
  body = "",
  masterKey = "master-key-of-the-test",
  keysExist = false,
  authorization = { kind: "authorized", userPath: "/of-key", keyId: "key_1" },
  webSocket = false,
  capacity = fakeCapacity(),
  runningPerCaller = new RunningPerCaller(runningPerCallerMax),
  fairTurns = new FairTurns(1000, () => {}),
  gone = false,
}: Ask) {
  const fake = fakeGateway(yaml);
  const lines: { readonly level: string; readonly fields: Record<string, unknown> }[] = [];
  const authorized: string[] = [];
  Object.assign(fake.gateway, {
    capacity,
    runningPerCaller,
    fairTurns,
    credentials: {
      masterKey,
      jwt: null,
      userPathHeader: "x-sluice-user-path",
      open: masterKey === null,
      adminOpen: masterKey === null,
      metricsToken: "token-of-the-test",
      metricsOpen: false,
      importedKeysMayExist: () => false,
      hashKey: (key: string) => `hash of ${key}`,
      isHashOf: (hash: string, secret: string) => hash === `hash of ${secret}`,
    },
    log: {
      isLevelEnabled: () => true,
      line: (level: string, fields: string) =>
        void lines.push({ level, fields: JSON.parse(`{${fields}}`) as Record<string, unknown> }),
      error() {},
      warn() {},
      info() {},
    },
    sessionKeeping: { trustedProxies: [] },
    stopping: () => false,
  } as unknown as Partial<Gateway>);
  Object.assign(fake.gateway.limiter, {
    reachable: true,
    notices: {
      keysExist,
      inertRules: 0,
      inertBudgets: 0,
      storeFailing: null,
      clusterFailing: null,
      lastBackupMs: Date.parse("2026-11-23T12:00:00.500Z"),
    },
    unsettled: 0,
    authorize(credential: string) {
      authorized.push(credential);
      return Promise.resolve(authorization);
    },
    call: () =>
      Promise.resolve({ ok: true, body: { keys: [], in_flight: [], refusals: [], next: null } }),
  });
  const exchange = new FakeExchange({ method, path, headers });
  exchange.sentPieces = [Buffer.from(body)];
  exchange.gone = gone;
  if (webSocket) exchange.webSocket = {} as ClientSocket;
  await handleRequest(fake.gateway, exchange);
  exchange.memory.onResponseEnd();
  if (exchange.ledger.held > 0) throw new Error("memory is still taken");
  return { ...fake, exchange, lines, authorized };
}

const master = ["authorization", "Bearer master-key-of-the-test"];
const managed = ["authorization", `Bearer sk-sluice-${"a".repeat(43)}`];
const chat = '{"model":"one/x","messages":[]}';

t.test("each request is answered once, and has one line in the log", async (t) => {
  const table: readonly (readonly [Ask, number, string])[] = [
    [{ path: "/nowhere" }, 404, "refused"],
    [{ path: "/v1/nowhere" }, 404, "refused"],
    [{ method: "DELETE", path: "/v1/chat/completions" }, 405, "refused"],
    [{ path: "/v1/models" }, 401, "refused"],
    [{ path: "/v1/models", headers: ["authorization", "Bearer wrong"] }, 401, "refused"],
    [{ path: "/v1/models", headers: master }, 200, "answered"],
    [{ path: "/v1/models/one/x", headers: master }, 200, "answered"],
    [{ path: "/v1/models", headers: [...master, "X-Sluice-Path", "/a"] }, 400, "refused"],
    [{ path: "/v1/models", headers: ["X-Sluice-Path", "/a"] }, 401, "refused"],
    [{ path: "/admin/targets", headers: [...master, "X-Sluice-Path", "/a"] }, 200, "answered"],
    [{ path: "/admin/rate-limits", headers: managed }, 403, "refused"],
    [{ path: "/admin/targets", headers: managed }, 403, "refused"],
    [{ path: "/admin/targets", headers: master }, 200, "answered"],
    [
      { path: "/v1/models", headers: managed, authorization: { kind: "denied", ended: null } },
      401,
      "refused",
    ],
    [
      { path: "/v1/models", headers: managed, authorization: { kind: "unavailable" } },
      503,
      "limiter_unavailable",
    ],
    [
      { method: "POST", path: "/v1/chat/completions", headers: master, body: chat },
      200,
      "complete",
    ],
    [{ method: "POST", path: "/v1/chat/completions", headers: master, body: "{" }, 400, "refused"],
    [{ path: "/v1/realtime", headers: master }, 426, "refused"],
    [{ path: "/v1/responses", headers: master }, 426, "refused"],
    [{ method: "DELETE", path: "/v1/responses" }, 405, "refused"],
    [{ path: "/v1/vector_stores" }, 404, "refused"],
    [{ method: "POST", path: "/v1beta/models/x:predict" }, 404, "refused"],
    [{ method: "DELETE", path: "/v1beta/models/x:predict" }, 405, "refused"],
    [{ path: "/v1/models", masterKey: null }, 200, "answered"],
    [{ path: "/v1/models", masterKey: null, keysExist: true }, 401, "refused"],
  ];
  for (const [request, status, outcome] of table) {
    const { exchange, lines } = await ask(request);
    const what = `${request.method ?? "GET"} ${request.path} ${status}`;
    t.equal(exchange.status, status, what);
    t.not(exchange.ended, null, what);
    const level = status >= 500 ? "warn" : "info";
    t.match(
      lines,
      exactly([{ level, fields: { status, outcome, path: request.path, request_id: "req_test" } }]),
      what,
    );
    t.equal(lines.length, 1);
    if (status === 405) t.match(exchange.sent("allow"), /POST|GET/);
  }
});

t.test("health is answered without a caller, and logged where only a debugger looks", async (t) => {
  for (const path of ["/health", "/ready"]) {
    const { exchange, lines, authorized } = await ask({ path });
    t.equal(exchange.status, 200);
    t.match(lines, exactly([{ level: "debug", fields: { outcome: "answered" } }]));
    t.same(authorized, []);
  }
});

t.test("what /health says beside its status is for operators", async (t) => {
  const bearer = (key: string): string[] => ["authorization", `Bearer ${key}`];
  const open = { masterKey: null };
  const table: readonly [string, Partial<Ask>, boolean][] = [
    ["nothing is shown", {}, false],
    ["a wrong key", { headers: bearer("wrong") }, false],
    ["a managed key", { headers: managed }, false],
    ["the master key", { headers: bearer("master-key-of-the-test") }, true],
    ["the token for scrapes", { headers: bearer("token-of-the-test") }, true],
    ["an open gateway", { ...open, headers: bearer("token-of-the-test") }, true],
    ["a stranger's cookie", { headers: ["cookie", "sluice_session=x"] }, false],
  ];
  for (const [name, how, expected] of table) {
    const { exchange } = await ask({ path: "/health", ...how });
    const body = JSON.parse(exchange.body.toString()) as Record<string, unknown>;
    t.equal(exchange.status, 200, name);
    t.equal("limiter" in body, expected, name);
    t.equal(body["status"], "ok", name);
    if (expected) t.match(body["limiter"], { last_backup_at: "2026-11-23T12:00:00Z" }, name);
  }
});

t.test(
  "the key of a limited request is checked with its admission, of any other before",
  async (t) => {
    const limited = await ask({
      method: "POST",
      path: "/v1/chat/completions",
      headers: [...managed, "content-length", String(chat.length)],
      body: chat,
    });
    t.same(limited.authorized, []);
    t.equal(limited.admitted.length, 1);
    const large = await ask({
      method: "POST",
      path: "/v1/chat/completions",
      headers: [...managed, "transfer-encoding", "chunked"],
      body: chat,
    });
    t.equal(large.authorized.length, 1, "one whose body may be large, before it is read");
    const plain = await ask({ path: "/v1/models", headers: managed });
    t.equal(plain.authorized.length, 1);
    t.match(plain.lines, exactly([{ fields: { user_path: "/of-key", key: "key_1" } }]));
    t.notMatch(JSON.stringify(plain.lines), /sk-sluice/);
  },
);

/** A request to each of them. */
const unlimitedRequests: Readonly<
  Record<keyof typeof runningPerCallerMax, readonly [string, string]>
> = {
  count_tokens: ["POST", "/v1/messages/count_tokens"],
  input_tokens: ["POST", "/v1/responses/input_tokens"],
  count_content_tokens: ["POST", "/v1beta/models:countTokens"],
  uploads: ["POST", "/v1/uploads"],
  containers: ["GET", "/v1/containers"],
  conversations: ["POST", "/v1/conversations"],
  message_batches: ["GET", "/v1/messages/batches"],
  files: ["GET", "/v1/files"],
  batches: ["GET", "/v1/batches"],
  stored_responses: ["GET", "/v1/responses/r"],
  responses_socket: ["GET", "/v1/responses"],
  mcp_session: ["GET", "/mcp/tracker"],
  stored_interactions: ["GET", "/v1beta/interactions/i"],
  model: ["GET", "/v1/models/one/x"],
  models: ["GET", "/v1/models"],
  usage: ["GET", "/v1/usage"],
  limits: ["GET", "/admin/limits"],
  "rate-limits": ["GET", "/admin/rate-limits"],
  "rate-limits-children": ["GET", "/admin/rate-limits/children"],
  "rate-limits-test": ["POST", "/admin/rate-limits/test"],
  "rate-limits-raise": ["POST", "/admin/rate-limits/raise"],
  "rate-limits-reset-one": ["POST", "/admin/rate-limits/reset-one"],
  "rate-limits-reset": ["POST", "/admin/rate-limits/reset"],
  budgets: ["GET", "/admin/budgets"],
  "budgets-children": ["GET", "/admin/budgets/children"],
  "budgets-raise": ["POST", "/admin/budgets/raise"],
  "budgets-reset-one": ["POST", "/admin/budgets/reset-one"],
  "budgets-reset": ["POST", "/admin/budgets/reset"],
  "budgets-settings": ["GET", "/admin/budgets/settings"],
  "auth-keys": ["GET", "/admin/auth-keys"],
  "auth-keys-rotate": ["POST", "/admin/auth-keys/k/rotate"],
  "auth-keys-deactivate": ["POST", "/admin/auth-keys/k/deactivate"],
  "auth-keys-delete": ["DELETE", "/admin/auth-keys/k"],
  "denied-jwts": ["GET", "/admin/denied-jwts"],
  explain: ["POST", "/admin/explain"],
  live: ["GET", "/admin/live"],
  targets: ["GET", "/admin/targets"],
  "in-flight": ["GET", "/admin/in-flight"],
  queues: ["GET", "/admin/queues"],
  refusals: ["GET", "/admin/refusals"],
  "upstream-limits": ["GET", "/admin/upstream-limits"],
  status: ["GET", "/admin/status"],
  "usage-summary": ["GET", "/admin/usage"],
  "usage-records": ["GET", "/admin/usage/records"],
  "usage-export": ["GET", "/admin/usage/export"],
  "usage-follow": ["GET", "/admin/usage/follow"],
  "usage-reprice": ["POST", "/admin/usage/reprice"],
  providers: ["GET", "/admin/providers"],
  config: ["GET", "/admin/config"],
  alerts: ["GET", "/admin/alerts"],
  "alerts-test": ["POST", "/admin/alerts/test"],
  requests: ["GET", "/admin/requests"],
  request: ["GET", "/admin/requests/req_1"],
  sessions: ["GET", "/admin/sessions"],
  tenants: ["GET", "/admin/tenants"],
  traffic: ["GET", "/admin/traffic"],
  audit: ["GET", "/admin/audit"],
  reconciliations: ["GET", "/admin/reconciliations"],
  metrics: ["GET", "/metrics"],
  "metrics-limiter": ["GET", "/metrics/limiter"],
};

t.test("each endpoint that costs no admission has a bound of its own", async (t) => {
  for (const [endpoint, [method, path]] of Object.entries(unlimitedRequests)) {
    const runningPerCaller = new RunningPerCaller({ ...runningPerCallerMax, [endpoint]: 1 });
    const kind = endpoint as keyof typeof runningPerCallerMax;
    runningPerCaller.begin(kind, "/");
    const { exchange, lines } = await ask({ method, path, headers: master, runningPerCaller });
    t.same([exchange.status, exchange.sent("retry-after")], [503, "1"], endpoint);
    t.match(lines, exactly([{ fields: { status: 503, outcome: "overloaded" } }]));
    runningPerCaller.end(kind, "/");
    const served = await ask({ method, path, headers: master, runningPerCaller });
    t.not(served.lines[0]!.fields["outcome"], "overloaded", endpoint);
    t.equal(runningPerCaller.size, 0, "it is given back");
  }
});

t.test("a request that costs no admission begins in its caller's turn", async (t) => {
  for (const [endpoint, [method, path]] of Object.entries(unlimitedRequests))
    for (const gone of [false, true]) {
      const order: string[] = [];
      const fairTurns = new FairTurns(1, (run) =>
        setImmediate(() => {
          order.push("turn");
          run();
        }),
      );
      void fairTurns.take("another");
      const asked = ask({ method, path, headers: master, fairTurns, gone });
      const { lines } = await asked.finally(() => order.push("answered"));
      t.same(order.slice(0, 2), ["turn", "answered"], endpoint);
      t.equal(lines[0]!.fields["outcome"] === "client_gone", gone, endpoint);
    }
});

t.test("a browser's key among the subprotocols counts at an upgrade alone", async (t) => {
  const headers = [
    "sec-websocket-protocol",
    "realtime, openai-insecure-api-key.master-key-of-the-test",
  ];
  const upgrade = await ask({ path: "/v1/realtime", headers, webSocket: true });
  t.equal(upgrade.exchange.status, 400, "it gets past the door: it names no model");
  const plain = await ask({ path: "/v1/realtime", headers });
  t.equal(plain.exchange.status, 401);
});

t.test(
  "a full proxy refuses all but probes before anything else, and says what it lacks",
  async (t) => {
    const room = fakeCapacity();
    const full = { ...room, connections: { ...room.connections, isFull: true } };
    const exhausted = { ...room, files: { isExhausted: true } };
    for (const path of ["/nowhere", "/v1/models", "/admin/rate-limits", "/v1/chat/completions"])
      for (const [capacity, message] of [
        [full, "10 requests are running already"],
        [exhausted, "Sluice has no file descriptors left"],
      ] as const) {
        const { exchange, lines, authorized } = await ask({ path, headers: managed, capacity });
        t.same(
          [exchange.status, exchange.sent("retry-after"), exchange.sent("connection")],
          [503, "1", "close"],
          path,
        );
        const answer = JSON.parse(exchange.body.toString()) as { error?: object };
        t.match(answer.error ?? answer, { code: "overloaded", type: "internal_error", message });
        t.match(lines, exactly([{ fields: { status: 503, outcome: "overloaded" } }]));
        t.same(authorized, []);
      }
    t.equal((await ask({ path: "/ready", capacity: full })).exchange.status, 200);
    const { exchange } = await ask({ path: "/ready", capacity: exhausted });
    t.equal(exchange.status, 503);
    t.same(JSON.parse(exchange.body.toString()), {
      status: "not ready",
      reason: "file_descriptors",
    });
    const operator = ["authorization", "Bearer master-key-of-the-test"];
    const health = await ask({ path: "/health", headers: operator, capacity: exhausted });
    t.equal(health.exchange.status, 200);
    t.match(JSON.parse(health.exchange.body.toString()), {
      status: "degraded",
      capacity: { requests_max: 10, file_descriptors_exhausted: true },
    });
  },
);
