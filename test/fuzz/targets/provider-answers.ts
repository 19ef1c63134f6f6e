/**
 * What providers answer, mutated by its structure and byte by byte, cut anywhere and in pieces of
 * any size, on its way to a client: translations, usage, errors, streams, sessions. Nothing is
 * thrown, the client's response ends once, and what is charged is a record that can be kept.
 */
import { brotliCompressSync, deflateRawSync, gzipSync } from "node:zlib";
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import { createAnswerTranslator } from "../../../proxy/dialects/translate-answer.js";
import { translatedUpstream } from "../../../proxy/dialects/translated-upstream.js";
import { DecodedAnswer } from "../../../proxy/upstream/client/decoded-answer.js";
import { forward } from "../../../proxy/upstream/forward.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import { WebSocketFrameReader } from "../../../proxy/upstream/passthrough/frame-reader.js";
import { relayAnswer } from "../../../proxy/upstream/passthrough/relay-answer.js";
import type { Upstream, UpstreamCall, UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { SessionUsage } from "../../../proxy/usage/session-usage.js";
import type { Usage } from "../../../proxy/usage/usage.js";
import { usageRecord } from "../../../proxy/usage/usage-record.js";
import type { Price } from "../../../shared/domain/price.js";
import type { Operation } from "../../../shared/operation.js";
import { flawOf } from "../../../shared/wire/execution.js";
import { FakeExchange } from "../../proxy/fake-exchange.js";
import type { Random } from "../../sim/random.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes, mutateBytes } from "../mutate/mutate-bytes.js";
import { JsonMutator } from "../mutate/mutate-json.js";
import { oddText } from "../mutate/odd-values.js";
import { type SampleEvent, type Spoken, sessionEvents, spoken } from "../samples/answer-samples.js";
import { requestSamples } from "../samples/request-samples.js";

const sizes = { levels: 60_000, items: 200_000, chars: 6_000_000 };
const speakers = ["chat_completions", "messages", "responses"] as const;
const clients = [...speakers, "stream_generate_content"] as const;
const mutators = Object.fromEntries(
  speakers.map((name) => {
    const { answers, streams } = spoken[name];
    const events = streams.flat().map(({ data }) => data);
    return [name, new JsonMutator([...answers, ...events], sizes)];
  }),
) as Readonly<Record<Spoken, JsonMutator>>;
const sessionMutator = new JsonMutator(sessionEvents, sizes);

/** A call to a provider, at whose place the fuzzer stands. */
class Provider {
  sink: UpstreamSink | null = null;
  ended = false;
  readonly upstream: Upstream = {
    send: (_, sink) => this.#send(sink),
    redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
    close: () => Promise.resolve(),
  };

  #send(sink: UpstreamSink): UpstreamCall {
    this.sink = sink;
    return { isSent: true, pause() {}, resume() {}, abort: () => this.abort() };
  }

  abort(): void {
    this.ended = true;
  }

  /** The answer as the network brings it, unless the call was aborted. */
  answer(status: number, headers: readonly string[], pieces: readonly Buffer[]): void {
    this.#do((sink) => sink.onHead(status, headers));
    for (const piece of pieces) this.#do((sink) => sink.onData(piece));
  }

  end(breaks: boolean): void {
    this.#do((sink) =>
      breaks ? sink.onFailure({ kind: "broken", reason: "ECONNRESET" }) : sink.onEnd(),
    );
    this.ended = true;
  }

  #do(run: (sink: UpstreamSink) => void): void {
    if (!this.ended) run(this.sink!);
  }
}

function eventText({ event, data }: SampleEvent, mutated: string | null, random: Random): string {
  const text = mutated ?? (typeof data === "string" ? data : JSON.stringify(data));
  const name = event === null || random.chance(0.02) ? "" : `event: ${event}\n`;
  const end = random.chance(0.97) ? "\n\n" : random.pick(["\r\n\r\n", "\r\r", "\n", "\n: x\n\n"]);
  return `${name}data: ${random.chance(0.98) ? text : text.replaceAll(",", ",\ndata: ")}${end}`;
}

function streamOf(speaker: Spoken, random: Random): string {
  const events = [...random.pick(spoken[speaker].streams)];
  const odd = random.int(0, events.length - 1);
  if (events.length > 1 && random.chance(0.1)) events.pop();
  if (random.chance(0.1)) events.splice(odd, random.int(0, 1), random.pick(events));
  if (random.chance(0.1)) events.reverse();
  return events
    .map((event, at) => {
      const isMutated = (at === odd && random.chance(0.9)) || random.chance(0.05);
      const mutated =
        isMutated && typeof event.data === "object"
          ? mutators[speaker].text(event.data, random)
          : null;
      return eventText(event, mutated, random);
    })
    .join("");
}

interface SampleAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly bytes: Buffer;
}

const contentTypes = ["text/event-stream", "application/json", "text/html", "audio/mpeg", ""];

function answerOf(speaker: Spoken, random: Random): SampleAnswer {
  const isStream = random.chance(0.5);
  const { answers } = spoken[speaker];
  const text = isStream
    ? streamOf(speaker, random)
    : mutators[speaker].text(random.pick(answers), random);
  let bytes: Buffer = Buffer.from(text);
  if (random.chance(0.2)) bytes = mutateBytes(bytes, random);
  if (random.chance(0.15)) bytes = bytes.subarray(0, random.int(0, bytes.length));
  const contentType = random.chance(0.95)
    ? contentTypes[isStream ? 0 : 1]!
    : random.pick(contentTypes);
  const headers = ["content-type", contentType];
  if (random.chance(0.1)) headers.push("retry-after", oddText(random));
  if (random.chance(0.1)) headers.push("content-length", String(bytes.length));
  const status = random.chance(0.85)
    ? 200
    : random.pick([201, 204, 301, 400, 401, 404, 429, 500, 503, 529, 599]);
  return { status, headers, bytes };
}

const price: Price = {
  rates: { input: 2500, output: 10_000, cachedInput: 1250, cacheWrite: null },
  perRequest: 1_000_000,
  tiers: [],
};

function mustBeCharged(
  usage: Usage | null,
  what: Pick<ForwardResult, "status" | "executed">,
): void {
  const record = usageRecord(
    { usage, status: what.status, executed: what.executed, firstByteMonoMs: 3 },
    {
      requestId: "req_1",
      endpoint: "/v1/chat/completions",
      target: { provider: "p", model: "m" },
      providerType: "openai",
      keyId: "",
      startedMonoMs: 1,
      requestedModel: "",
      session: "",
      endedMonoMs: 9,
      savedBytes: 100,
      price,
      priceSource: null,
      priceOf: () => null,
      isUnmetered: false,
    },
  );
  if (usage !== null)
    must(
      usage.totalTokens === usage.inputTokens + usage.outputTokens,
      () => `the sum of ${JSON.stringify(usage)}`,
    );
  if (record === null) return;
  const flaw = flawOf(record);
  must(flaw === null, () => `${flaw} of the record ${JSON.stringify(record)}`);
}

async function finish(exchange: FakeExchange, forwarding: Promise<ForwardResult>): Promise<void> {
  const forwarded = await Promise.race([forwarding, nothingYet()]);
  must(forwarded !== null, "an answer that has ended ends the request");
  forwarded.finish();
  must(exchange.ended !== null || exchange.gone, "the client's response has ended");
  must(
    forwarded.status >= 200 && forwarded.status < 600,
    () => `the client is answered ${forwarded.status}`,
  );
  mustBeCharged(forwarded.usage, forwarded);
}

const nothingYet = (): Promise<null> => new Promise((resolve) => setImmediate(() => resolve(null)));

async function tryForward(random: Random): Promise<void> {
  const operation = random.pick(clients);
  const speaker: Spoken = random.pick(speakers);
  const dialect = chooseDialect(operation, new Set<Operation>([speaker]));
  const { bytes, status, headers } = answerOf(speaker, random);
  const exchange = new FakeExchange();
  const provider = new Provider();
  const { body } = random.pick(requestSamples.filter((each) => each.operation === operation));
  const translator =
    dialect === null || dialect.translation === null
      ? null
      : createAnswerTranslator(
          dialect.translation,
          {
            model: "smart",
            nowSeconds: 1_795_000_000,
            provider: "openai",
            requestId: "req-1",
            request: { ...body, stream: random.chance(0.7) },
          },
          random.chance(0.1)
            ? { memory: exchange.memory, eventCharsMax: 200 }
            : { memory: exchange.memory },
        );
  const forwarding = forward(exchange, {
    upstream:
      translator === null ? provider.upstream : translatedUpstream(provider.upstream, translator),
    provider: "p",
    request: {
      method: "POST",
      path: "/x",
      headers: [],
      body: Buffer.from("{}"),
      isRepeatable: true,
    },
    headers: [],
    operation,
    translator,
    hideUsageChunk: random.chance(0.3),
    promptBytes: () => 400,
    holdsHead: random.chance(0.3),
    monoMs: () => 77,
  });
  provider.answer(status, headers, cutBytes(bytes, random));
  if (random.chance(0.05)) exchange.leave();
  provider.end(random.chance(0.1));
  await finish(exchange, forwarding);
}

async function tryRelay(random: Random): Promise<void> {
  const speaker: Spoken = random.pick(speakers);
  const { status, headers, bytes } = answerOf(speaker, random);
  const exchange = new FakeExchange();
  const provider = new Provider();
  const forwarding = relayAnswer(exchange, {
    upstream: { ...provider.upstream, tunnel: never, close: () => Promise.resolve() },
    provider: "p",
    links: { baseUrl: "https://api.test.example/v1", place: () => "http://localhost:8080/p/p" },
    request: { method: "POST", path: "/x", headers: [], body: null },
    limits: [],
    headers: [],
    operation: random.chance(0.5) ? speaker : null,
    promptBytes: () => 0,
    monoMs: () => 77,
  });
  provider.answer(status, headers, cutBytes(bytes, random));
  provider.end(random.chance(0.1));
  await finish(exchange, forwarding);
}

function never(): never {
  throw new Error("no tunnel is asked for");
}

/** A message as frames of a WebSocket. */
function framesOf(message: Buffer, random: Random): Buffer {
  const split = random.chance(0.2) ? random.int(0, message.length) : message.length;
  const frame = (first: number, payload: Buffer): Buffer => {
    const head =
      payload.length < 126
        ? Buffer.from([first, payload.length])
        : payload.length < 65_536
          ? Buffer.from([first, 126, payload.length >> 8, payload.length & 255])
          : Buffer.from([first, 127, 0, 0, 0, 0, ...u32(payload.length)]);
    return Buffer.concat([head, payload]);
  };
  if (split === message.length) return frame(0x81, message);
  return Buffer.concat([
    frame(0x01, message.subarray(0, split)),
    frame(0x80, message.subarray(split)),
  ]);
}

function u32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

function trySession(random: Random): void {
  const session = new SessionUsage();
  const reader = new WebSocketFrameReader(
    (message, leftOutBytes) => session.onMessage(message, leftOutBytes),
    random.chance(0.2) ? 64 : undefined,
  );
  const messages = Array.from({ length: random.int(1, 8) }, () => {
    const event = random.pick(sessionEvents);
    const text = random.chance(0.6) ? sessionMutator.text(event, random) : JSON.stringify(event);
    return framesOf(Buffer.from(text), random);
  });
  let bytes: Buffer = Buffer.concat(messages);
  if (random.chance(0.3)) bytes = mutateBytes(bytes, random);
  for (const piece of cutBytes(bytes, random)) reader.push(piece);
  const { usage } = session.charge(reader.unreadMessages);
  mustBeCharged(usage, { status: 101, executed: true });
}

/** Bytes that say they are compressed and aren't, or are and break. */
async function tryCoded(random: Random): Promise<void> {
  const { status, headers, bytes } = answerOf("chat_completions", random);
  const [coding, encode] = random.pick([
    ["gzip", gzipSync],
    ["deflate", deflateRawSync],
    ["br", brotliCompressSync],
    [oddText(random), (plain: Buffer) => plain],
  ] as const);
  let encoded: Buffer = encode(bytes);
  if (random.chance(0.5)) encoded = mutateBytes(encoded, random);
  const exchange = new FakeExchange();
  const provider = new Provider();
  let decoded: DecodedAnswer | null = null;
  const upstream: Upstream = {
    ...provider.upstream,
    send(request, sink) {
      const source = { setFull() {}, abort: () => provider.abort() };
      decoded = new DecodedAnswer(sink, coding, source);
      const call = provider.upstream.send(request, decoded);
      return { ...call, abort: () => decoded!.stop() };
    },
  };
  const forwarding = forward(exchange, {
    upstream,
    provider: "p",
    request: {
      method: "POST",
      path: "/x",
      headers: [],
      body: Buffer.from("{}"),
      isRepeatable: true,
    },
    headers: [],
    operation: "chat_completions",
    translator: null,
    hideUsageChunk: false,
    promptBytes: () => 400,
    holdsHead: false,
    monoMs: () => 77,
  });
  provider.answer(status, headers, cutBytes(encoded, random));
  provider.end(false);
  const forwarded = await forwarding;
  await finish(exchange, Promise.resolve(forwarded));
}

export const providerAnswers: FuzzTarget = {
  name: "provider-answers",
  share: 1,
  open: () =>
    Promise.resolve({
      async run(random) {
        const kind = random.next();
        if (kind < 0.7) await tryForward(random);
        else if (kind < 0.8) await tryRelay(random);
        else if (kind < 0.99) trySession(random);
        else await tryCoded(random);
        return 1;
      },
      close: () => Promise.resolve(),
    }),
};
