/**
 * `npm run heavy -- bench:hard-caps`: what a hard cap costs the proxy for each event of a stream,
 * in each dialect and through each translation, each event in a piece of its own.
 *
 * First in one process: the steps from a piece of the provider's stream to a piece for the client,
 * without sockets. Streams with and without a hard cap take turns in short bursts, and the least
 * CPU of many bursts counts: another program can only add to it. Then a whole proxy serves streams
 * with the same limit as a soft one, in the same way: what an event costs it, by which the first
 * figures are divided. Its provider and its clients run in this process, whose CPU isn't counted.
 */
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import os from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { chooseDialect } from "../../proxy/dialects/choose-dialect.js";
import type { Translation } from "../../proxy/dialects/shared/translation.js";
import { createAnswerTranslator } from "../../proxy/dialects/translate-answer.js";
import { translatedUpstream } from "../../proxy/dialects/translated-upstream.js";
import { lengthStop } from "../../proxy/hard-caps/length-stop.js";
import { OutputAllowance, type StreamCap } from "../../proxy/hard-caps/output-allowance.js";
import { forward } from "../../proxy/upstream/forward.js";
import type { UpstreamSink } from "../../proxy/upstream/upstream.js";
import type { Operation } from "../../shared/operation.js";
import { FakeExchange } from "../proxy/fake-exchange.js";
import { formOf, startEndlessStreams, token } from "../support/providers/endless-streams.js";
import { root } from "../tidy/source-tree.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import { withProcesses } from "./measure/with-processes.js";
import { startConfigured } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable, markdownTable } from "./report/table.js";

const options = new Command("bench:hard-caps")
  .description("Measures the CPU that a hard cap takes for each event of a stream.")
  .option("--bursts <n>", "bursts in one process", atLeastOne, 400)
  .option("--rounds <n>", "rounds of the whole proxy", atLeastOne, 10)
  .option("--streams <n>", "streams at once", atLeastOne, 50)
  .option("--events <n>", "events of each stream", atLeastOne, 400)
  .option("--write", "writes the table of docs/contributing/benchmark.md", false)
  .parse()
  .opts<{ bursts: number; rounds: number; streams: number; events: number; write: boolean }>();

/** The most that a hard cap may add to an event. */
const reach = 0.03;

interface Dialect {
  readonly name: string;
  readonly operation: Operation;
  /** Where clients and the provider have it. */
  readonly path: (model: string) => string;
  readonly body: object;
}

const messages = [{ role: "user", content: "hi" }];
const dialects: readonly Dialect[] = [
  {
    name: "chat completions",
    operation: "chat_completions",
    path: () => "/v1/chat/completions",
    body: { messages, stream: true, max_tokens: options.events },
  },
  {
    name: "messages",
    operation: "messages",
    path: () => "/v1/messages",
    body: { messages, stream: true, max_tokens: options.events },
  },
  {
    name: "Responses",
    operation: "responses",
    path: () => "/v1/responses",
    body: { input: "hi", stream: true, max_output_tokens: options.events },
  },
  {
    name: "Gemini's",
    operation: "stream_generate_content",
    path: (model) => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: {
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      generationConfig: { maxOutputTokens: options.events },
    },
  },
];

interface Case {
  readonly name: string;
  readonly client: Dialect;
  readonly provider: Dialect;
  readonly translation: Translation | null;
}

const cases: readonly Case[] = dialects.flatMap((client) =>
  dialects.flatMap((provider): readonly Case[] => {
    const dialect = chooseDialect(client.operation, new Set([provider.operation]));
    if (dialect === null) return [];
    const { translation } = dialect;
    const name = translation === null ? client.name : `${client.name} from ${provider.name}`;
    return [{ name, client, provider, translation }];
  }),
);
const paths = ["soft", "hard"] as const;
type Path = (typeof paths)[number];

/** What a proxy does beside: a client's connection takes all bytes at once. */
class QuickExchange extends FakeExchange {
  override write(): boolean {
    return true;
  }
}

/** As the daemon, which answers after the next events: what was asked for. */
function capOn(operation: Operation): { readonly cap: StreamCap; answer(): void } {
  const drawn = {
    ...{ granted: 256, spent: 0, cap: null, promptTokens: 10, isPromptKnown: false },
  };
  let answer: (() => void) | null = null;
  const allowance = new OutputAllowance(drawn, {
    draw: ({ total }, then) => {
      answer = () => {
        drawn.granted = total;
        then();
      };
    },
    monoMs: () => 77,
  });
  return {
    cap: {
      allowance,
      stop: lengthStop(operation, { choices: 1, wantsUsage: false }),
      bytesPerToken: 4,
      learn: () => {},
      promptBytes: () => 0,
      learnPrompt: () => {},
    },
    answer: () => {
      const run = answer;
      answer = null;
      run?.();
    },
  };
}

const eventStream = ["content-type", "text/event-stream"];

const answerContext = {
  ...{ model: "m", nowSeconds: 1, requestId: "req_1", provider: "openai" },
  request: { stream: true },
};

/** One stream with all of its pieces. */
function flow(
  { client: { operation }, provider, translation }: Case,
  pieces: readonly Buffer[],
  isHard: boolean,
): void {
  const capped = isHard ? capOn(operation) : null;
  const exchange = new QuickExchange();
  let sink: UpstreamSink | null = null;
  const call = { isSent: true, isResent: false, pause() {}, resume() {}, abort() {} };
  const upstream = {
    send: (_request: unknown, to: UpstreamSink) => {
      sink = to;
      return call;
    },
    redact: (text: string) => text,
    close: () => Promise.resolve(),
  };
  const translator =
    translation === null
      ? null
      : createAnswerTranslator(translation, answerContext, { memory: exchange.memory });
  void forward(exchange, {
    upstream:
      translator === null
        ? upstream
        : translatedUpstream(upstream, translator, isHard ? provider.operation : null),
    provider: "openai",
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
    hideUsageChunk: false,
    promptBytes: () => 10,
    holdsHead: false,
    monoMs: () => 77,
    cap: capped?.cap ?? null,
  });
  const to = sink as UpstreamSink | null;
  to!.onHead(200, eventStream);
  for (const [i, piece] of pieces.entries()) {
    to!.onData(piece);
    if (i % 16 === 0) capped?.answer();
  }
  to!.onEnd();
}

interface InProcess {
  readonly soft: number;
  readonly hard: number;
}

/** Nanoseconds of CPU for each event. */
async function measureInProcess(each: Case): Promise<InProcess> {
  const { events, bursts } = options;
  const { pathname } = new URL(each.provider.path("m"), "http://x");
  const form = formOf(pathname, { kind: "text", token, reports: "at the end" }, { model: "gpt" });
  const texts = [
    ...form.begin,
    ...Array.from({ length: events }, () => form.one),
    ...form.end(events),
  ];
  const pieces = texts.map((text) => Buffer.from(text));
  const streams = 10;
  const least: Record<Path, number> = { soft: Infinity, hard: Infinity };
  for (let burst = -40; burst < bursts; burst++)
    for (const side of burst % 2 === 0 ? paths : [...paths].reverse()) {
      const before = process.cpuUsage();
      for (let i = 0; i < streams; i++) flow(each, pieces, side === "hard");
      const { user, system } = process.cpuUsage(before);
      const ns = (1000 * (user + system)) / (streams * pieces.length);
      // The first bursts are for V8 to compile in.
      if (burst >= 0) least[side] = Math.min(least[side], ns);
      await new Promise((resolve) => setImmediate(resolve));
    }
  return least;
}

/** A provider for each dialect has one model of its name. */
function ask(url: string, { client, provider }: Case, userPath: Path): Promise<void> {
  const model = provider.operation;
  const path = client.path(model);
  const body = { ...client.body, model };
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "x-sluice-user-path": `/${userPath}` };
    const request = http.request(url + path, { method: "POST", headers, agent }, (response) => {
      response.on("end", resolve).on("error", reject).resume();
      const isHard = response.headers["x-sluice-hard-cap"] === "true";
      if (response.statusCode !== 200 || isHard !== (userPath === "hard"))
        reject(new Error(`${path} of ${userPath} was answered with ${response.statusCode}`));
    });
    request.on("error", reject).end(JSON.stringify(body));
  });
}

const agent = new http.Agent({ keepAlive: true });

interface WholeProxy {
  /** Microseconds of the proxy's CPU for each event. */
  readonly soft: number;
  readonly hard: number;
}

function typeOf(operation: Operation, url: string): object {
  if (operation === "messages") return { type: "anthropic" };
  if (operation !== "stream_generate_content") return { type: "openai" };
  return { type: "gemini", base_url: `${url}/openai` };
}

async function measureWholeProxies(): Promise<readonly WholeProxy[]> {
  const measured: WholeProxy[] = [];
  await withProcesses("hard-caps", async (processes, dir) => {
    const { rounds, streams, events } = options;
    const provider = await startEndlessStreams();
    provider.atOnce = 1;
    const of = { api_key: "none", base_url: provider.baseUrl };
    const { proxy } = await startConfigured(processes, dir, {
      providers: Object.fromEntries(
        dialects.map(({ operation }) => [
          operation.replaceAll("_", "-"),
          {
            ...of,
            ...typeOf(operation, of.base_url),
            operations: [operation],
            models: [operation],
          },
        ]),
      ),
      rate_limits: {
        user_paths: paths.map((path) => ({
          path: `/${path}`,
          limits: [
            { period: "day", max_tokens: 1e12, ...(path === "hard" ? { hold: "hard" } : {}) },
          ],
        })),
      },
    });
    const source = cpuSource();
    for (const each of cases) {
      const least = { soft: Number.POSITIVE_INFINITY, hard: Number.POSITIVE_INFINITY };
      for (let round = -2; round < rounds; round++)
        for (const path of round % 2 === 0 ? paths : [...paths].reverse()) {
          const before = readCpu([proxy.pid], source);
          await Promise.all(Array.from({ length: streams }, () => ask(proxy.url, each, path)));
          const us = cpuUsBetween(before, readCpu([proxy.pid], source)) / (streams * events);
          provider.calls.length = 0;
          if (round >= 0) least[path] = Math.min(least[path], us);
        }
      measured.push(least);
    }
    agent.destroy();
    await provider.close();
    return 0;
  });
  return measured;
}

const steps: InProcess[] = [];
for (const each of cases) steps.push(await measureInProcess(each));
const whole = await measureWholeProxies();
const percent = (part: number): string => `${(100 * part).toFixed(1)}%`;
const rows = cases.map(({ name }, i) => {
  const { soft, hard } = steps[i]!;
  const proxy = whole[i]!;
  const part = (hard - soft) / proxy.soft / 1000;
  return [
    name,
    (hard - soft).toFixed(0),
    proxy.soft.toFixed(1),
    percent(part),
    `${percent(reach)}${part > reach ? ", exceeded" : ""}`,
  ];
});
const head = ["stream", "a hard cap adds, ns", "an event without, µs", "part", "at most"];
const [load = 0] = os.loadavg();
const { bursts, rounds, streams, events } = options;
const run = `Least CPU of ${bursts} bursts in one process, and of ${rounds} rounds of ${streams} streams of ${events} events through a proxy; Node ${process.versions.node}, load ${load.toFixed(1)}.`;
process.stdout.write(`${run}\n\n${formatTable(head, rows).join("\n")}\n`);
if (options.write) {
  const page = join(root, "docs/contributing/benchmark.md");
  const between = `<!-- hard caps -->\n${run}\n\n${markdownTable(head, rows)}\n<!-- end -->`;
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(/<!-- hard caps -->[^]*?<!-- end -->/, () => between),
  );
}
