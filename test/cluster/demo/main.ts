/**
 * `npm run heavy -- demo:cluster`: an engine and two hosts' worth of daemons and proxies on this
 * machine, and one limit over both, with the simulator as provider. It stays until Ctrl-C; with
 * `--once` it ends when it has shown the limit.
 */
import { setTimeout as delay } from "node:timers/promises";
import { engineProgram, startEngine } from "../../support/processes/start-engine.js";
import { type DemoHost, startHost } from "./demo-host.js";

const path = "/team/app";
const limit = 20;
const requests = 30;
const once = process.argv.includes("--once");

/** What to end, the last first. */
const ends: (() => unknown)[] = [];

async function main(): Promise<number> {
  if (engineProgram === null) {
    say(
      "This demo needs an engine that the hosts share: install redis-server or valkey-server (Debian: apt install redis-server), then try again.",
    );
    return 1;
  }
  say(`DEMO: an engine and two "hosts" on this one machine. No model is called.\n`);
  const engine = await startEngine({ teardown: (end: () => unknown) => void ends.push(end) });
  say(`engine   ${engineProgram} on ${engine.url}`);
  const [a, b] = await Promise.all([
    startHost("host-a", engine.url),
    startHost("host-b", engine.url),
  ]);
  for (const host of [a, b]) {
    ends.push(() => host.stop());
    say(`${host.name}   proxy on ${host.url}`);
  }
  await bothJoined([a, b]);
  await makeLimit(a);
  say(`\nOn host-a: at most ${limit} requests an hour on /team, over both hosts.`);
  await knownOn(b);
  say(`host-b knows it. ${requests} requests on ${path}, to the two in turn:\n`);
  await askInTurn([a, b]);
  if (once) return 0;
  say(`
Try it by hand:
  curl -i ${b.url}/v1/chat/completions -H 'X-Sluice-User-Path: ${path}' -d '{"model":"sim-fast","messages":[{"role":"user","content":"Hello!"}]}'
  curl -s ${b.url}/admin/rate-limits
  curl -s -X POST ${a.url}/admin/rate-limits/reset -d '{"confirmation":"reset"}'
  node dist/programs/sluice.js status --url ${a.url}
Ctrl-C ends all of it.`);
  await new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  return 0;
}

/** Until each host reaches the engine. */
async function bothJoined(hosts: readonly DemoHost[]): Promise<void> {
  for (const host of hosts)
    await until(`${host.name} reaches the engine`, async () => {
      const { cluster } = (await host.get("/admin/status")) as {
        readonly cluster?: { readonly engine?: { readonly state?: string } | null } | null;
      };
      return cluster != null && JSON.stringify(cluster).includes('"connected"');
    });
}

async function makeLimit(host: DemoHost): Promise<void> {
  const status = await host.send("PUT", "/admin/rate-limits", {
    user_path: "/team",
    limit_key: { period: "hour" },
    max_requests: limit,
  });
  if (status !== 200) throw new Error(`the limit was answered with ${status}`);
}

function knownOn(host: DemoHost): Promise<void> {
  return until(`${host.name} knows the limit`, async () =>
    JSON.stringify(await host.get("/admin/rate-limits")).includes('"/team"'),
  );
}

async function askInTurn(hosts: readonly DemoHost[]): Promise<void> {
  const admitted = new Map(hosts.map(({ name }) => [name, 0]));
  for (let i = 0; i < requests; i++) {
    const host = hosts[i % hosts.length]!;
    const status = await verdictOf(host);
    if (status === 200) admitted.set(host.name, admitted.get(host.name)! + 1);
    process.stdout.write(
      `${i % 2 === 0 ? "  " : "   "}${host.name} ${status}${i % 2 === 0 ? "" : "\n"}`,
    );
  }
  const both = [...admitted.values()].reduce((sum, each) => sum + each, 0);
  const parts = [...admitted].map(([name, count]) => `${name} ${count}`).join(", ");
  say(`\nadmitted: ${both} of ${requests} (${parts}), the limit is ${limit}`);
}

/** An overloaded machine may keep the engine from answering in time: that is asked again. */
async function verdictOf(host: DemoHost): Promise<number> {
  for (let tries = 0; ; tries++) {
    const status = await host.send("POST", "/v1/chat/completions", question);
    if (status !== 503 || tries === 20) return status;
    await delay(100);
  }
}

const question = { model: "sim-fast", messages: [{ role: "user", content: "Hello!" }] };

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await done().catch(() => false)) return;
    await delay(50);
  }
  throw new Error(`it takes too long until ${what}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

let exitCode = 1;
try {
  exitCode = await main();
} catch (error) {
  say(`the demo has failed: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  for (const end of ends.reverse()) await end();
}
process.exit(exitCode);
