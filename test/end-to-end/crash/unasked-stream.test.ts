/** Requests that failure mode `open` lets through while the daemon is away, with real processes. */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

t.test(
  "a stream that mode open let through holds a slot and counts as soon as a daemon is back",
  async (t) => {
    const upstream = await startScriptedUpstream();
    t.teardown(() => upstream.close());
    const site = makeSite(
      t,
      `
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
limiter: { failure_mode: open, deadline_ms: 50 }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000, max_tokens: 1000000 }, { period: concurrent, max_requests: 2 }] }
`,
    );
    const daemon = await site.startDaemon();
    const proxy = await site.startProxy();
    await daemon.kill("SIGKILL");
    const called = upstream.nextCall();
    upstream.answer = (call) => void beginStream(call).write(chunk("one"));
    const stream = await until(
      () => chat(proxy.ready, { path: "/team", stream: true }),
      ({ status }) => status === 200,
    );
    const rule = (periodSeconds: number) =>
      ruleNow(proxy.ready, "/team", periodSeconds).catch(() => null);
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      const next = await site.startDaemon();
      await until(
        () => rule(0),
        (now) => now?.in_flight === 1,
      );
      await until(
        () => rule(agesSeconds),
        (now) => now?.requests_used === 1,
      );
      await next.kill(signal);
    }
    await site.startDaemon();
    (await called).response.end(`${usageChunk(7)}data: [DONE]\n\n`);
    await stream.text();
    await until(
      () => rule(0),
      (now) => now?.in_flight === 0,
    );
    t.match(
      await until(
        () => rule(agesSeconds),
        (now) => now?.tokens_used === 7,
      ),
      { requests_used: 1 },
    );
  },
);
