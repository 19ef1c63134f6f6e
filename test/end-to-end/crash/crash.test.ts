/**
 * Crashes with real processes (docs/contributing/testing.md): whichever dies, nothing is leaked,
 * lost or counted twice.
 */
import { spawnSync } from "node:child_process";
import t, { type Test } from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const rules = `
rate_limits:
  user_paths:
    - path: /team
      limits:
        - { period_seconds: ${agesSeconds}, max_requests: 1000000, max_tokens: 1000000000 }
        - { period: concurrent, max_requests: 2 }
    - path: /load
      limits:
        - { period_seconds: ${agesSeconds}, max_requests: 1000000, max_tokens: 1000000000 }
        - { period: concurrent, max_requests: 1000 }
`;

/** Longer than any start of a daemon on a busy machine: requests meanwhile wait for it. */
const patient = "limiter: { deadline_ms: 30000 }\n";

async function begin(t: Test, extra = patient, env: Record<string, string> = {}) {
  const upstream = await startScriptedUpstream();
  const site = makeSite(
    t,
    `providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }\n${rules}${extra}`,
    env,
  );
  t.teardown(() => upstream.close());
  return { upstream, site };
}

t.test("kill −9 of a proxy in mid-stream frees its slot immediately", async (t) => {
  const { upstream, site } = await begin(t);
  await site.startDaemon();
  const dying = await site.startProxy();
  const living = await site.startProxy();
  upstream.answer = (call) => void beginStream(call).write(chunk("one"));
  const held = [
    await chat(dying.ready, { path: "/team", stream: true }),
    await chat(dying.ready, { path: "/team", stream: true }),
  ];
  t.same(
    held.map((response) => response.status),
    [200, 200],
  );
  t.equal((await chat(living.ready, { path: "/team" })).status, 429, "both slots are taken");
  await dying.kill("SIGKILL");
  await until(
    () => ruleNow(living.ready, "/team", 0),
    (rule) => rule.in_flight === 0,
  );
  upstream.answer = (call) => replyCompletion(call, 1);
  t.equal((await chat(living.ready, { path: "/team" })).status, 200);
});

t.test(
  "kill −9 of the daemon: held slots are held again before anything new is admitted, and the stream goes on",
  async (t) => {
    const { upstream, site } = await begin(t);
    const first = await site.startDaemon();
    const proxy = await site.startProxy();
    upstream.answer = (call) => void beginStream(call).write(chunk("one"));
    const called = upstream.nextCall();
    const stream = await chat(proxy.ready, { path: "/team", stream: true });
    const call = await called;
    const second = await chat(proxy.ready, { path: "/team", stream: true });
    await first.kill("SIGKILL");
    const waiting = chat(proxy.ready, { path: "/team" });
    await site.startDaemon();
    t.equal(
      (await waiting).status,
      429,
      "asked while the daemon was away, answered by the new one, which knows of both",
    );
    t.match(await ruleNow(proxy.ready, "/team", 0), { in_flight: 2 });
    t.match(await ruleNow(proxy.ready, "/team", agesSeconds), { requests_used: 2 });
    call.response.end(`${chunk("", "stop")}${usageChunk(30)}data: [DONE]\n\n`);
    t.match(await stream.text(), /\[DONE\]/, "a stream doesn't notice");
    t.match(
      await until(
        () => ruleNow(proxy.ready, "/team", agesSeconds),
        (rule) => rule.tokens_used === 30,
      ),
      { requests_used: 2, in_flight: 1 },
    );
    await second.body?.cancel();
  },
);

t.test(
  "kill −9 of the daemon under load, again and again: no settle is lost, none is counted twice",
  async (t) => {
    const { upstream, site } = await begin(t);
    let daemon = await site.startDaemon();
    const proxies = [await site.startProxy(), await site.startProxy()];
    upstream.answer = (call) => replyCompletion(call, 7);
    let served = 0;
    let stop = false;
    const clients = Array.from({ length: 16 }, async (_, i) => {
      while (!stop) {
        const response = await chat(proxies[i % 2]!.ready, { path: `/load/${i}` });
        await response.arrayBuffer();
        if (response.status === 200) served++;
        else if (response.status !== 503) throw new Error(`unexpected status ${response.status}`);
      }
    });
    for (let round = 0; round < 3; round++) {
      const goal = served + 100;
      await until(
        async () => served,
        (now) => now >= goal,
      );
      await daemon.kill("SIGKILL");
      daemon = await site.startDaemon();
    }
    const goal = served + 50;
    await until(
      async () => served,
      (now) => now >= goal,
    );
    stop = true;
    await Promise.all(clients);
    const rule = await until(
      () => ruleNow(proxies[0]!.ready, "/load", agesSeconds),
      (now) => now.in_flight === 0,
    );
    t.equal(
      rule.tokens_used,
      upstream.calls.length * 7,
      "every token that the provider counted, once",
    );
    t.equal(rule.requests_used, upstream.calls.length, "and every request");
    t.equal(served, upstream.calls.length, "and every answer reached its client");
  },
);

t.test("SIGTERM of the daemon writes everything, and the next one knows it", async (t) => {
  const { site } = await begin(t);
  const daemon = await site.startDaemon();
  const proxy = await site.startProxy();
  for (let i = 0; i < 5; i++) await (await chat(proxy.ready, { path: "/team" })).arrayBuffer();
  await daemon.kill("SIGTERM");
  t.equal(daemon.child.exitCode, 0);
  await site.startDaemon();
  t.match(
    await until(
      () => ruleNow(proxy.ready, "/team", agesSeconds).catch(() => null),
      (rule) => rule !== null,
    ),
    { requests_used: 5, tokens_used: 50, in_flight: 0 },
  );
});

t.test("without the daemon, closed: 503 past the deadline, and /health says so", async (t) => {
  const { upstream, site } = await begin(t, "limiter: { deadline_ms: 100 }\n");
  const daemon = await site.startDaemon();
  const proxy = await site.startProxy();
  await daemon.kill("SIGKILL");
  const refused = await until(
    () => chat(proxy.ready, { path: "/team" }),
    () => true,
  );
  t.equal(refused.status, 503);
  t.equal(refused.headers.get("retry-after"), "1");
  t.match(await refused.json(), {
    error: { type: "internal_error", code: "limiter_unavailable", param: null },
  });
  t.equal(upstream.calls.length, 0);
  t.match(await (await fetch(`${proxy.ready}/health`)).json(), {
    status: "degraded",
    limiter: { reachable: false, failure_mode: "closed" },
  });
  t.equal((await fetch(`${proxy.ready}/ready`)).status, 503);
  await site.startDaemon();
  await until(
    () => chat(proxy.ready, { path: "/team" }),
    (response) => response.status === 200,
  );
  t.match(await (await fetch(`${proxy.ready}/health`)).json(), {
    status: "ok",
    limiter: { reachable: true },
  });
});

t.test(
  "a store that can't be written: served all the same, /health is degraded with the reason until it can, and the log says it once",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const bound = ({ child }: Part, bytes: string): void =>
      void t.equal(
        spawnSync("prlimit", ["--pid", String(child.pid), `--fsize=${bytes}:`]).status,
        0,
      );
    const begun = async () => {
      const { site } = await begin(t);
      const daemon = await site.startDaemon();
      const proxy = await site.startProxy();
      const health = async () =>
        (await (await fetch(`${proxy.ready}/health`)).json()) as {
          readonly status: string;
          readonly limiter: { readonly reachable: boolean };
        };
      bound(daemon, "1");
      const { status } = await chat(proxy.ready, { path: "/team" });
      const degraded = await until(health, (now) => now.status === "degraded");
      return { daemon, proxy, health, status, degraded };
    };
    // A commit that was being written when the bound came leaves a head that can't be trusted:
    // that daemon ends.
    let tried = await begun();
    for (let again = 0; again < 3 && !tried.degraded.limiter.reachable; again++)
      tried = await begun();
    const { daemon, proxy, health, status, degraded } = tried;
    t.equal(status, 200);
    t.match(degraded, {
      limiter: { reachable: true, unsettled: 1, store_failing: "file too large" },
    });
    t.equal((await fetch(`${proxy.ready}/ready`)).status, 200);
    t.equal((await chat(proxy.ready, { path: "/team" })).status, 200);
    bound(daemon, "unlimited");
    t.match(await until(health, ({ status }) => status === "ok"), {
      limiter: { store_failing: null },
    });
    const timesLogged = (text: string): number => daemon.output().split(text).length - 1;
    await until(
      async () => timesLogged("the store can be written again"),
      (times) => times === 1,
    );
    t.equal(timesLogged("the store can't be written"), 1);
    t.match(
      daemon.output(),
      /"level":"warn".*"seconds":\d+,"msg":"the store can be written again"/,
    );
  },
);

t.test(
  "only one request asks a stopped daemon, not those after it; /health and the log report it, once each",
  async (t) => {
    const { site } = await begin(t, "limiter: { deadline_ms: 100 }\n");
    const daemon = await site.startDaemon();
    const proxy = await site.startProxy();
    const logged = (text: string): number => proxy.output().split(text).length - 1;
    daemon.child.kill("SIGSTOP");
    for (let i = 0; i < 10; i++) t.equal((await chat(proxy.ready, { path: "/team" })).status, 503);
    t.match(await (await fetch(`${proxy.ready}/health`)).json(), {
      status: "degraded",
      limiter: { reachable: false, state: "silent" },
    });
    t.equal((await fetch(`${proxy.ready}/ready`)).status, 503);
    daemon.child.kill("SIGCONT");
    await until(
      () => chat(proxy.ready, { path: "/team" }),
      (response) => response.status === 200,
    );
    t.match(await (await fetch(`${proxy.ready}/health`)).json(), {
      status: "ok",
      limiter: { state: "connected" },
    });
    t.match(
      await until(
        () => ruleNow(proxy.ready, "/team", 0),
        (rule) => rule.in_flight === 0,
      ),
      { in_flight: 0 },
      "what it admitted too late was given back",
    );
    await proxy.printed(/the limiter daemon answers again/);
    t.same(
      [logged("the limiter daemon is silent"), logged("the limiter daemon answers again")],
      [1, 1],
    );
    const client = await connectDaemon({ socketPath: site.socket });
    t.match(
      await client.call("status", null),
      { body: { admitted: 2 } },
      "the first request, too late, and the one that was served",
    );
    client.close();
  },
);

t.test("without rules a request doesn't wait for a stopped daemon", async (t) => {
  const upstream = await startScriptedUpstream();
  t.teardown(() => upstream.close());
  const site = makeSite(
    t,
    `limiter: { deadline_ms: 60000 }\nproviders: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }\n`,
  );
  const daemon = await site.startDaemon();
  const proxy = await site.startProxy();
  daemon.child.kill("SIGSTOP");
  for (let i = 0; i < 3; i++)
    t.equal(
      ((await (await chat(proxy.ready, { path: "/team" })).json()) as { object: string }).object,
      "chat.completion",
    );
  daemon.child.kill("SIGCONT");
});

t.test("without the daemon, open: callers pass, and are counted when it is back", async (t) => {
  const { upstream, site } = await begin(t, "limiter: { deadline_ms: 100 }\n", {
    LIMITER_FAILURE_MODE: "open",
  });
  const daemon = await site.startDaemon();
  const proxy = await site.startProxy();
  await daemon.kill("SIGKILL");
  for (let i = 0; i < 3; i++) {
    const response = await chat(proxy.ready, { path: "/team" });
    t.equal(response.status, 200);
    await response.arrayBuffer();
  }
  t.equal(upstream.calls.length, 3);
  t.match(await (await fetch(`${proxy.ready}/health`)).json(), {
    limiter: { reachable: false, failure_mode: "open", unsettled: 3 },
  });
  t.equal((await fetch(`${proxy.ready}/ready`)).status, 200);
  await site.startDaemon();
  const rule = await until(
    () => ruleNow(proxy.ready, "/team", agesSeconds).catch(() => null),
    (now) => now?.tokens_used === 30,
  );
  t.match(rule, { requests_used: 3, in_flight: 0 });
});

t.test(
  "a second daemon leaves a living one's socket and store alone; a stale socket is taken over",
  async (t) => {
    const { site } = await begin(t);
    const daemon = await site.startDaemon();
    await t.rejects(site.startDaemon(), /in use by the process|another daemon listens/);
    const proxy = await site.startProxy();
    t.equal((await chat(proxy.ready, { path: "/team" })).status, 200);
    await daemon.kill("SIGKILL");
    await site.startDaemon();
    await until(
      () => chat(proxy.ready, { path: "/team" }),
      (response) => response.status === 200,
    );
  },
);
