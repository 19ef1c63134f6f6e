/**
 * Runs the examples of the pages in docs/ and holds them to what they show. On a page,
 *
 * - a block that begins with ```yaml sluice.yaml is a whole configuration: the loader takes it
 *   without a warning. Another file (```yaml limits.yaml) is in the directory of the commands;
 * - a block that begins with ```console runs: lines with $ are commands, the lines behind a command
 *   are all that it prints. … stands for the rest of a line, and a line of its own for any lines.
 *   Secrets and request ids match any other.
 *
 * `sluice up` starts a gateway, with the configuration and the variables before it; the commands
 * behind it run against it, in one shell. The clock of all of it stands still, and `sleep` moves
 * it: windows, periods and `Retry-After` are those of the page.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { loadConfig } from "../shared/config/load-config.js";
import { presets } from "../shared/config/presets.js";
import { run } from "./bin/command-session.js";
import { until } from "./support/client.js";
import { makeSite } from "./support/processes/processes.js";
import { root } from "./tidy/source-tree.js";

interface File {
  readonly kind: "file";
  readonly name: string;
  readonly text: string;
}

interface Command {
  readonly kind: "command";
  readonly text: string;
  readonly shown: string;
}

type Step = File | Command;

/** Tuesday, 12:00:20: no window of a page ends while it runs. */
const startMs = Date.UTC(2026, 2, 10, 12, 0, 20);
const tasks = [
  "budgets",
  "cache-and-rewriters",
  "coming-from-litellm",
  "failover",
  "first-gateway",
  "keys",
  "limit-options",
  "limit-people",
  "limits-in-git",
  "loops",
  "reconcile",
  "which-limit",
  "who-spent-what",
];

/** The marked blocks of a page, in order. */
function stepsOf(page: string): readonly Step[] {
  const blocks = page.matchAll(/^```(\w+)(?: ([\w.-]+))?\n([^]*?)^```$/gm);
  return [...blocks].flatMap(([, language, name, text = ""]): readonly Step[] => {
    if (name !== undefined) return [{ kind: "file", name, text }];
    return language === "console" ? commandsOf(text) : [];
  });
}

/** A command goes on behind a backslash, or with > as a shell asks for more. */
function commandsOf(block: string): readonly Command[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [text = ""] = /^(?:.*\\\n)*.*(?:\n> .*)*/.exec(part) ?? [];
      const shown = part.slice(text.length).trim();
      return { kind: "command", text: text.replaceAll("\n> ", "\n"), shown };
    });
}

/** A gateway, and what runs against it. */
interface Scene {
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
  readonly files: File[];
  readonly commands: Command[];
}

/** Each `sluice up` begins one, with the last configuration before it; so does a first command. */
function scenesOf(steps: readonly Step[]): readonly Scene[] {
  const scenes: Scene[] = [];
  let config = "";
  const begin = (env: Scene["env"]): Scene => {
    const scene = { config, env, files: [], commands: [] };
    scenes.push(scene);
    return scene;
  };
  for (const step of steps) {
    if (step.kind === "command") {
      const started = /^((?:\w+=\S+ )*)sluice up$/.exec(step.text)?.[1];
      if (started !== undefined) begin(variablesBefore(started));
      else (scenes.at(-1) ?? begin({})).commands.push(step);
    } else if (step.name === "sluice.yaml") config = step.text;
    else (scenes.at(-1) ?? begin({})).files.push(step);
  }
  return scenes;
}

function variablesBefore(command: string): Scene["env"] {
  const words = command.split(" ").filter((word) => word !== "");
  return Object.fromEntries(words.map((word) => word.split("=", 2) as [string, string]));
}

/** Variables of the file have values, and providers with a preset are at the stand-in. */
function variablesOf(
  { config, env }: Pick<Scene, "config" | "env">,
  standIn: string,
): Record<string, string> {
  const named = [...config.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name);
  const values = Object.fromEntries(
    named.map((name) => [name, `a-value-of-32-characters-or-more`]),
  );
  const addresses = presets
    .filter(({ keyVariable }) => keyVariable in values || keyVariable in env)
    .map(({ name, variables }) => [`${variables}_BASE_URL`, `${standIn}/${name}/v1`]);
  return { ...values, ...(Object.fromEntries(addresses) as Record<string, string>), ...env };
}

/** Loaded into each process: the time is what a file says. */
const clockOfPages = `
import { readFileSync } from "node:fs";
const now = () => Number(readFileSync(process.env.CLOCK_OF_PAGES, "utf8"));
globalThis.Date = class extends Date {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }
  static now() {
    return now();
  }
};
`;

interface ShellCalls {
  sleep(seconds: number): void;
  /** Runs a command of `sluice`, and answers with its exit code. */
  command(argv: readonly string[]): Promise<number>;
}

/**
 * What the shell calls, and every provider, at /NAME/v1: each answer has 1,000 tokens of input and
 * 200 of output.
 */
async function startStandIn(t: Test, calls: ShellCalls): Promise<string> {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://stand-in");
    const body = await text(request);
    if (url.pathname === "/sleep") {
      calls.sleep(Number(body));
      return void response.end();
    }
    if (url.pathname === "/command")
      return void response.end(String(await calls.command(body.split("\n").slice(0, -1))));
    response.setHeader("content-type", "application/json");
    const usage = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 };
    const message = { role: "assistant", content: `Hello from ${url.pathname.split("/")[1]}!` };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const chat = { id: "chat-1", object: "chat.completion", created: 1, model: "m" };
    const models = { object: "list", data: [] };
    response.end(JSON.stringify(request.method === "GET" ? models : { ...chat, choices, usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function load(t: Test, config: string): void {
  const file = join(t.testdir(), "sluice.yaml");
  writeFileSync(file, config);
  const env = variablesOf({ config, env: {} }, page8080);
  const loaded = loadConfig({ file, env, cwd: "/", uid: 1000 });
  t.same(loaded.ok ? loaded.warnings : loaded.problems, [], `is a configuration:\n${config}`);
}

async function play(t: Test, scene: Scene): Promise<void> {
  let nowMs = startMs;
  const clock = t.testdir({ "clock.mjs": clockOfPages, now: String(startMs) });
  const standIn = await startStandIn(t, {
    sleep(seconds) {
      nowMs += seconds * 1000;
      writeFileSync(join(clock, "now"), String(nowMs));
    },
    async command(argv) {
      const ask = (): ReturnType<typeof run> => run(argv, { cwd: directory, env, nowMs });
      // A proxy reports its state to the daemon a moment after it has changed.
      const isReported = ({ out }: Awaited<ReturnType<typeof run>>): boolean =>
        stateLines.every((line) => alike(out).includes(line));
      const { exitCode, out, err } = await (argv[0] === "status" ? until(ask, isReported) : ask());
      writeFileSync(join(directory, ".out"), out === "" ? "" : `${out}\n`);
      writeFileSync(join(directory, ".err"), err === "" ? "" : `${err}\n`);
      return exitCode;
    },
  });
  const stateLines = scene.commands
    .filter(({ text }) => text.startsWith("sluice status"))
    .flatMap(({ shown }) => shown.split("\n").map(alike))
    .filter((line) => !line.includes("…"));
  const variables = {
    ...variablesOf(scene, standIn),
    CLOCK_OF_PAGES: join(clock, "now"),
    NODE_OPTIONS: `--import=${join(clock, "clock.mjs")}`,
  };
  const site = makeSite(t, scene.config, variables);
  const { directory, socket } = site;
  for (const file of scene.files) writeFileSync(join(directory, file.name), file.text);
  await site.startDaemon();
  const { ready } = await site.startProxy();
  // A second terminal: the variables before `sluice up` aren't there.
  const env = { SLUICE_SOCKET: socket, PORT: new URL(ready).port };
  const call = `curl -s --data-binary @- ${standIn}`;
  const script = [
    "exec 2>&1",
    `sleep() { echo "$1" | ${call}/sleep; }`,
    // The command line runs in the test's process: starting one takes a fifth of a second.
    `sluice() { local code; code=$(printf '%s\\n' "$@" | ${call}/command)`,
    `cat .err >&2; cat .out; return "$code"; }`,
    ...scene.commands.map(({ text }) => `${text.replaceAll(page8080, ready)}\nprintf '\\001'`),
  ].join("\n");
  const outputs = (await runShell(script, directory)).split("\x01");
  for (const [at, { text, shown }] of scene.commands.entries()) {
    const printed = alike((outputs[at] ?? "").replaceAll(ready, page8080));
    if (matches(printed, alike(shown))) t.pass(text);
    else t.equal(printed, alike(shown), text);
  }
}

const page8080 = "http://127.0.0.1:8080";

function runShell(script: string, cwd: string): Promise<string> {
  return text(spawn("bash", ["-c", script], { cwd, stdio: ["ignore", "pipe", "inherit"] }).stdout);
}

/** Without what differs from run to run. */
function alike(text: string): string {
  return text
    .replaceAll("\r", "")
    .replace(/sk-sluice-(?:[\w-]{43}|[\w-]{4}…)/g, "sk-sluice-…")
    .replace(/req_\w+/g, "req_…")
    .replace(/[ \t]+/g, " ")
    .replace(/ *\n/g, "\n")
    .trim();
}

function matches(printed: string, shown: string): boolean {
  const pattern = shown
    .split("\n")
    .map((line) => (line === "…" ? "(?:.*\\n)*?" : `${quoted(line).replaceAll("…", ".*")}\\n`))
    .join("");
  return new RegExp(`^${pattern}$`).test(`${printed}\n`) || (shown === "" && printed === "");
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

// Pages wait for their processes.
t.jobs = 3;
for (const file of readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))) {
  const steps = stepsOf(readFileSync(join(root, "docs", file), "utf8"));
  if (steps.length > 0)
    t.test(`the examples of docs/${file} do what they show`, async (t) => {
      for (const step of steps)
        if (step.kind === "file" && step.name === "sluice.yaml") load(t, step.text);
      for (const scene of scenesOf(steps)) await play(t, scene);
    });
}

t.test("each task has an example", async (t) => {
  for (const task of tasks) {
    const steps = stepsOf(readFileSync(join(root, "docs", `${task}.md`), "utf8"));
    t.ok(
      steps.some(({ kind }) => kind === "file"),
      task,
    );
  }
});
