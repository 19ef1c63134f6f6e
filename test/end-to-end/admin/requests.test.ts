/**
 * Why did this request fail? Asked of a real proxy and daemon, with providers that fail in
 * different ways: by the id of the response, in the list, on the command line, and after a restart.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import type { RequestDetail, RequestItem } from "../../../shared/api/request-item.js";
import { run } from "../../bin/command-session.js";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const provider = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    if (request.url?.startsWith("/gone/") === true) return void request.socket.destroy();
    const isBusy = request.url?.startsWith("/busy/") === true;
    response.writeHead(isBusy ? 529 : 400, {
      "content-type": "application/json",
      "x-request-id": "req_of_provider",
    });
    const error = isBusy
      ? { code: "overloaded", message: "the engine is overloaded" }
      : { code: "context_window", message: "this prompt is too strange" };
    response.end(JSON.stringify({ error }));
  });
});
provider.listen(0, "127.0.0.1");
await once(provider, "listening");
t.teardown(() => {
  provider.closeAllConnections();
  provider.close();
});
const { port } = provider.address() as AddressInfo;

const site = makeSite(
  t,
  `
server: { passthrough: all }
limiter: { deadline_ms: 30000 }
providers:
  simulator: { type: simulator }
  busy: { type: openai, base_url: "http://127.0.0.1:${port}/busy", api_key: key-of-provider, models: [m] }
  strict: { type: openai, base_url: "http://127.0.0.1:${port}/strict", api_key: key-of-provider, models: [m] }
  crowded: { type: openai, base_url: "http://127.0.0.1:${port}/busy", api_key: key-of-provider, models: [m] }
  gone: { type: openai, base_url: "http://127.0.0.1:${port}/gone", api_key: key-of-provider, models: [m] }
virtual_models:
  neither:
    strategy: failover
    targets: [{ model: crowded/m }, { model: gone/m }]
  both:
    strategy: failover
    targets: [{ model: busy/m }, { model: simulator/sim-fast }]
rate_limits:
  user_paths: [{ path: /few, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }]
`,
);
let daemon = await site.startDaemon();
const proxy = await site.startProxy();
const here = ["--config", site.configFile, "--socket", site.socket];

interface Asked {
  readonly model: string;
  readonly path?: string;
  readonly at?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The id of the response. */
async function ask({ model, path = "/team", at, headers = {} }: Asked): Promise<string> {
  const response = await fetch(`${proxy.ready}${at ?? "/v1/chat/completions"}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": path, ...headers },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: "a secret of the prompt" }],
    }),
  });
  await response.text();
  return response.headers.get("x-request-id")!;
}

async function detailOf(id: string): Promise<RequestDetail> {
  const found = await until(
    () => admin(proxy.ready, `GET /requests/${id}`),
    ({ status, body }) => status === 200 && body["request"] !== null,
  );
  t.notMatch(JSON.stringify(found.body), /a secret of the prompt/);
  return found.body as unknown as RequestDetail;
}

let failedOver = "";

t.test("a failover shows each attempt, and its usage", async (t) => {
  failedOver = await ask({
    model: "both",
    headers: { "x-session-id": "refactoring-17", "user-agent": "pi/1" },
  });
  const detail = await detailOf(failedOver);
  t.match(
    detail,
    exactly({
      request: {
        kind: "answered",
        status: 200,
        user_path: "/team",
        model: "both",
        target: "simulator/sim-fast",
        session: "refactoring-17",
        agent: "pi/1",
        attempts: [
          {
            target: "busy/m",
            status: 529,
            retry: 0,
            error_code: "overloaded",
            error_message: "the engine is overloaded",
            provider_request_id: "req_of_provider",
          },
          { target: "busy/m", status: 529, retry: 1, delivered: false },
          {
            target: "simulator/sim-fast",
            status: 200,
            reason: null,
            error_message: null,
            delivered: true,
          },
        ],
      },
      records: [{ request_id: failedOver, total_tokens: Number, status: 200 }],
      limits: { user_path: "/team", verdict: { admitted: true } },
    }),
  );
  t.equal(detail.request?.attempts.length, 3);
});

t.test("a failure of all targets shows the one that the client got", async (t) => {
  const id = await ask({ model: "neither" });
  const { request } = await detailOf(id);
  const given = request?.attempts.filter((attempt) => attempt.delivered) ?? [];
  t.match(given, exactly([{ target: request?.target, error_message: request?.error_message }]));
  t.equal(request?.attempts.at(-1)?.delivered, false, "it isn't the last");
  t.notMatch(JSON.stringify(request), /ECONNRESET|EPIPE/);
});

t.test("a failure shows the provider's code and message", async (t) => {
  const cases = [
    [{ model: "busy/m" }, { status: 529, error_code: "overloaded" }],
    [{ model: "strict/m" }, { status: 400, error_message: "this prompt is too strange" }],
    [
      { model: "m", at: "/p/strict/v1/chat/completions" },
      { status: 400, error_code: "context_window" },
    ],
    [{ model: "odd" }, { kind: "denied", status: 404, error_message: /odd/ }],
  ] as const;
  for (const [asked, expected] of cases) {
    const detail = await detailOf(await ask(asked));
    t.match(detail.request, { kind: "failed", ...expected }, JSON.stringify(asked));
  }
});

t.test("a refusal shows its limit, and an unknown path is denied", async (t) => {
  await ask({ model: "simulator/sim-fast", path: "/few" });
  const refused = await detailOf(await ask({ model: "simulator/sim-fast", path: "/few" }));
  t.match(
    refused,
    exactly({
      request: { kind: "refused", status: 429, rule: /\/few \d+s requests/ },
      refusal: { dimension: "requests", cap: 1 },
      limits: { verdict: { admitted: false } },
      records: [],
    }),
  );
  const denied = await detailOf(await ask({ model: "x", at: "/v1/nothing" }));
  t.match(denied.request, { kind: "denied", status: 404, error_message: /unknown API endpoint/ });
  t.equal((await admin(proxy.ready, "GET /requests/req_none")).status, 404);
});

t.test("a plain success is found by its record, and takes no details", async (t) => {
  const id = await ask({ model: "simulator/sim-fast" });
  const { body } = await until(
    () => admin(proxy.ready, `GET /requests/${id}`),
    ({ status }) => status === 200,
  );
  t.match(body, exactly({ request: null, refusal: null, records: [{ request_id: id }] }));
});

t.test("lists, sessions and the history of targets know them, also after a restart", async (t) => {
  const list = async (query: string): Promise<readonly RequestItem[]> => {
    const { body } = await admin(proxy.ready, `GET /requests${query}`);
    return body["requests"] as readonly RequestItem[];
  };
  const failed = await list("?kind=failed");
  t.ok(failed.length >= 3);
  t.ok(failed.every(({ kind }) => kind === "failed"));
  t.match(await list("?search=refactoring-17"), exactly([{ request_id: failedOver }]));
  t.equal((await admin(proxy.ready, "GET /requests?kind=odd")).status, 400);
  const sessions = await until(
    () => admin(proxy.ready, "GET /sessions"),
    ({ body }) => Array.isArray(body["sessions"]) && body["sessions"].length > 0,
  );
  t.match(
    sessions.body["sessions"],
    exactly([
      {
        session: "refactoring-17",
        user_path: "/team",
        agent: "pi/1",
        requests: 1,
        models: ["simulator/sim-fast"],
        failovers: 1,
        retried: 1,
        running: true,
      },
    ]),
  );
  const traffic = async () => (await admin(proxy.ready, "GET /traffic")).body;
  const before = await until(
    traffic,
    ({ totals }) => (totals as { requests: { denied: number } }).requests.denied >= 2,
  );
  t.match(before, {
    step_seconds: 60,
    totals: { requests: { refused: 1, denied: 2 } },
  });
  const busyOf = (targets: unknown) =>
    (targets as readonly { readonly target: string }[]).find(({ target }) => target === "busy/m");
  t.match(busyOf(before["targets"]), {
    attempts: 4,
    failures: { server_error: 4 },
    error_rate: 1,
    last_error: { message: "529 the engine is overloaded" },
  });
  await daemon.kill("SIGTERM");
  daemon = await site.startDaemon();
  const after = await until(traffic, ({ targets }) => targets !== undefined);
  t.match(busyOf(after["targets"]), { attempts: 4, failures: { server_error: 4 } });
  t.match(await list("?search=refactoring-17"), exactly([{ request_id: failedOver }]));
});

t.test("what isn't a parameter, or isn't right, is a 400 that names it", async (t) => {
  const names = "status queues targets alerts upstream-limits requests traffic sessions in-flight";
  const odd = [
    ...names.split(" "),
    "refusals",
    `requests/${failedOver}`,
    "config",
    "providers",
  ].map((name) => [`${name}?zzz=1`, "zzz", /^unknown parameter zzz/] as const);
  for (const [path, param, message] of [
    ...odd,
    ["requests?after=zzz", "after", /^after must be the next of the previous page/],
    ["traffic?seconds=60&start=2026-01-01T00:00:00Z", "seconds", /seconds and start/],
  ] as const) {
    const { status, body } = await admin(proxy.ready, `GET /${path}`);
    t.equal(status, 400, path);
    t.match(body, { param, message }, path);
  }
});

t.test("the command line answers the same", async (t) => {
  const shown = await run(["request", failedOver, ...here]);
  t.match(
    shown.out,
    /answered \(200\)[\s\S]*ATTEMPTS[\s\S]*busy\/m[\s\S]*the engine is overloaded/,
  );
  t.match(await run(["requests", "--kind", "failed", ...here]), { out: /too strange/ });
  t.match(await run(["requests", "--kind", "odd", ...here]), {
    exitCode: 2,
    err: /--kind must be/,
  });
  t.match(await run(["tenant", "/team", ...here]), {
    out: /LAST FAILURES\n.* WHY[\s\S]*the engine is overloaded/,
  });
  t.match(await run(["tenant", "/nope", ...here]), {
    out: /no request, key, rule or budget names \/nope/,
  });
  t.match(await run(["sessions", ...here]), { out: /refactoring-17 .*\/team/ });
  t.match(await run(["providers", "traffic", ...here]), { out: /busy\/m .* 100.0%/ });
  t.match(await run(["request", "req_none", ...here]), { exitCode: 3, err: /no request/ });
});

t.test("a tenant's last refusals and failures are shown, without usage records, too", async (t) => {
  const unrecorded = makeSite(
    t,
    `
usage: { enabled: false }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
    - { path: /other, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
providers:
  busy: { type: openai, base_url: "http://127.0.0.1:${port}/busy", api_key: key-of-provider, models: [m] }
`,
  );
  await unrecorded.startDaemon();
  const url = (await unrecorded.startProxy()).ready;
  const body = JSON.stringify({ model: "busy/m", messages: [{ role: "user", content: "hi" }] });
  const send = (path: string, id: string): Promise<Response> => {
    const headers = { "x-sluice-user-path": path, "x-request-id": id };
    return fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
  };
  await send("/team", "unrecorded");
  t.equal((await send("/team", "refused")).status, 429);
  // More than a page of those whose path has the tenant's in it.
  for (let i = 0; i < 60; i++) await (await send("/other/team", `other-${i}`)).text();
  await until(
    () => admin(url, "GET /requests/unrecorded"),
    ({ status }) => status === 200,
  );
  const flags = ["--config", unrecorded.configFile, "--socket", unrecorded.socket];
  t.match(await run(["tenant", "/team", ...flags]), {
    exitCode: 0,
    out: /LAST REFUSALS\n.* WHY\n.*refused +rate limit.*\n\nLAST FAILURES\n.* WHY\n.*529 +busy +m +unrecorded +the engine is overloaded/,
  });
});
