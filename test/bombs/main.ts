/**
 * `npm run heavy -- bombs`: sends compressed bodies that are drawn at random, most of them to harm,
 * to a real proxy and daemon, on every endpoint that reads a body. A refusal costs no more than a
 * plain one, nothing but what was sent on is counted, no turn of the event loop is long, no memory
 * stays held, and the proxy serves on. `--seed N` draws the same again, `--first I --draws 1` one
 * of them.
 */
import { execFile, execFileSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import * as zlib from "node:zlib";
import { decodedFreelyBytes } from "../../proxy/bounds.js";
import { createRandom, type Random } from "../sim/random.js";
import { agesSeconds } from "../support/ages.js";
import { admin, ruleNow, until } from "../support/client.js";
import { makeSite, type Part } from "../support/processes/processes.js";
import { type DrawnBody, drawBody } from "./draw-body.js";

const { values: flags } = parseArgs({
  options: {
    seed: { type: "string" },
    draws: { type: "string", default: "400" },
    first: { type: "string", default: "0" },
  },
});
const seed = Number(flags.seed ?? randomInt(2 ** 31));
const first = Number(flags.first);
const draws = Number(flags.draws);

/** A refusal of a compressed body may cost so many times that of a plain one. */
const timesMax = 8;
/** A bomb that is decoded, so many times a plain body of 1 MiB: Brotli fills a window of 16 MiB. */
const decodedTimesMax = 16;
/** CPU time of the longest turn of the proxy's event loop: parsing the largest body that passes. */
const turnMsMax = 200;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const findings: string[] = [];
function finding(line: string): void {
  findings.push(line);
  print(`  FINDING: ${line}`);
}

interface Endpoint {
  readonly path: string;
  readonly method?: string;
  readonly body: string;
  /** `limited`: each request that is sent on counts. */
  readonly kind: "limited" | "free" | "admin";
  readonly type?: string;
}

const messages = '"messages":[{"role":"user","content":"hi"}]';
const google = '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}';
const limited = (path: string, body: string, type?: string): Endpoint =>
  type === undefined ? { path, body, kind: "limited" } : { path, body, kind: "limited", type };
const form = "multipart/form-data; boundary=B";
const formBody = `--B\r\ncontent-disposition: form-data; name="model"\r\n\r\np/m\r\n--B--\r\n`;
const chat = limited("/v1/chat/completions", `{"model":"p/m",${messages}}`);
const endpoints: readonly Endpoint[] = [
  chat,
  limited("/v1/chat/completions", `{"model":"a/m",${messages}}`),
  limited("/v1/responses", '{"model":"p/m","input":"hi"}'),
  limited("/v1/responses/compact", '{"model":"p/m","input":"hi"}'),
  limited("/v1/messages", `{"model":"a/m","max_tokens":9,${messages}}`),
  limited("/v1/completions", '{"model":"p/m","prompt":"hi"}'),
  limited("/v1/embeddings", '{"model":"p/m","input":"hi"}'),
  limited("/v1/moderations", '{"model":"p/m","input":"hi"}'),
  limited("/v1/images/generations", '{"model":"p/m","prompt":"hi"}'),
  limited("/v1/audio/transcriptions", formBody, form),
  limited("/v1beta/models/g/m:generateContent", google),
  limited("/openai/deployments/p%2Fm/chat/completions", `{${messages}}`),
  limited(
    "/v1/batches",
    '{"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h"}',
  ),
  limited("/v1/messages/batches", '{"requests":[]}'),
  limited("/p/p/anything", '{"a":1}'),
  { path: "/v1/messages/count_tokens", body: `{"model":"a/m",${messages}}`, kind: "free" },
  { path: "/v1/responses/input_tokens", body: '{"model":"p/m","input":"hi"}', kind: "free" },
  { path: "/v1beta/models/g/m:countTokens", body: google, kind: "free" },
  { path: "/v1/conversations", body: '{"metadata":{"a":"b"}}', kind: "free" },
  { path: "/v1/containers", body: '{"name":"a"}', kind: "free" },
  { path: "/v1/uploads", body: '{"filename":"a","purpose":"batch","bytes":1}', kind: "free" },
  { path: "/v1/files", body: formBody, kind: "free", type: form },
  { path: "/admin/rate-limits", method: "PUT", body: '{"a":1}', kind: "admin" },
  { path: "/admin/limits", body: '{"a":1}', kind: "admin" },
  { path: "/admin/auth-keys", body: '{"a":1}', kind: "admin" },
  { path: "/admin/budgets", method: "PUT", body: '{"a":1}', kind: "admin" },
  { path: "/dashboard/session", body: '{"a":1}', kind: "admin" },
];

/**
 * The calls that it got and that count; and Sluice's own looks at batches that a caller has
 * submitted, which come a minute after each: in a run that takes longer.
 */
const provider = { counted: 0, looks: 0 };
const free = /count_tokens|input_tokens|countTokens|conversations|containers|uploads|files/;
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const answers: readonly (readonly [RegExp, object])[] = [
  [/count_tokens|input_tokens/, { input_tokens: 1 }],
  [/countTokens/, { totalTokens: 1 }],
  [
    /generateContent/,
    {
      candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    },
  ],
  [
    /messages$/,
    {
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "hi" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  ],
  [/responses/, { id: "resp_1", usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } }],
  [
    /completions$/,
    {
      choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
      usage,
    },
  ],
  [/./, { id: "made_1", data: [], usage }],
];
const server = createServer((received, response) => {
  const path = (received.url ?? "/").split("?", 1)[0]!;
  if (/^GET .*\/batches\/made_1$/.test(`${received.method} ${path}`)) provider.looks++;
  else if (!free.test(path)) provider.counted++;
  received.on("error", () => {}).resume();
  received.on("end", () => {
    const [, answer] = answers.find(([pattern]) => pattern.test(path))!;
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const masterKey = "the-master-key-of-this-run";
const teardowns: (() => unknown)[] = [];
const turnsFile = join(mkdtempSync(join(tmpdir(), "sluice-bombs-")), "turns");
const site = makeSite(
  { teardown: (run) => void teardowns.push(run as () => unknown) },
  `
server: { master_key: ${masterKey}, passthrough: all }
providers:
  p: { type: openai, base_url: "${base}/v1", api_key: k, models: [m] }
  a: { type: anthropic, base_url: "${base}/v1", api_key: k, models: [m] }
  g: { type: gemini, base_url: "${base}/v1beta/openai", api_key: k, models: [m] }
rate_limits:
  user_paths:
    - { path: /spent, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
    - { path: /tokens, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1 }] }
    - path: /fresh
      limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000 }, { period: concurrent, max_requests: 50 }]
`,
  {
    NODE_OPTIONS: `--import=${new URL("watch-turns.js", import.meta.url).href}`,
    SLUICE_TURNS_FILE: turnsFile,
  },
);
const daemon = await site.startDaemon();
const proxy = await site.startProxy();
const url = new URL(proxy.ready);
const byMaster = { authorization: `Bearer ${masterKey}` };

async function keyOf(path: string): Promise<string> {
  const { body } = await admin(
    url.origin,
    "POST /auth-keys",
    { name: path, user_path: path },
    byMaster,
  );
  return String(body["value"]);
}
const freshKey = await keyOf("/fresh");
type Caller = "wrong" | "unknown" | "spent" | "tokens" | "fresh" | "master";
const keys: Readonly<Record<Caller, string>> = {
  wrong: "wrong",
  // Only the daemon can say that it isn't one.
  unknown: freshKey.slice(0, -4) + (freshKey.endsWith("AAAA") ? "BBBB" : "AAAA"),
  spent: await keyOf("/spent"),
  tokens: await keyOf("/tokens"),
  fresh: freshKey,
  master: masterKey,
};

interface Sending {
  readonly endpoint: Endpoint;
  readonly caller: Caller;
  readonly bytes: Buffer;
  readonly coding?: readonly string[];
  /** In how many pieces, with a moment between. */
  readonly pieces?: number;
  readonly chunked?: boolean;
  /** After so many pieces the client leaves. */
  readonly leavesAfter?: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** The status, 0 of a client that left, or why there is none. */
function send(sending: Sending, through = agent): Promise<number | string> {
  const { endpoint, caller, bytes, coding, pieces = 1, chunked = false, leavesAfter } = sending;
  return new Promise((resolve) => {
    const sent = request(url, {
      agent: through,
      method: endpoint.method ?? "POST",
      path: endpoint.path,
      headers: {
        authorization: `Bearer ${keys[caller]}`,
        "content-type": endpoint.type ?? "application/json",
        origin: url.origin,
      },
    });
    if (coding !== undefined) sent.setHeader("content-encoding", coding);
    if (!chunked) sent.setHeader("content-length", bytes.length);
    sent.setTimeout(60_000, () => sent.destroy(new Error("no answer within a minute")));
    sent.on("error", (error) => resolve(error.message));
    sent.on("response", (response) => {
      response.on("error", (error) => resolve(error.message)).resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    const write = async (): Promise<void> => {
      const size = Math.ceil(bytes.length / pieces);
      for (let i = 0; i < pieces && !sent.destroyed; i++) {
        if (i === leavesAfter) {
          resolve(0);
          sent.destroy();
          return;
        }
        if (i > 0) await sleep(2);
        sent.write(bytes.subarray(i * size, (i + 1) * size));
      }
      sent.end();
    };
    void write();
  });
}

/** CPU time so far, in ms, of all threads of both processes. */
function cpuMs(): number {
  const msOf = ({ child }: Part): number =>
    readdirSync(`/proc/${child.pid}/task`).reduce((sum, task) => {
      const stat = readFileSync(`/proc/${child.pid}/task/${task}/schedstat`, "latin1");
      return sum + Number(stat.split(" ")[0]) / 1e6;
    }, 0);
  return msOf(proxy) + msOf(daemon);
}

/** CPU time of one of such requests. */
async function costOf(count: number, sending: Sending): Promise<number> {
  const { caller, endpoint, coding, bytes } = sending;
  const before = cpuMs();
  const statuses = new Set<number | string>();
  for (let i = 0; i < count; i++) statuses.add(await send(sending));
  const cost = (cpuMs() - before) / count;
  for (const status of statuses)
    if (!statusesOf(caller, endpoint).includes(Number(status)))
      finding(`${caller}, ${endpoint.path}, ${coding?.join()}, ${bytes.length} bytes: ${status}`);
  return cost;
}

/** The statuses that a caller may get (docs/reference/http-api.md, "Errors"). */
function statusesOf(caller: Caller, { kind, path }: Endpoint): readonly number[] {
  if (path === "/dashboard/session") return [400, 413, 415];
  if (caller === "wrong" || caller === "unknown") return [401];
  if (kind === "admin") return caller === "master" ? [400, 413, 415] : [401, 403];
  if (kind === "limited" && (caller === "spent" || caller === "tokens")) return [429];
  return [200, 400, 404, 413, 415];
}

const callers: readonly Caller[] = [
  "wrong",
  "unknown",
  "spent",
  "tokens",
  "fresh",
  "fresh",
  "fresh",
];

function drawSending(random: Random): Sending & { readonly drawn: DrawnBody } {
  const endpoint = random.pick(endpoints);
  const drawn = drawBody(endpoint.body, random);
  const pieces = random.chance(0.3)
    ? random.int(2, Math.max(2, Math.min(20, drawn.bytes.length)))
    : 1;
  const isAdmin = endpoint.kind === "admin" && random.chance(0.6);
  const leaves = pieces > 1 && !endpoint.path.startsWith("/p/") && random.chance(0.15);
  return {
    endpoint,
    drawn,
    caller: isAdmin ? "master" : random.pick(callers),
    bytes: drawn.bytes,
    coding: drawn.coding,
    pieces,
    chunked: random.chance(0.4),
    ...(leaves ? { leavesAfter: random.int(1, pieces - 1) } : {}),
  };
}

const longestTurnMs = (): number =>
  existsSync(turnsFile) ? Number(readFileSync(turnsFile, "latin1")) : 0;

async function sendDraws(): Promise<void> {
  const statuses = new Map<string, number>();
  let longest = longestTurnMs();
  let where = "";
  for (let i = first; i < first + draws; i++) {
    const sending = drawSending(createRandom(seed * 31 + i));
    const { caller, endpoint, drawn } = sending;
    const got = await send(sending);
    const line = `draw ${i}: ${caller}, ${endpoint.path}; ${drawn.name}`;
    const isOk = got === 0 || statusesOf(caller, endpoint).includes(Number(got));
    if (!isOk) finding(`${line}: ${got}`);
    const group = `${caller === "fresh" || caller === "master" ? caller : "refused"} ${got}`;
    statuses.set(group, (statuses.get(group) ?? 0) + 1);
    const turnMs = longestTurnMs();
    if (turnMs > longest) where = line;
    longest = Math.max(longest, turnMs);
    if (turnMs > turnMsMax && where === line) finding(`${line}: a turn of ${turnMs.toFixed(0)} ms`);
  }
  print(
    [...statuses]
      .sort()
      .map(([group, times]) => `${group}: ${times}`)
      .join(", "),
  );
  print(`the longest turn of the event loop: ${longest.toFixed(0)} ms of CPU (${where})`);
}

/** Whether all requests of this caller are refused there unread. */
function isRefusedAt(caller: Caller, { kind, path }: Endpoint): boolean {
  if (path === "/dashboard/session") return true;
  if (caller === "wrong" || caller === "unknown") return true;
  return caller !== "fresh" && kind === "limited";
}

/** A body that is as large and not compressed. */
function alike({ body, type }: Endpoint, bytes: number): Buffer {
  if (type !== undefined) return Buffer.concat([Buffer.from(body), randomBytes(bytes)]);
  const noise = randomBytes(bytes / 2).toString("hex");
  return Buffer.from(`${body.slice(0, -1)},"x":"${noise}"}`);
}

const ms = (cost: number): string => `${cost.toFixed(2)} ms`;

/** What refusals cost, each beside plain ones of the same caller and endpoint. */
async function compareCosts(): Promise<void> {
  const random = createRandom(seed);
  let most = 0;
  for (const caller of ["wrong", "unknown", "spent", "tokens"] as const)
    for (let i = 0; i < 4; i++) {
      const endpoint = random.pick(endpoints.filter((endpoint) => isRefusedAt(caller, endpoint)));
      const small = { caller, endpoint, bytes: Buffer.from(endpoint.body) };
      await costOf(20, small);
      const plain = await costOf(60, small);
      const drawn = drawBody(endpoint.body, random);
      for (const { bytes, coding } of [...bombs, drawn]) {
        const cost = await costOf(20, { caller, endpoint, bytes, coding });
        // A large body that isn't compressed takes longer, too.
        const large = { ...small, bytes: alike(endpoint, bytes.length) };
        const base = bytes.length > 64 * 1024 ? await costOf(20, large) : plain;
        most = Math.max(most, cost / base);
        if (cost / base > timesMax)
          finding(
            `${caller}, ${endpoint.path}, ${coding.join()}, ${bytes.length} bytes: ${ms(cost)}, ` +
              `a plain refusal ${ms(base)}`,
          );
      }
    }
  print(`a refusal costs at most ${most.toFixed(1)} times a plain one`);
  await compareDecoded(random);
}

/** What bombs cost of callers who aren't refused, beside what they may send uncompressed. */
async function compareDecoded(random: Random): Promise<void> {
  let most = 0;
  for (let i = 0; i < 6; i++) {
    const caller = random.pick(["spent", "fresh"] as const);
    const isDecodedAt = (endpoint: Endpoint): boolean =>
      !isRefusedAt(caller, endpoint) && endpoint.kind !== "admin" && endpoint.type === undefined;
    const endpoint = random.pick(endpoints.filter(isDecodedAt));
    const large = alike(endpoint, decodedFreelyBytes);
    await costOf(5, { caller, endpoint, bytes: large });
    const plain = await costOf(10, { caller, endpoint, bytes: large });
    for (const { bytes, coding } of bombs) {
      const sending = { caller, endpoint, bytes, coding };
      let cost = await costOf(10, sending);
      // A collection of garbage may have fallen into it.
      if (cost / plain > decodedTimesMax) cost = Math.min(cost, await costOf(10, sending));
      most = Math.max(most, cost / plain);
      if (cost / plain > decodedTimesMax)
        finding(
          `${caller}, ${endpoint.path}, ${coding.join()}: ${ms(cost)}, ` +
            `a plain body of 1 MiB ${ms(plain)}`,
        );
    }
  }
  print(`a bomb that is decoded costs at most ${most.toFixed(1)} times a plain body of 1 MiB`);
}

/** Many at once: who finds no place or memory may get a 429 or 503, and nobody anything else. */
async function sendAtOnce(count: number): Promise<void> {
  const random = createRandom(~seed);
  const sendings = Array.from({ length: count }, () => drawSending(random));
  const crowd = new Agent({ maxSockets: count });
  await Promise.all(
    sendings.map(async (sending) => {
      const { caller, endpoint, drawn } = sending;
      const got = await send(sending, crowd);
      if (got !== 0 && ![...statusesOf(caller, endpoint), 429, 503].includes(Number(got)))
        finding(`at once: ${caller}, ${endpoint.path}; ${drawn.name}: ${got}`);
    }),
  );
  crowd.destroy();
}

const run = promisify(execFile);

/** The same from other programs' compressors and clients; those that are missing are skipped. */
async function sendFromOutside(): Promise<void> {
  const text = join(site.directory, "blanks");
  writeFileSync(text, blanks);
  const tools = [
    { coding: "gzip", command: ["gzip", "-9", "-c"], bomb: 413 },
    { coding: "br", command: ["brotli", "-c"], bomb: 413 },
    { coding: "zstd", command: ["zstd", "-q", "-c"], bomb: hasZstd ? 413 : 415 },
  ];
  for (const { coding, command, bomb } of tools) {
    const [tool = "", ...args] = command;
    const compress = (file: string): string => {
      const to = `${file}.${coding}`;
      writeFileSync(to, execFileSync(tool, [...args, file], { maxBuffer: 64_000_000 }));
      return to;
    };
    try {
      execFileSync(tool, ["--version"], { stdio: "ignore" });
    } catch {
      print(`there is no ${tool}: skipped`);
      continue;
    }
    const honest = join(site.directory, "honest");
    writeFileSync(honest, chat.body);
    for (const [file, caller, status] of [
      [honest, "fresh", bomb === 415 ? 415 : 200],
      [honest, "spent", 429],
      [honest, "unknown", 401],
      [text, "fresh", bomb],
      [text, "spent", 429],
      [text, "unknown", 401],
    ] as const) {
      const { stdout } = await run("curl", [
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-H",
        `authorization: Bearer ${keys[caller]}`,
        "-H",
        "content-type: application/json",
        "-H",
        `content-encoding: ${coding}`,
        "--data-binary",
        `@${compress(file)}`,
        url.origin + chat.path,
      ]);
      if (stdout !== String(status)) finding(`curl, ${tool}, ${caller}: ${stdout}, not ${status}`);
    }
  }
  const { stdout } = await run("python3", ["-c", python, url.host, keys.fresh, keys.spent]);
  for (const line of stdout.split("\n").filter((line) => line !== "")) finding(`Python: ${line}`);
}

const blanks = Buffer.alloc(30_000_000, " ");
/** With the largest window, which a decoder fills before anything comes out. */
const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: 24 };
const bombs = [
  { coding: ["br"], bytes: zlib.brotliCompressSync(blanks, { params }) },
  { coding: ["gzip"], bytes: zlib.gzipSync(blanks) },
];

const hasZstd = "createZstdDecompress" in zlib;

const python = `
import gzip, http.client, sys, zlib
host, fresh, spent = sys.argv[1:]
chat = b'${chat.body}'
blanks = b' ' * 30000000
cases = [(chat, 200), (blanks, 413), (chat[:-1] + blanks + b'}', 413)]
for text, status in cases:
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    bodies = [('gzip', gzip.compress(text)), ('deflate', zlib.compress(text)),
        ('deflate', raw.compress(text) + raw.flush())]
    for coding, body in bodies:
        for key, expected in [(fresh, status), (spent, 429), ('wrong', 401)]:
            for chunked in (False, True):
                connection = http.client.HTTPConnection(host)
                parts = (body[i:i + 1000] for i in range(0, len(body), 1000))
                headers = {'authorization': 'Bearer ' + key, 'content-encoding': coding,
                    'content-type': 'application/json'}
                try:
                    sent = parts if chunked else body
                    connection.request('POST', '${chat.path}', sent, headers,
                        encode_chunked=chunked)
                    got = connection.getresponse().status
                except OSError as error:
                    got = repr(error)
                if got != expected:
                    print(coding, len(body), 'chunked' if chunked else 'whole', expected, got)
                connection.close()
`;

const plainOf = (caller: Caller): Promise<number | string> =>
  send({ endpoint: chat, caller, bytes: Buffer.from(chat.body) });

print(`bombs from seed ${seed}`);
const startedMs = Date.now();
try {
  for (const caller of ["spent", "tokens"] as const) {
    await plainOf(caller);
    await until(
      () => plainOf(caller),
      (status) => status === 429,
    );
  }
  const countedBefore = provider.counted;
  // Until its code is compiled, a proxy takes longer for each.
  for (const caller of ["wrong", "unknown", "spent"] as const)
    for (let i = 0; i < 100; i++) await plainOf(caller);
  await compareCosts();
  await sendDraws();
  await sendAtOnce(100);
  await sendFromOutside();
  if ((await plainOf("fresh")) !== 200) finding("the proxy doesn't serve any more");
  const used = async (path: string, period: number) => ruleNow(url.origin, path, period, byMaster);
  await until(
    () => used("/fresh", 0),
    ({ in_flight }) => in_flight === 0,
  );
  const { requests_used: counted } = await used("/fresh", agesSeconds);
  const sentOn = provider.counted - countedBefore;
  if (counted !== sentOn) finding(`${counted} requests are counted, ${sentOn} were sent on`);
  const { requests_used: spent } = await used("/spent", agesSeconds);
  if (spent !== 1) finding(`${spent} requests are counted of a path whose limit is 1`);
  const { tokens_used: tokens } = await used("/tokens", agesSeconds);
  if (tokens !== 2) finding(`${tokens} tokens are counted of a path that used 2`);
  let held = -1;
  for (let i = 0; i < 100 && held !== 0; i++) {
    if (i > 0) await sleep(100);
    const health = await fetch(`${url.origin}/health`, { headers: byMaster });
    const { capacity } = (await health.json()) as { readonly capacity: { held_bytes: number } };
    held = capacity.held_bytes;
  }
  if (held !== 0) finding(`${held} bytes are held at the end`);
  if (/a bug in Sluice|"fatal"/.test(proxy.output() + daemon.output()))
    finding(proxy.output().slice(-2000));
  print(`${sentOn} requests were sent on and counted, and ${provider.looks} looks at batches`);
} finally {
  agent.destroy();
  server.close();
  server.closeAllConnections();
  for (const teardown of teardowns) await teardown();
  rmSync(dirname(turnsFile), { recursive: true, force: true });
}
const seconds = Math.round((Date.now() - startedMs) / 1000);
print(`${draws} draws from seed ${seed} in ${seconds} s: ${findings.length} findings`);
process.exitCode = findings.length === 0 && process.exitCode !== 1 ? 0 : 1;
