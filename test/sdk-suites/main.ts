/**
 * `npm run heavy -- sdk-suites`: the tests of OpenAI's and Anthropic's Python SDKs against a mock
 * of their API, directly and through Sluice; and all methods of their Node SDKs. Only what passes
 * directly and fails through Sluice counts; `known.ts` lists what may. Ends with 1 for others.
 *
 * `--sdk` and `--tests` choose a part, by a name and by a word of pytest's `-k`.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { makeSite } from "../support/processes/processes.js";
import { root } from "../tidy/source-tree.js";
import { known } from "./known.js";
import { callAll, nodeSdks, startEveryApi } from "./node-calls.js";

interface Outcome {
  readonly outcome: "passed" | "failed" | "skipped";
  readonly message: string;
}
type Outcomes = ReadonlyMap<string, Outcome>;

/** Base URLs end as the SDKs' own do: Anthropic's paths begin with `/v1`, OpenAI's don't. */
const suites = [
  { sdk: "openai", direct: "/v1", gateway: "/v1" },
  { sdk: "anthropic", direct: "", gateway: "" },
] as const;

const folder = join(root, "test/sdk-suites");
const home = join(folder, "node_modules");
const python = join(home, ".python/bin/python");
const { values } = parseArgs({
  options: {
    sdk: { type: "string", default: "" },
    tests: { type: "string", default: "method" },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** False if the registry can't be reached. */
function install(): boolean {
  const list = readFileSync(join(folder, "requirements.txt"), "utf8");
  const mark = join(home, ".installed");
  if (existsSync(mark) && readFileSync(mark, "utf8") === list) return true;
  mkdirSync(home, { recursive: true });
  const sdks = list.match(/^(?:openai|anthropic)==.*$/gm) ?? [];
  const pip = ["-m", "pip", "--quiet", "--disable-pip-version-check"];
  const sources = ["download", "--no-deps", "--no-binary", ":all:", "-d", home, ...sdks];
  const isDone =
    run("python3", ["-m", "venv", join(home, ".python")]) &&
    run(python, [...pip, "install", "-r", join(folder, "requirements.txt")]) &&
    run(python, [...pip, ...sources]) &&
    sdks.every((each) => run("tar", ["xzf", `${each.replace("==", "-")}.tar.gz`]));
  if (isDone) writeFileSync(mark, list);
  return isDone;
}

function run(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { cwd: home, stdio: "inherit" }).status === 0;
}

const endings: (() => unknown)[] = [];
const teardown = (ending: () => unknown): void => void endings.push(ending);

async function startMock(sdk: string): Promise<string> {
  const mock = spawn(python, [join(folder, "mock.py"), sdk], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  teardown(() => mock.kill());
  const [port] = (await once(createInterface(mock.stdout), "line")) as [string];
  return `http://127.0.0.1:${port}`;
}

/** The SDK's tests against the API at this address. */
async function testsAt(sdk: string, baseUrl: string): Promise<Outcomes> {
  const version = readFileSync(join(home, ".installed"), "utf8").match(`${sdk}==(.*)`)![1]!;
  const file = join(home, `outcomes-${sdk}.json`);
  const options = ["-p", "outcomes", "-p", "no:cacheprovider", "-n0", "--tb=native", "-q"];
  const chosen = [
    "--continue-on-collection-errors",
    "-k",
    `strict and not Async and ${values.tests}`,
  ];
  const child = spawn(python, ["-m", "pytest", ...options, ...chosen, "tests/api_resources"], {
    cwd: join(home, `${sdk}-${version}`),
    env: {
      PATH: process.env["PATH"],
      PYTHONPATH: folder,
      PYTHONDONTWRITEBYTECODE: "1",
      TEST_API_BASE_URL: baseUrl,
      OUTCOMES: file,
    },
    stdio: "ignore",
  });
  await once(child, "exit");
  return new Map(Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, Outcome>));
}

const passes = (outcomes: Outcomes): number =>
  [...outcomes.values()].filter(({ outcome }) => outcome === "passed").length;

/** A gateway's address, before the mock. */
async function startGateway(type: string, mock: string): Promise<string> {
  const site = makeSite(
    { teardown },
    `
server: { passthrough: all }
providers:
  ${type}: { type: ${type}, base_url: "${mock}/v1", api_key: key-of-the-operator, models: ["*"], retries: 0, breaker_failures: 0 }
`,
  );
  await site.startDaemon();
  return (await site.startProxy()).ready;
}

function isKnown(way: string, test: string, message: string): boolean {
  return known.some(
    (each) => each.way.test(way) && each.tests.test(test) && each.message.test(message),
  );
}

/** How many methods of a Node SDK differ. */
async function runCalls(sdk: keyof typeof nodeSdks): Promise<number> {
  const api = await startEveryApi();
  teardown(() => api.close());
  const type = sdk === "openai-node" ? "openai" : "anthropic";
  const end = type === "openai" ? "/v1" : "";
  const url = await startGateway(type, api.url);
  const expected = await callAll(sdk, api, `${api.url}${end}`);
  print(`${sdk}: ${expected.size} methods called directly`);
  let unexplained = 0;
  for (const [way, address] of [
    ["/v1", `${url}${end}`],
    ["/p", `${url}/p/${type}`],
  ] as const) {
    const seen = await callAll(sdk, api, address);
    const differ = [...seen].filter(([name, call]) => call !== expected.get(name));
    const others = differ.filter(([name, call]) => !isKnown(way, name, call));
    print(
      `${sdk} ${way}: ${seen.size - differ.length} the same, ${differ.length - others.length} known differences, ${others.length} others`,
    );
    for (const [name, call] of others)
      print(`  ${name}: ${call.slice(0, 300)}\n    directly: ${expected.get(name)?.slice(0, 300)}`);
    unexplained += others.length;
  }
  return unexplained;
}

/** How many differences nothing explains. */
async function runSuite({ sdk, direct, gateway }: (typeof suites)[number]): Promise<number> {
  const mock = await startMock(sdk);
  const url = await startGateway(sdk, mock);
  const expected = await testsAt(sdk, `${mock}${direct}`);
  print(`${sdk}: ${passes(expected)} of ${expected.size} tests pass directly`);
  let unexplained = 0;
  for (const [way, address] of [
    ["/v1", `${url}${gateway}`],
    ["/p", `${url}/p/${sdk}${sdk === "openai" ? "" : gateway}`],
  ] as const) {
    const seen = await testsAt(sdk, address);
    const differ = [...expected].filter(
      ([test, { outcome }]) => outcome === "passed" && seen.get(test)?.outcome !== "passed",
    );
    const others = differ.filter(
      ([test]) => !isKnown(way, test, seen.get(test)?.message ?? "not run"),
    );
    print(
      `${sdk} ${way}: ${passes(seen)} pass, ${differ.length - others.length} known differences, ${others.length} others`,
    );
    for (const [test] of others) print(`  ${test}: ${seen.get(test)?.message ?? "not run"}`);
    unexplained += others.length;
  }
  return unexplained;
}

for (const sdk of Object.keys(nodeSdks) as (keyof typeof nodeSdks)[])
  if (sdk.includes(values.sdk) && (await runCalls(sdk)) > 0) process.exitCode = 1;
if (install()) {
  for (const suite of suites)
    if (suite.sdk.includes(values.sdk) && (await runSuite(suite)) > 0) process.exitCode = 1;
} else print("skipped: the SDKs can't be had from PyPI");
for (const end of endings.reverse()) await end();
