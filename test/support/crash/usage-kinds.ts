/**
 * The requests of a mixed load: what each says, what the provider answers, and the one record that
 * must be left of it. That follows from what the provider sent and the client received, in BigInt;
 * nothing of Sluice's own arithmetic is asked.
 */
import {
  beginStream,
  chunk,
  completion,
  type ReceivedCall,
} from "../providers/scripted-upstream.js";

/** What becomes of an executed request. Costs in pico-dollars; null: unpriced. */
export interface Outcome {
  readonly provider: string;
  readonly model: string;
  readonly status: number;
  readonly estimated: boolean;
  /** It came from the proxy's cache: it is recorded, and counts nowhere. */
  readonly hit: boolean;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly inputCost: bigint | null;
  readonly outputCost: bigint | null;
  readonly totalCost: bigint | null;
  /** The upper bounds of a lost answer; null if the usage is known. */
  readonly atMost: { readonly tokens: number; readonly cost: bigint } | null;
}

/**
 * As the configuration writes it, and what that is in pico-dollars a token: $1 per million tokens
 * is a million of them.
 */
export const pricesYaml = `
  test/priced: { input: 3, output: 15, cached_input: 0.3, per_request: 0.000123 }
  test/odd: { input: 0.0375, output: 0.15 }
  backup/priced: { input: 1, output: 2, per_request: 0.0005 }
`;
const prices: Readonly<
  Record<
    string,
    {
      readonly input: bigint;
      readonly cached: bigint;
      readonly output: bigint;
      readonly perRequest: bigint;
    }
  >
> = {
  "test/priced": {
    input: 3_000_000n,
    cached: 300_000n,
    output: 15_000_000n,
    perRequest: 123_000_000n,
  },
  "test/odd": { input: 37_500n, cached: 37_500n, output: 150_000n, perRequest: 0n },
  "backup/priced": {
    input: 1_000_000n,
    cached: 1_000_000n,
    output: 2_000_000n,
    perRequest: 500_000_000n,
  },
};

/** What a request asks for and what becomes of it; the number is how often it comes among all. */
const kinds = {
  plain: 5,
  stream: 5,
  odd: 2,
  unpriced: 2,
  reported: 2,
  embeddings: 2,
  batch: 2,
  over: 3,
  unreported: 1,
  "unreported stream": 1,
  failed: 1,
  "error inside": 1,
  left: 3,
  died: 2,
  // What the sender asked before: an answer of the cache, or of the provider once more.
  again: 3,
} as const;
export type Kind = keyof typeof kinds;
export const anyKind = (Object.keys(kinds) as Kind[]).flatMap((kind) =>
  Array<Kind>(kinds[kind]).fill(kind),
);

/** It fails over from one provider to the other. */
export const virtualModel = "smart";

const models: Readonly<Partial<Record<Kind, string>>> = {
  odd: "test/odd",
  unpriced: "test/unpriced",
  reported: "test/reported",
  over: virtualModel,
};
const streamed: ReadonlySet<Kind> = new Set<Kind>(["stream", "unreported stream", "left", "died"]);

export interface Asked {
  readonly number: number;
  readonly kind: Kind;
  /** Calls that reached a provider. */
  calls: number;
  /** Of the last call's body: a stream is asked for its usage. */
  sentBytes: number;
  /** For a stream that is to be cut: its call, when its last piece has left. */
  cut: (call: ReceivedCall) => void;
}

/** Where it is sent, and what. */
export function bodyOf({ number, kind }: Asked): {
  readonly endpoint: string;
  readonly body: string;
} {
  const model = models[kind] ?? "test/priced";
  if (kind === "batch")
    return {
      endpoint: "/v1/batches",
      body: JSON.stringify({
        input_file_id: String(number),
        endpoint: "/v1/chat/completions",
        completion_window: "24h",
      }),
    };
  if (kind === "embeddings")
    return {
      endpoint: "/v1/embeddings",
      body: JSON.stringify({ model, input: "a text", user: String(number) }),
    };
  return {
    endpoint: "/v1/chat/completions",
    body: JSON.stringify({
      model,
      stream: streamed.has(kind),
      messages: [{ role: "user", content: "x".repeat(number % 50) }],
      user: String(number),
    }),
  };
}

/**
 * Counts that no other request has, so that one that is lost, or recorded twice, shows in every
 * sum.
 */
function tokensOf({ number, kind }: Asked): {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
} {
  if (kind === "embeddings") return { input: 1000 + number, output: 0, cached: 0 };
  // A cost that the provider reports is split by tokens where there is no price: even halves.
  if (kind === "reported") return { input: 1000 + number, output: 1000 + number, cached: 0 };
  return {
    input: 1000 + 3 * number,
    output: 1 + (number % 997),
    cached: number % 3 === 0 ? number % 800 : 0,
  };
}

/** In pico-dollars: even, so that it has halves. */
function reportedCost({ number }: Asked): number {
  return 2 * (1_000_000 + 7919 * number);
}

function usageOf(request: Asked): object {
  const { input, output, cached } = tokensOf(request);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    ...(request.kind === "reported" ? { cost: reportedCost(request) / 1e12 } : {}),
  };
}

const seenText = ({ number }: Asked): string => "seen".repeat(1 + (number % 40));
/** The last that a stream says before it is cut. */
const mark = "before the cut";
const json = { "content-type": "application/json" };

function unreportedBody(request: Asked): string {
  return completion(null, seenText(request));
}

/** What the provider of this name does with a call. */
export function answer(call: ReceivedCall, request: Asked, provider: string): void {
  const { response } = call;
  const { kind } = request;
  if (kind === "over" && provider === "test")
    return void response.writeHead(503, json).end('{"error":{"message":"try another"}}');
  if (kind === "failed")
    return void response.writeHead(500, json).end('{"error":{"message":"it broke"}}');
  if (kind === "error inside")
    return void response.writeHead(200, json).end('{"error":{"message":"it broke"}}');
  if (kind === "unreported") return void response.writeHead(200, json).end(unreportedBody(request));
  if (kind === "batch")
    return void response
      .writeHead(200, json)
      .end('{"id":"batch_1","object":"batch","status":"validating"}');
  if (!streamed.has(kind))
    return void response
      .writeHead(200, json)
      .end(
        JSON.stringify({ ...(JSON.parse(completion(null)) as object), usage: usageOf(request) }),
      );
  beginStream(call).write(chunk(seenText(request)));
  if (isCut(kind)) return void response.write(chunk(mark), () => request.cut(call));
  const usage =
    kind === "stream"
      ? `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "test", choices: [], usage: usageOf(request) })}\n\n`
      : "";
  response.end(`${chunk("", "stop")}${usage}data: [DONE]\n\n`);
}

/** Whether it is a stream that doesn't come to its end. */
export function isCut(kind: Kind): boolean {
  return kind === "left" || kind === "died";
}

/** Reads all that there is before the cut; then the client goes away, or the provider dies. */
export async function readCut(
  response: Response,
  client: AbortController,
  kind: Kind,
  cutting: Promise<ReceivedCall>,
): Promise<void> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  for (let text = ""; !text.includes(mark) || !text.endsWith("\n\n"); ) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`a stream ended before its cut: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  const call = await cutting;
  if (kind === "left") {
    client.abort();
    await call.abandoned;
    return;
  }
  call.response.destroy();
  while (!(await reader.read().catch(() => ({ done: true }))).done);
}

/** What is else, when the answer comes from the proxy's cache. */
export const fromCache = { hit: true, inputCost: 0n, outputCost: 0n, totalCost: 0n, atMost: null };

/** The most output of an answer whose request and model name no maximum. */
const outputMost = 1_000_000;

/** Of a request whose body from the client had so many bytes. */
export function outcomeOf(request: Asked, promptBytes: number): Outcome {
  const { kind, sentBytes } = request;
  const [provider, model] = (
    kind === "over" ? "backup/priced" : (models[kind] ?? "test/priced")
  ).split("/") as [string, string];
  const reported = { provider, model, status: 200, estimated: false, hit: false, atMost: null };
  const mostInput = Math.max(promptBytes, sentBytes);
  const cut = (): Outcome => estimate(seenText(request).length + mark.length);
  const estimate = (seenBytes: number): Outcome => ({
    ...reported,
    estimated: true,
    ...priced(provider, model, guessed(promptBytes, seenBytes)),
    atMost: {
      tokens: mostInput + outputMost,
      cost: priced(provider, model, { input: mostInput, output: outputMost, cached: 0 }).totalCost!,
    },
  });
  const nothing = { input: 0, output: 0, cached: 0, inputCost: 0n, outputCost: 0n, totalCost: 0n };
  switch (kind) {
    case "batch":
      return { ...reported, model: "", ...nothing };
    case "failed":
      return { ...reported, status: 500, ...nothing };
    case "error inside":
      return { ...reported, status: 502, ...nothing };
    case "reported": {
      const half = BigInt(reportedCost(request) / 2);
      return {
        ...reported,
        ...tokensOf(request),
        inputCost: half,
        outputCost: half,
        totalCost: 2n * half,
      };
    }
    case "unreported":
      return estimate(Buffer.byteLength(unreportedBody(request)));
    case "unreported stream":
      return estimate(seenText(request).length);
    case "left":
      return { ...cut(), status: 499 };
    case "died":
      return cut();
    default:
      return { ...reported, ...priced(provider, model, tokensOf(request)) };
  }
}

/** Four bytes to a token, as docs/reference/usage-record.md has it. */
function guessed(
  promptBytes: number,
  seenBytes: number,
): { readonly input: number; readonly output: number; readonly cached: number } {
  const total = Math.ceil((promptBytes + seenBytes) / 4);
  const input = Math.ceil(promptBytes / 4);
  return { input, output: total - input, cached: 0 };
}

function priced(
  provider: string,
  model: string,
  tokens: { readonly input: number; readonly output: number; readonly cached: number },
): Pick<Outcome, "input" | "output" | "cached" | "inputCost" | "outputCost" | "totalCost"> {
  const price = prices[`${provider}/${model}`];
  if (price === undefined) return { ...tokens, inputCost: null, outputCost: null, totalCost: null };
  const inputCost =
    BigInt(tokens.input - tokens.cached) * price.input + BigInt(tokens.cached) * price.cached;
  const outputCost = BigInt(tokens.output) * price.output;
  return { ...tokens, inputCost, outputCost, totalCost: inputCost + outputCost + price.perRequest };
}
