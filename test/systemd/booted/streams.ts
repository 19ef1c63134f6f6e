/**
 * Streams through proxies, from inside the machine, with the provider that answers them: it counts
 * what it has sent. A line of standard input is a `StreamsOrder`, and `begun` is printed once each
 * of its streams has had a first byte; or it is `report`, and a `StreamsReport` of those since the
 * last one is printed once all have ended.
 */
import http from "node:http";
import { createInterface } from "node:readline";

export interface StreamsOrder {
  readonly key: string;
  /** Streams go to each of these ports in turn. */
  readonly ports: readonly number[];
  readonly streams: number;
  /** How long each of them runs. */
  readonly ms: number;
}

export interface StreamsReport {
  readonly completed: number;
  /** Why the others aren't, the first ten. */
  readonly failures: readonly string[];
  /** By the provider, of the streams that it has sent to their end. */
  readonly truth: { readonly requests: number; readonly input: number; readonly output: number };
}

/** The provider's port, as the configuration of the machine has it. */
const providerPort = 9100;
const pieceMs = 50;

let truth = { requests: 0, input: 0, output: 0 };
let made = 0;

const provider = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (bytes: Buffer) => chunks.push(bytes));
  request.once("end", () => {
    const { user } = JSON.parse(Buffer.concat(chunks).toString()) as { user: string };
    const untilMs = performance.now() + Number(user);
    // Differs from stream to stream, so that one counted for another is seen.
    const usage = { prompt_tokens: 10 + (made % 7), completion_tokens: 100 + (made++ % 89) };
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (event: object): void =>
      void response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...event })}\n\n`,
      );
    const timer = setInterval(() => {
      if (performance.now() < untilMs)
        return send({ choices: [{ index: 0, delta: { content: "word " }, finish_reason: null }] });
      clearInterval(timer);
      send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
      send({
        choices: [],
        usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
      });
      response.end("data: [DONE]\n\n");
      truth = {
        requests: truth.requests + 1,
        input: truth.input + usage.prompt_tokens,
        output: truth.output + usage.completion_tokens,
      };
    }, pieceMs);
    response.once("close", () => clearInterval(timer));
  });
});

/** Resolves with null, or with why the stream isn't whole. `begun`: with its first byte. */
function stream(
  port: number,
  { key, ms }: StreamsOrder,
  begun: () => void,
): Promise<string | null> {
  const body = JSON.stringify({
    model: "counted/m",
    stream: true,
    stream_options: { include_usage: true },
    user: String(ms),
    messages: [{ role: "user", content: "hello" }],
  });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const path = "/v1/chat/completions";
  return new Promise((resolve) => {
    const request = http.request(
      { agent: false, host: "127.0.0.1", port, method: "POST", path, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          if (text === "") begun();
          text += piece;
        });
        response.once("error", ({ message }) => resolve(`cut: ${message}`));
        response.once("end", () => {
          if (response.statusCode !== 200) resolve(`${response.statusCode} ${text}`);
          else resolve(text.includes("[DONE]") ? null : "without its end");
        });
      },
    );
    request.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.end(body);
  });
}

const running: Promise<string | null>[] = [];

async function begin(order: StreamsOrder): Promise<void> {
  const ports = Array.from(
    { length: order.streams },
    (_, i) => order.ports[i % order.ports.length]!,
  );
  await Promise.all(
    ports.map(
      (port) =>
        new Promise<void>((begun) => {
          const ended = stream(port, order, begun);
          void ended.then(() => begun());
          running.push(ended);
        }),
    ),
  );
  process.stdout.write("begun\n");
}

async function report(): Promise<void> {
  const ended = await Promise.all(running.splice(0));
  const failures = ended.filter((failure) => failure !== null);
  const completed = ended.length - failures.length;
  const all: StreamsReport = { completed, failures: failures.slice(0, 10), truth };
  process.stdout.write(`${JSON.stringify(all)}\n`);
  truth = { requests: 0, input: 0, output: 0 };
}

provider.listen(providerPort, "127.0.0.1", async () => {
  for await (const line of createInterface({ input: process.stdin }))
    await (line === "report" ? report() : begin(JSON.parse(line) as StreamsOrder));
  process.exit(0);
});
