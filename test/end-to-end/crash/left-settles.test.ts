/**
 * A proxy that stops while the daemon is away leaves what it couldn't report; the next one delivers
 * it, exactly once, with real processes.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { adminSocketBeside } from "../../../shared/socket/socket-place.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { startRelay } from "../../support/processes/socket-relay.js";
import {
  beginStream,
  chunk,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

async function begin(t: Test) {
  const upstream = await startScriptedUpstream();
  t.teardown(() => upstream.close());
  const site = makeSite(
    t,
    `
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
limiter: { failure_mode: open, deadline_ms: 100 }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000, max_tokens: 1000000 }, { period: concurrent, max_requests: 100 }] }
`,
  );
  const spool = join(site.directory, "data", "spool");
  const left = (): string[] => readdirSync(spool).filter((name) => name.includes(".settles"));
  const sums = async (url: string): Promise<unknown> => {
    const { requests_used, tokens_used } = await ruleNow(url, "/team", agesSeconds);
    const { in_flight } = await ruleNow(url, "/team", 0);
    const response = await fetch(`${url}/v1/usage`, { headers: { "x-sluice-user-path": "/team" } });
    const { usage } = (await response.json()) as { usage: Record<string, number> };
    const { total_requests, total_tokens } = usage;
    return { requests_used, tokens_used, in_flight, total_requests, total_tokens };
  };
  return { upstream, site, spool, left, sums };
}

t.test(
  "settles that a stopping proxy can't deliver are counted by the next one, once, though it is killed in the middle",
  async (t) => {
    const { upstream, site, spool, left, sums } = await begin(t);
    const daemon = await site.startDaemon();
    const stopping = await site.startProxy();
    const admitted = upstream.nextCall();
    upstream.answer = (call) => void beginStream(call).write(chunk("one"));
    const stream = await chat(stopping.ready, { path: "/team", stream: true });
    upstream.answer = (call) => replyCompletion(call, 10);
    await daemon.kill("SIGKILL");
    const unasked = 20;
    for (let i = 0; i < unasked; i++)
      t.equal((await chat(stopping.ready, { path: "/team" })).status, 200);
    // Admitted by the daemon that is gone, and settled without one.
    (await admitted).response.end(`${usageChunk(7)}data: [DONE]\n\n`);
    await stream.text();
    await stopping.kill("SIGTERM");
    t.equal(stopping.child.exitCode, 0);
    t.match(stopping.output(), /"settles":21,"msg":"the limiter daemon never acknowledged these/);
    t.match(left(), exactly([/^[\w-]+\.settles$/]));

    await site.startDaemon();
    const relay = await startRelay(
      join(site.directory, "relay.sock"),
      adminSocketBeside(site.socket),
    );
    const acknowledged = relay.hold("down", "settled");
    const killed = await site.startProxy(relay.socket);
    await acknowledged;
    await killed.kill("SIGKILL");
    await relay.close();
    const [taken] = left();
    t.match(taken, /^[\w-]+\.settles~[\w-]+$/, "all is counted, and the file is still there");
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(join(spool, taken!), longAgo, longAgo);

    const next = await site.startProxy();
    await next.printed(/"settles":21,"msg":"delivered the settles that a stopped proxy had left"/);
    t.same(left(), []);
    const tokens = unasked * 10 + 7;
    t.same(await sums(next.ready), {
      requests_used: unasked + 1,
      tokens_used: tokens,
      in_flight: 0,
      total_requests: unasked + 1,
      total_tokens: tokens,
    });
  },
);

t.test(
  "a full disk is reported with what it costs; a damaged file is set aside, and what else is there delivered",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const { site, spool, left, sums } = await begin(t);
    const daemon = await site.startDaemon();
    const [full, other] = await Promise.all([site.startProxy(), site.startProxy()]);
    await daemon.kill("SIGKILL");
    for (const { ready } of [full, other, other])
      await (await chat(ready, { path: "/team" })).text();
    spawnSync("prlimit", ["--pid", String(full.child.pid), "--fsize=10:"]);
    await Promise.all([full.kill("SIGTERM"), other.kill("SIGTERM")]);
    t.equal(full.child.exitCode, 0);
    t.match(full.output(), /"settles":1,"reason":"EFBIG[^"]*","msg":".*they are lost"/);
    t.equal(left().length, 1, "nothing is left of the other");
    spawnSync("cp", [join(spool, left()[0]!), join(spool, "damaged.settles")]);
    spawnSync("truncate", ["-s", "-3", join(spool, "damaged.settles")]);
    await site.startDaemon();
    const next = await site.startProxy();
    await until(
      () => sums(next.ready),
      (now) => (now as { tokens_used: number }).tokens_used === 20,
    );
    await next.printed(/"settles":2,"msg":"delivered the settles that a stopped proxy had left"/);
    await next.printed(/"file":"damaged.settles","reason":"it is damaged","msg":".*set aside"/);
    t.same(left(), ["damaged.settles.refused"]);
  },
);
