/**
 * Raw bytes and mutated requests over real connections to a real proxy and daemon: several at once,
 * pipelined, in pieces, cut. After each round both processes are the same and healthy, no answer is
 * an internal error, and at the end no slot is held.
 */
import { once } from "node:events";
import { connect } from "node:net";
import type { Test } from "tap";
import type { Random } from "../../sim/random.js";
import { admin, ruleNow, until } from "../../support/client.js";
import { makeSite, type Part, type Site } from "../../support/processes/processes.js";
import { chatChunks } from "../../support/providers/recorded-chat.js";
import { message, messageEvents } from "../../support/providers/recorded-messages.js";
import {
  type ReceivedCall,
  replyCompletion,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";
import { BrokenProperty, type FuzzBench, type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes } from "../mutate/mutate-bytes.js";
import { masterKey, requestBytes } from "./http-requests.js";

/** A connection that doesn't end by itself, such as one whose body never comes. */
const openMsMax = 700;
/** How long a process takes to end that answers no more. */
const endMsMax = 5000;
const roundsPerCleaning = 25;
const asMaster = { authorization: `Bearer ${masterKey}` };

const yaml = (baseUrl: string): string => `
server: { master_key: ${masterKey}, max_body_bytes: 4000000, max_upload_bytes: 4000000 }
log_level: error
providers:
  test: { type: openai, base_url: "${baseUrl}", api_key: none, models: ["*"] }
  claude: { type: anthropic, base_url: "${baseUrl}", api_key: none, models: ["*"] }
  chatty: { type: openai, base_url: "${baseUrl}", api_key: none, models: ["*"], operations: [chat_completions] }
  dated: { type: azure, base_url: "${baseUrl}", api_version: 2024-10-21, api_key: none, models: ["*"] }
virtual_models: { smart: { strategy: failover, targets: [{ model: chatty/m }, { model: claude/m }] } }
cache: { enabled: true }
rewriters: [{ name: minify_tool_json }, { name: collapse_white_space }, { name: drop_duplicate_system }]
entitlements: [quota_templates]
rate_limits:
  user_paths: [{ path: /, limits: [{ period: concurrent, max_requests: 1000, loops: { warn_after: 2, warn_after_turns: 2 } }, { period: day, max_requests: 100000000 }] }]
`;

/** A provider that answers in the dialect of the path, as a stream where one is asked for. */
function answer(call: ReceivedCall): void {
  const { path, body, response } = call;
  const streams = body.includes('"stream":true');
  const events = path.includes("/messages")
    ? messageEvents("m", "greeting").map(
        (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
      )
    : chatChunks("m", "tools", true).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  if (streams)
    return void response
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(events.join(""));
  if (!path.includes("/messages")) return replyCompletion(call, 10);
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify(message("m", "tools")));
}

class HttpBench implements FuzzBench {
  readonly #upstream: ScriptedUpstream;
  readonly #site: Site;
  readonly #teardowns: readonly (() => unknown)[];
  #daemon: Part;
  #proxy: Part;
  #rounds = 0;

  static async open(): Promise<HttpBench> {
    const upstream = await startScriptedUpstream();
    upstream.answer = answer;
    const teardowns: (() => unknown)[] = [];
    const site = makeSite(
      { teardown: (run: () => unknown) => void teardowns.push(run) } as unknown as Test,
      yaml(upstream.baseUrl),
    );
    const daemon = await site.startDaemon();
    return new HttpBench(site, { upstream, teardowns }, daemon, await site.startProxy());
  }

  private constructor(
    site: Site,
    { upstream, teardowns }: { upstream: ScriptedUpstream; teardowns: readonly (() => unknown)[] },
    daemon: Part,
    proxy: Part,
  ) {
    this.#site = site;
    this.#upstream = upstream;
    this.#teardowns = teardowns;
    this.#daemon = daemon;
    this.#proxy = proxy;
  }

  /** One round: a few connections at once. */
  async run(random: Random): Promise<number> {
    const connections = Array.from({ length: random.int(1, 12) }, () =>
      Array.from({ length: random.pick([1, 1, 1, 2, 4]) }, () => requestBytes(random)),
    );
    const answers = await Promise.all(
      connections.map((requests) => this.#converse(Buffer.concat(requests), random)),
    );
    this.#upstream.calls.length = 0;
    await this.#mustLive();
    for (const text of answers) {
      const wrong = /HTTP\/1\.1 500 [^]{0,1500}/.exec(text);
      must(wrong === null, () => `an internal error: ${wrong![0]}\n${tail(this.#proxy)}`);
    }
    if (++this.#rounds % roundsPerCleaning === 0) await this.#clean();
    return connections.flat().length;
  }

  /** All that the proxy says to some bytes. */
  async #converse(bytes: Buffer, random: Random): Promise<string> {
    const socket = connect(Number(new URL(this.#proxy.ready).port), "127.0.0.1");
    let said = "";
    socket.on("data", (piece: Buffer) => {
      if (said.length < 100_000) said += piece.toString("latin1");
    });
    // A proxy may close before it has read everything.
    socket.on("error", () => {});
    const closed = once(socket, "close").catch(() => {});
    const cuts = random.chance(0.15);
    const end = random.chance(0.2) ? random.int(0, bytes.length) : bytes.length;
    const pieces = random.chance(0.7) ? [bytes] : cutBytes(bytes, random).slice(0, 50);
    let sent = 0;
    for (const piece of pieces) {
      if (sent >= end) break;
      socket.write(piece.subarray(0, end - sent));
      sent += piece.length;
      if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
    }
    if (cuts) socket.destroy();
    else socket.end();
    const deadline = setTimeout(() => socket.destroy(), openMsMax);
    await closed;
    clearTimeout(deadline);
    return said;
  }

  /** Throws when a process has ended, or isn't healthy; the next round has a new one. */
  async #mustLive(): Promise<void> {
    const health = await fetch(`${this.#proxy.ready}/health`).catch(() => null);
    await health?.arrayBuffer();
    const parts = [this.#daemon, this.#proxy];
    if (health?.status === 200 && parts.every(lives)) return;
    // What it has printed comes with its end.
    if (health === null) await Promise.race([this.#proxy.kill("SIGCONT"), pause(endMsMax)]);
    const dead = parts.find((part) => !lives(part));
    await this.#restart();
    if (dead !== undefined) throw new BrokenProperty(`a process has ended: ${tail(dead)}`);
    throw new BrokenProperty(`/health answers ${health?.status ?? "nothing"}: ${tail(parts[1]!)}`);
  }

  async #restart(): Promise<void> {
    await this.#proxy.kill("SIGKILL");
    await this.#daemon.kill("SIGKILL");
    this.#daemon = await this.#site.startDaemon();
    this.#proxy = await this.#site.startProxy();
  }

  /** Takes out the rules and budgets that mutated requests have made, before they refuse all. */
  async #clean(): Promise<void> {
    const url = this.#proxy.ready;
    for (const [path, name, key] of [
      ["/rate-limits", "rate_limits", "limit_key"],
      ["/budgets", "budgets", "budget_key"],
    ] as const) {
      const { body } = await admin(url, `GET ${path}`, undefined, asMaster);
      for (const item of body[name] as {
        scope: string;
        subject: string;
        period_seconds: number;
        source: string;
      }[]) {
        if (item.source !== "manual") continue;
        const { scope, subject, period_seconds } = item;
        await admin(url, `DELETE ${path}`, { scope, subject, [key]: { period_seconds } }, asMaster);
      }
    }
  }

  async close(): Promise<void> {
    try {
      const deadlineMs = performance.now() + 20_000;
      const { in_flight: held } = await until(
        () => ruleNow(this.#proxy.ready, "/", 0, asMaster),
        ({ in_flight }) => in_flight === 0 || performance.now() > deadlineMs,
      );
      must(held === 0, () => `${held} slots are held at the end`);
    } finally {
      for (const run of this.#teardowns) await run();
      await this.#upstream.close();
    }
  }
}

const lives = ({ child }: Part): boolean => child.exitCode === null && child.signalCode === null;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The end of what a process has printed. */
function tail(part: Part): string {
  return part.output().slice(-2500);
}

export const http: FuzzTarget = {
  name: "http",
  share: 0.01,
  open: () => HttpBench.open(),
};
