/**
 * The provider stand-in of `npm run overshoot`, a process of its own: it streams chat completions
 * and counts what it served. Its counts are the truth that a gateway is measured against, so they
 * outlive a gateway that is killed. Called without a port it takes a free one.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { serveJobs } from "../measure/job-channel.js";
import { answerTokens, noneServed, priced, promptTokens, type Served } from "./work.js";

/** `reset`: counts from zero, and from now on an answer has an event as often. */
export interface ProviderJob {
  readonly reset: { readonly everyMs: number } | null;
}

const tokensPerEvent = 5;

let everyMs = 10;

let served: Served = noneServed;
let changedAtMs = performance.now();

function change(by: number): void {
  const nowMs = performance.now();
  const running = served.running + by;
  served = {
    ...served,
    busyMs: served.busyMs + served.running * (nowMs - changedAtMs),
    running,
    peak: Math.max(served.peak, running),
  };
  changedAtMs = nowMs;
}

function end(response: ServerResponse, text: string, tokens: number): void {
  served = { ...served, endedTokens: served.endedTokens + promptTokens + tokens };
  response.end(text);
}

function take(body: string, response: ServerResponse): void {
  const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
  const tokens = answerTokens(body);
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: tokens,
    total_tokens: promptTokens + tokens,
  };
  served = {
    ...served,
    requests: served.requests + 1,
    promptTokens: served.promptTokens + promptTokens,
  };
  change(1);
  response.on("close", () => change(-1));
  const answer = { id: `chatcmpl-${served.requests}`, created: 1_764_000_000, model };
  if (stream !== true) {
    setTimeout(
      () => {
        if (response.destroyed) return;
        served = { ...served, outputTokens: served.outputTokens + tokens };
        const message = { role: "assistant", content: " word".repeat(tokens) };
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        response.writeHead(200, { "content-type": "application/json" });
        end(
          response,
          JSON.stringify({ ...answer, object: "chat.completion", choices, usage }),
          tokens,
        );
      },
      (tokens / tokensPerEvent) * everyMs,
    );
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = (part: object): string =>
    `data: ${JSON.stringify({ ...answer, object: "chat.completion.chunk", ...part })}\n\n`;
  const delta = (text: string, reason: string | null): string =>
    event({
      choices: [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: reason }],
    });
  let left = tokens;
  const write = (): void => {
    if (response.destroyed) return;
    if (left === 0) {
      end(response, `${delta("", "stop")}${event({ choices: [], usage })}data: [DONE]\n\n`, tokens);
      return;
    }
    const count = Math.min(left, tokensPerEvent);
    left -= count;
    served = { ...served, outputTokens: served.outputTokens + count };
    response.write(delta(" word".repeat(count), null));
    setTimeout(write, everyMs);
  };
  setTimeout(write, everyMs);
}

/** Some gateways ask for the models, and one for a list of their prices. */
function describe(url: string): object | null {
  if (url.endsWith("/models"))
    return { object: "list", data: [{ id: priced.model, object: "model", owned_by: "openai" }] };
  if (!url.endsWith("/prices.json")) return null;
  const pricing = {
    currency: "USD",
    input_per_mtok: priced.inputUsdPerMillion,
    output_per_mtok: priced.outputUsdPerMillion,
  };
  return {
    version: 1,
    updated_at: "2026-01-01T00:00:00Z",
    providers: {
      openai: { display_name: "OpenAI", api_type: "openai", supported_modes: ["chat"] },
    },
    models: { [priced.model]: { display_name: priced.model, modes: ["chat"], pricing } },
    provider_models: {
      [`openai/${priced.model}`]: { model_ref: priced.model, enabled: true, pricing },
    },
  };
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const url = request.url ?? "";
  if (request.method === "GET") {
    const described = describe(url);
    response.writeHead(described === null ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(described ?? { error: { message: "not found" } }));
    return;
  }
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (text: string) => (body += text));
  request.on("end", () => {
    if (url.endsWith("/chat/completions")) take(body, response);
    else response.writeHead(404).end();
  });
}

const server = createServer(serve);
server.keepAliveTimeout = 600_000;
server.listen({ port: Number(process.argv[2] ?? 0), host: "127.0.0.1", backlog: 4096 }, () =>
  serveJobs<ProviderJob, Served>(
    async ({ reset }) => {
      change(0);
      const before = served;
      if (reset !== null) {
        served = { ...noneServed, running: served.running, peak: served.running };
        everyMs = reset.everyMs;
      }
      return before;
    },
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  ),
);
