/**
 * `npm run heavy -- bench:hard-caps`: what a hard cap costs the proxy for each event of a stream,
 * in each dialect. One proxy serves streams with a hard cap and with the same limit as a soft one
 * in turns, each event in a piece of its own. The provider and the clients run in this process,
 * whose CPU isn't counted.
 */
import http from "node:http";
import os from "node:os";
import { Command } from "commander";
import { startEndlessStreams } from "../support/providers/endless-streams.js";
import { cpuSource, cpuUsBetween, readCpu } from "./measure/process-stat.js";
import { withProcesses } from "./measure/with-processes.js";
import { startConfigured } from "./peers/sluice.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable } from "./report/table.js";

const options = new Command("bench:hard-caps")
  .description("Measures the CPU that a hard cap takes for each event of a stream.")
  .option("--rounds <n>", "rounds", atLeastOne, 20)
  .option("--streams <n>", "streams at once", atLeastOne, 50)
  .option("--events <n>", "events of each stream", atLeastOne, 400)
  .parse()
  .opts<{ rounds: number; streams: number; events: number }>();

interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly body: object;
}

const messages = [{ role: "user", content: "hi" }];
const dialects: readonly Dialect[] = [
  {
    name: "chat completions",
    path: "/v1/chat/completions",
    body: { model: "gpt", messages, stream: true, max_tokens: options.events },
  },
  {
    name: "messages",
    path: "/v1/messages",
    body: { model: "claude", messages, stream: true, max_tokens: options.events },
  },
  {
    name: "Responses",
    path: "/v1/responses",
    body: { model: "gpt", input: "hi", stream: true, max_output_tokens: options.events },
  },
  {
    name: "Gemini's",
    path: "/v1beta/models/gemini:streamGenerateContent?alt=sse",
    body: {
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      generationConfig: { maxOutputTokens: options.events },
    },
  },
  {
    name: "messages, translated",
    path: "/v1/messages",
    body: { model: "gpt", messages, stream: true, max_tokens: options.events },
  },
];
const paths = ["soft", "hard"] as const;
type Path = (typeof paths)[number];

function ask(url: string, { path, body }: Dialect, userPath: Path): Promise<void> {
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
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

await withProcesses("hard-caps", async (processes, dir) => {
  const { rounds, streams, events } = options;
  const provider = await startEndlessStreams();
  provider.atOnce = 1;
  const of = { api_key: "none", base_url: provider.baseUrl };
  const { proxy } = await startConfigured(processes, dir, {
    providers: {
      openai: { ...of, type: "openai", models: ["gpt"] },
      claude: { ...of, type: "anthropic", models: ["claude"] },
      gemini: { ...of, type: "gemini", base_url: `${of.base_url}/openai`, models: ["gemini"] },
    },
    rate_limits: {
      user_paths: paths.map((path) => ({
        path: `/${path}`,
        limits: [{ period: "day", max_tokens: 1e12, ...(path === "hard" ? { hold: "hard" } : {}) }],
      })),
    },
  });
  const source = cpuSource();
  /** Microseconds of the proxy's CPU for each event. */
  const measure = async (dialect: Dialect, path: Path): Promise<number> => {
    const before = readCpu([proxy.pid], source);
    await Promise.all(Array.from({ length: streams }, () => ask(proxy.url, dialect, path)));
    const us = cpuUsBetween(before, readCpu([proxy.pid], source));
    provider.calls.length = 0;
    return us / (streams * events);
  };
  const taken = new Map<Dialect, Record<Path, number[]>>(
    dialects.map((dialect) => [dialect, { soft: [], hard: [] }]),
  );
  for (let round = -2; round < rounds; round++)
    for (const [dialect, figures] of taken)
      for (const path of round % 2 === 0 ? paths : [...paths].reverse()) {
        const us = await measure(dialect, path);
        // The first two rounds are for V8 to compile in.
        if (round >= 0) figures[path].push(us);
      }
  const rows = [...taken].map(([{ name }, { soft, hard }]) => {
    const ratios = hard.map((us, i) => us / soft[i]!).sort((a, b) => a - b);
    const quarter = Math.floor(ratios.length / 4);
    const [low, high] = [ratios[quarter]!, ratios.at(-1 - quarter)!];
    const added = median(hard.map((us, i) => us - soft[i]!));
    return [
      name,
      median(soft).toFixed(2),
      (1000 * added).toFixed(0),
      median(ratios).toFixed(3),
      `[${low.toFixed(3)} – ${high.toFixed(3)}]`,
    ];
  });
  const head = ["dialect", "µs an event", "ns more", "hard ÷ soft", "middle half"];
  const [load = 0] = os.loadavg();
  process.stdout.write(
    `${rounds} rounds of ${streams} streams of ${events} events, load ${load.toFixed(1)}\n\n${formatTable(head, rows).join("\n")}\n`,
  );
  agent.destroy();
  await provider.close();
  return 0;
});
