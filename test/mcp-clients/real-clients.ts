/**
 * `npm run heavy -- mcp`: the official SDKs of MCP through `/mcp/{server}` to a server of the
 * official SDKs, in both kinds of revision: calls, progress, limits, bans, calls that are given up,
 * a server that dies, and what is recorded of each tool.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t, { type Test } from "tap";
import type { RecordItem } from "../../shared/api/record-item.js";
import { clientEnvironment } from "../clients/child.js";
import { installPackages, pythonIn } from "../clients/install.js";
import { agesSeconds } from "../support/ages.js";
import { admin, ruleNow, until } from "../support/client.js";
import { makeSite } from "../support/processes/processes.js";
import { root } from "../tidy/source-tree.js";

const directory = join(root, "test", "mcp-clients");
installPackages(directory);
const isThere =
  existsSync(join(directory, "node_modules/@modelcontextprotocol")) &&
  existsSync(pythonIn(directory));
const skip = isThere ? false : "the SDKs of MCP couldn't be installed";

interface Cell {
  readonly name: string;
  readonly server: "stateless" | "sessions";
  readonly revision: string;
  readonly command: readonly [string, ...string[]];
}

const typescript = (version: 1 | 2): readonly [string, ...string[]] => [
  process.execPath,
  "client.mjs",
  String(version),
  "auto",
];
const python = (mode: "auto" | "legacy"): readonly [string, ...string[]] => [
  pythonIn(directory),
  "client.py",
  mode,
];
const of2026 = { server: "stateless", revision: "2026-07-28" } as const;
const of2025 = { server: "sessions", revision: "2025-11-25" } as const;

const cells: readonly Cell[] = [
  { name: "typescript-2-stateless", ...of2026, command: typescript(2) },
  { name: "typescript-2-sessions", ...of2025, command: typescript(2) },
  { name: "typescript-1-sessions", ...of2025, command: typescript(1) },
  { name: "python-stateless", ...of2026, command: python("auto") },
  { name: "python-sessions", ...of2025, command: python("legacy") },
];

/** What came of one call, as the clients print it. */
interface Came {
  readonly tools: readonly string[];
  readonly revision: string;
  readonly said: string;
  readonly progress: number;
  readonly error: string;
}

/** A child whose output is read by the line. */
class Lines {
  readonly all: string[] = [];
  readonly #child: ChildProcess;
  #noise = "";

  constructor(t: Pick<Test, "teardown">, [program, ...args]: readonly [string, ...string[]]) {
    const home = mkdtempSync(join(tmpdir(), "sluice-mcp-"));
    const options = { cwd: directory, env: clientEnvironment(home, {}) };
    this.#child = spawn(program, args, options);
    this.#child.stderr!.on("data", (text: Buffer) => (this.#noise += text.toString()));
    createInterface({ input: this.#child.stdout! }).on("line", (line) => this.all.push(line));
    t.teardown(() => this.#child.kill("SIGKILL"));
  }

  tell(job: object): void {
    this.#child.stdin!.write(`${JSON.stringify(job)}\n`);
  }

  /** The line with this number, from 0. */
  async line(number: number): Promise<string> {
    await until(
      async () => this.all.length > number || this.#child.exitCode !== null,
      (isOver) => isOver,
    );
    const line = this.all[number];
    if (line === undefined) throw new Error(`it has ended: ${this.#noise}`);
    return line;
  }
}

t.test("real clients of MCP", { skip }, async (t) => {
  const server = new Lines(t, [process.execPath, "server.mjs"]);
  const port = (await server.line(0)).replace("port ", "");
  const masterKey = "master-key-of-the-test-0123456789";
  const site = makeSite(
    t,
    `
server: { master_key: ${masterKey} }
providers: { sim: { type: simulator } }
mcp_servers:
  stateless: { url: "http://127.0.0.1:${port}/stateless", api_key: secret-of-the-server }
  sessions: { url: "http://127.0.0.1:${port}/sessions", api_key: secret-of-the-server }
`,
  );
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const bearer = { authorization: `Bearer ${masterKey}` };
  const ask = async (operation: string, body?: unknown) => {
    const { status, body: answer } = await admin(url, operation, body, bearer);
    if (status >= 300) throw new Error(`${operation}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  };

  for (const { name, server: of, revision, command } of cells)
    t.test(name, async (t) => {
      const path = `/${name}`;
      const limit = (models: readonly string[], limit_key: object, max_requests: number) =>
        ask("PUT /rate-limits", { user_path: path, models, limit_key, max_requests });
      await limit([`mcp:${of}/add`], { period_seconds: agesSeconds }, 1);
      await limit([`mcp:${of}/erase_*`], { period: "day" }, 0);
      await limit([`mcp:${of}/*`], { period: "concurrent" }, 2);
      const { value: key } = await ask("POST /auth-keys", { name, user_path: path });
      const client = new Lines(t, command);
      let calls = 0;
      const call = async (tool: string, leave = false): Promise<Came> => {
        client.tell({ url: `${url}/mcp/${of}`, key, tool, leave });
        return JSON.parse(await client.line(calls++)) as Came;
      };
      const idle = (): Promise<unknown> =>
        until(
          () => ruleNow(url, path, 0, bearer),
          ({ in_flight }) => in_flight === 0,
        );

      const tools = ["add", "erase_all", "count", "die", "wait"];
      t.same(await call("add"), { tools, revision, said: "5", progress: 0, error: "" });
      t.match(await call("count"), { said: "counted", progress: 3, error: "" });

      const refused = await call("add");
      t.match(refused, { said: "", error: /\d+s request limit of 1 reached/ }, "a limit");
      const banned = await call("erase_all");
      t.match(banned, { said: "", error: /tool not allowed for .* on mcp:/ }, "a ban");

      const before = server.all.length;
      const left = await call("wait", true);
      t.match(left, { said: "", progress: 1 });
      t.not(left.error, "");
      t.equal(await server.line(before), "cancelled", "the server hears that its client has left");
      await idle();
      t.match(await call("die"), { said: "", progress: 1, error: /./ }, "the server is gone");
      await idle();
      t.match(await call("count"), { said: "counted", error: "" }, "and is there again");

      const { records } = await ask(`GET /usage/records?user_path=${path}`);
      const called = (records as readonly RecordItem[]).flatMap(({ tool_calls }) => tool_calls);
      const ofTool = (tool: string) => `mcp:${of}/${tool}=1`;
      t.same(
        called.sort(),
        ["add", "count", "count", "die", "wait"].map(ofTool),
        "each call is recorded",
      );
    });
});
