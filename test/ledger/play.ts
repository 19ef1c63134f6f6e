/**
 * One history in one process: a client's request through the proxy's real steps, from reading it to
 * its settle, to providers that keep their own ledgers. Sockets and the daemon are left out.
 */
import { modelRequest } from "../../proxy/handlers/model-request.js";
import type { ModelOperation } from "../../proxy/http/match-route.js";
import type { Admission, AdmissionOutcome, SpentUsage } from "../../proxy/limiter/admission.js";
import { RequestRecord } from "../../proxy/request-record.js";
import { SentBody } from "../../proxy/upstream/sent-body.js";
import type { Upstream, UpstreamSink } from "../../proxy/upstream/upstream.js";
import type { Target } from "../../shared/domain/target-name.js";
import { FakeExchange } from "../proxy/fake-exchange.js";
import { type FakeGateway, fakeGateway, operator } from "../proxy/fake-gateway.js";
import { createRandom, type Random } from "../sim/random.js";
import { type ProviderPrice, priceEntry } from "./provider-ledger.js";
import { type Dialect, dialects, type Reply, replyTo } from "./stand-in.js";

const rates = {
  input: "3",
  cached_input: "0.3",
  cache_write: "3.75",
  cache_write_1h: "6",
  output: "15",
  reasoning: "16",
};

const plain: ProviderPrice = {
  rates,
  long: null,
  perSearch: "0.01",
  perRequest: "0",
  tiers: { priority: "2", flex: "0.5", fast: "6" },
  regions: { us: "1.1" },
};

/** By provider, each in its own dialect; `odd` has rates whose products aren't whole. */
export const prices: Readonly<Record<string, ProviderPrice>> = {
  chat: plain,
  second: { ...plain, perRequest: "0.001" },
  messages: plain,
  responses: { ...plain, long: { above: 60, rates: { ...rates, input: "6", output: "22.5" } } },
  google: plain,
  odd: {
    ...plain,
    rates: { ...rates, input: "0.000001", output: "1.000001" },
    tiers: { priority: "1.333", flex: "0.333" },
  },
};

const operationsOf: Readonly<Record<string, string>> = {
  chat: "chat_completions",
  second: "chat_completions",
  odd: "chat_completions",
  messages: "messages",
  responses: "responses",
  google: "generate_content, stream_generate_content",
};
const typesOf: Readonly<Record<string, string>> = { messages: "anthropic", google: "gemini" };

/** The configuration; `baseUrl`: where a provider is; `more`: further settings of each. */
export function ledgerYaml(baseUrl: (provider: string) => string, more = ""): string {
  const names = Object.keys(prices);
  const providers = names.map(
    (name) =>
      `  ${name}: { type: ${typesOf[name] ?? "openai"}, base_url: "${baseUrl(name)}", api_key: k, models: [x], retries: 1, breaker_failures: 0, operations: [${operationsOf[name]}]${more} }`,
  );
  const entries = names.map((name) => `  ${name}/x: ${JSON.stringify(priceEntry(prices[name]!))}`);
  return `
providers:
${providers.join("\n")}
prices:
${entries.join("\n")}
virtual_models:
  either: { strategy: failover, targets: [{ model: chat/x }, { model: messages/x }, { model: second/x }] }
`;
}

/** A request of a client. */
export interface Ask {
  readonly operation: ModelOperation;
  readonly path: string;
  readonly query: string;
  readonly model: string;
  readonly body: string;
}

export function drawAsk(random: Random): Ask {
  const dialect: Dialect = random.pick(dialects);
  const own = dialect === "chat" ? random.pick(["chat", "odd"]) : dialect;
  const provider = random.chance(0.6) ? own : random.pick(Object.keys(prices));
  const model = random.chance(0.2) ? "either" : `${provider}/x`;
  const stream = random.chance(0.6);
  const text = "word ".repeat(Math.round(random.skewed(1, 100)));
  const cap = random.chance(0.8) ? random.int(1, 3000) : undefined;
  const tier = random.chance(0.2) ? random.pick(["priority", "flex"]) : undefined;
  const messages = [{ role: "user", content: text }];
  const ask = (operation: ModelOperation, path: string, body: object): Ask => ({
    operation,
    path,
    query: "",
    model,
    body: JSON.stringify(body),
  });
  switch (dialect) {
    case "chat":
      return ask("chat_completions", "/v1/chat/completions", {
        ...{ model, messages, stream },
        ...{ max_completion_tokens: cap, service_tier: tier },
      });
    case "messages":
      return ask("messages", "/v1/messages", {
        ...{ model, messages, stream, max_tokens: cap ?? 500 },
        ...(tier === undefined ? {} : { speed: "fast" }),
        ...(random.chance(0.2) ? { inference_geo: "us" } : {}),
      });
    case "responses":
      return ask("responses", "/v1/responses", {
        ...{ model, input: text, stream, store: false },
        ...{ max_output_tokens: cap, service_tier: tier },
      });
    case "google": {
      const method = stream ? "streamGenerateContent" : "generateContent";
      const operation = stream ? "stream_generate_content" : "generate_content";
      const contents = [{ role: "user", parts: [{ text }] }];
      const body = { contents, generationConfig: { maxOutputTokens: cap } };
      const query = stream ? "alt=sse" : "";
      return { ...ask(operation, `/v1beta/models/${model}:${method}`, body), query };
    }
  }
}

/** One attempt, as its provider saw it. */
export type Entry = Pick<Reply, "bill" | "received" | "label">;

/** What a history came to. */
export interface Played {
  readonly ask: Ask;
  readonly entries: readonly Entry[];
  readonly records: readonly SpentUsage[];
}

export interface Ledger {
  play(seed: number): Promise<Played>;
}

export function createLedger(): Ledger {
  const fake: FakeGateway = fakeGateway(ledgerYaml(() => "http://127.0.0.1:1/v1"));
  const { gateway } = fake;
  Object.assign(gateway, { log: { debug() {} } });
  Object.assign(gateway.limiter, {
    async reroute(admission: Admission, untried: readonly Target[]): Promise<AdmissionOutcome> {
      admission.target = untried[0]!;
      return { kind: "admitted", admission, headers: null };
    },
  });
  let broken: Error | null = null;
  let now: { random: Random; exchange: FakeExchange; entries: Entry[] } | null = null;
  for (const [name, provider] of gateway.providers)
    (provider as { upstream: Upstream }).upstream = {
      send(request, sink) {
        const { random, exchange, entries } = now!;
        const { path, body } = request;
        if (!(body instanceof SentBody)) {
          broken = new Error("these requests are JSON");
          throw broken;
        }
        const received = { path, body: body.wholeBody() };
        const reply = replyTo(received, prices[name]!, random);
        entries.push(reply);
        const call = { isAborted: false };
        queueMicrotask(() => playReply(reply, { sink, exchange, call }));
        return {
          isSent: reply.received,
          pause() {},
          resume() {},
          abort() {
            call.isAborted = true;
          },
        };
      },
      redact: (text) => text,
      close: () => Promise.resolve(),
    };
  return {
    async play(seed) {
      const random = createRandom(seed);
      const ask = drawAsk(random);
      const { operation, path, query, model, body } = ask;
      const exchange = new FakeExchange({ path, query });
      exchange.sentPieces = [Buffer.from(body)];
      if (path.startsWith("/v1beta")) exchange.modelInPath = model;
      const entries: Entry[] = [];
      now = { random, exchange, entries };
      fake.settled.length = 0;
      fake.progress.length = 0;
      fake.admitted.length = 0;
      const record = new RequestRecord(0);
      await modelRequest({ gateway, exchange, caller: operator, record }, operation);
      // The gateway answers an exception of its upstream with a 500, which no provider bills.
      if (broken !== null) throw broken;
      return { ask, entries, records: [...fake.progress, ...fake.settled] };
    },
  };
}

interface Playing {
  readonly sink: UpstreamSink;
  readonly exchange: FakeExchange;
  readonly call: { readonly isAborted: boolean };
}

function playReply(reply: Reply, { sink, exchange, call }: Playing): void {
  const { received, status, type, pieces, ending, leavesAfter } = reply;
  if (call.isAborted) return;
  if (!received) return sink.onFailure({ kind: "unreachable", reason: "no connection" });
  if (status !== 0) sink.onHead(status, ["content-type", type]);
  for (const piece of pieces) if (!call.isAborted) sink.onData(piece);
  if (leavesAfter !== null) exchange.leave();
  if (call.isAborted) return;
  if (ending === "end") return sink.onEnd();
  sink.onFailure({ kind: ending, reason: ending });
}
