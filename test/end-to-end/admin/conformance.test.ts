/** All 28 cases over HTTP: a real daemon with a set clock, a real proxy, a scripted provider. */
import t from "tap";
import {
  type CaseGateway,
  type CaseRequest,
  type LimiterCase,
  limiterCases,
  playCase,
} from "../../conformance/cases.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import {
  completion,
  type ReceivedCall,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
providers:
  openai: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
  azure: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
  openrouter: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
entitlements: [quota_templates]
`,
);
const cases = limiterCases("all");
const daemon = await site.startClockedDaemon(cases[0]!.given.clock_base * 1000);
const proxy = await site.startProxy();

t.equal(cases.length, 28, "none is left out");
for (const item of cases) {
  await t.test(`${item.id}: ${item.given.title}`, async (t) => {
    const gateway = httpGateway(daemon, proxy, upstream);
    await gateway.setClock(item.given.clock_base * 1000);
    await replaceRules(proxy.ready, item);
    await playCase(t, item, gateway);
  });
}

type ClockedDaemon = typeof daemon;

async function admin(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: { rate_limits: Record<string, unknown>[] } }> {
  const response = await fetch(`${proxy.ready}/admin${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    body: (await response.json()) as { rate_limits: Record<string, unknown>[] },
  };
}

async function replaceRules(_url: string, { given }: LimiterCase): Promise<void> {
  const { body } = await admin("GET", "/rate-limits");
  for (const rule of body.rate_limits) {
    await admin("DELETE", "/rate-limits", {
      scope: rule["scope"],
      subject: rule["subject"],
      limit_key: { period_seconds: rule["period_seconds"] },
    });
  }
  for (const { period_seconds, ...rule } of given.rules) {
    const { status, body: answer } = await admin("PUT", "/rate-limits", {
      ...rule,
      limit_key: { period_seconds },
    });
    if (status !== 200) throw new Error(JSON.stringify(answer));
  }
}

function httpGateway(clocked: ClockedDaemon, part: Part, provider: ScriptedUpstream): CaseGateway {
  const open = new Map<string, { call: ReceivedCall; response: Response; tokens: number }>();
  return {
    setClock: (ms) => clocked.setClock(ms),
    async request(request) {
      const callsBefore = provider.calls.length;
      if (request.keepOpenAs !== null) return openRequest(request);
      provider.answer = (call) =>
        void call.response
          .writeHead(200, { "content-type": "application/json" })
          // Without text: Sluice estimates a text for which a usage reports no tokens.
          .end(completion(request.tokens, request.tokens === 0 ? "" : "hello"));
      const response = await send(request, false);
      const body: unknown = await response.json();
      return {
        status: response.status,
        headers: headersOf(response),
        body,
        upstreamCalled: provider.calls.length > callsBefore,
      };
    },
    async finish(name) {
      const { call, response, tokens } = open.get(name)!;
      call.response.end(
        `data: {"choices":[],"usage":{"total_tokens":${tokens}}}\n\ndata: [DONE]\n\n`,
      );
      await response.text();
    },
    list: async () => (await admin("GET", "/rate-limits")).body.rate_limits,
  };

  function send(request: CaseRequest, stream: boolean): Promise<Response> {
    return fetch(`${part.ready}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sluice-user-path": request.userPath },
      body: JSON.stringify({
        model: `${request.provider}/${request.model}`,
        messages: [{ role: "user", content: "hi" }],
        stream,
      }),
    });
  }

  /** A stream whose head has come and whose end waits for `finish`. */
  async function openRequest(request: CaseRequest): ReturnType<CaseGateway["request"]> {
    provider.answer = (call) => {
      call.response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
    };
    const called = provider.nextCall();
    const response = await send(request, true);
    if (response.status === 200)
      open.set(request.keepOpenAs!, { call: await called, response, tokens: request.tokens });
    return {
      status: response.status,
      headers: headersOf(response),
      body: null,
      upstreamCalled: response.status === 200,
    };
  }
}

function headersOf(response: Response): Record<string, string> {
  const headers = Object.fromEntries(response.headers);
  delete headers["x-should-retry"];
  return headers;
}
