/**
 * Requests that wait while the daemon is killed: they keep their place, each is admitted once, and
 * none is refused. Those of a killed proxy give up their places.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";

const site = makeSite(
  t,
  `
waiting: { max_seconds: 120 }
limiter: { deadline_ms: 10000 }
providers:
  simulator: { type: simulator, models: [fast] }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: 4, max_requests: 4 }, { period_seconds: ${agesSeconds}, max_requests: 1000 }] }
    - { path: /left, limits: [{ period_seconds: 4, max_requests: 2 }, { period_seconds: ${agesSeconds}, max_requests: 1000 }] }
    - { path: /lost, limits: [{ period_seconds: 4, max_requests: 2 }, { period_seconds: ${agesSeconds}, max_requests: 1000 }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
let daemon = await site.startDaemon();
const { ready: url } = await site.startProxy();
const bearer = { authorization: `Bearer ${masterKey}` };

t.test("a killed daemon loses no place and admits nobody twice", async (t) => {
  const order: number[] = [];
  const ask = async (number: number): Promise<number> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        prefer: "wait=100",
        "x-sluice-user-path": "/team",
        ...bearer,
      },
      body: JSON.stringify({ model: "fast", messages: [{ role: "user", content: "Hi" }] }),
    });
    await response.text();
    order.push(number);
    return response.status;
  };
  const waiting = async (): Promise<number> =>
    ((await admin(url, "GET /queues", undefined, bearer)).body as unknown as { waiting: number })
      .waiting;
  const asked: Promise<number>[] = [];
  for (let number = 0; number < 4; number++) asked.push(ask(number));
  await Promise.all(asked);
  for (let number = 4; number < 9; number++) {
    const before = await waiting();
    asked.push(ask(number));
    if (number < 8)
      await until(
        async () => [await waiting(), order.length],
        ([now, ended]) => now! > before || ended! > 4,
      );
  }
  await daemon.kill("SIGKILL");
  daemon = await site.startDaemon();
  t.same(new Set(await Promise.all(asked)), new Set([200]));
  const ofDay = await until(
    async () =>
      (await admin(url, "GET /rate-limits", undefined, bearer)).body.rate_limits.find(
        ({ subject, period_seconds: seconds }) => subject === "/team" && seconds === agesSeconds,
      )!,
    ({ in_flight: inFlight }) => inFlight === 0,
  );
  t.equal(ofDay.requests_used, 9);
  t.equal(await waiting(), 0);
});

/** The status of an answer; 0 if there is none. */
async function askAt(at: string, path: string): Promise<number> {
  try {
    const response = await fetch(`${at}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        prefer: "wait=100",
        "x-sluice-user-path": path,
        ...bearer,
      },
      body: JSON.stringify({ model: "fast", messages: [{ role: "user", content: "Hi" }] }),
    });
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

async function waitingNow(): Promise<number> {
  const { body } = await admin(url, "GET /queues", undefined, bearer);
  return (body as unknown as { waiting: number }).waiting;
}

for (const [path, killsDaemon] of [
  ["/left", false],
  ["/lost", true],
] as const)
  t.test(
    `the callers of a killed proxy give up their places${killsDaemon ? ", also if the daemon is killed with it" : ""}`,
    async (t) => {
      const other = await site.startProxy();
      const first = await Promise.all([askAt(url, path), askAt(url, path)]);
      t.same(first, [200, 200]);
      const left = Array.from({ length: 20 }, () => askAt(other.ready, path));
      await until(waitingNow, (now) => now >= 15);
      const stay = Array.from({ length: 2 }, () => askAt(url, path));
      await until(waitingNow, (now) => now >= 17);
      const killed = [other.kill("SIGKILL"), ...(killsDaemon ? [daemon.kill("SIGKILL")] : [])];
      await Promise.all(killed);
      if (killsDaemon) daemon = await site.startDaemon();
      const begunMs = performance.now();
      t.same(await Promise.all(stay), [200, 200], "those of the other proxy are served");
      const tookMs = performance.now() - begunMs;
      t.ok(tookMs < 20_000, `behind nobody: ${tookMs} ms, not the 40 s of all`);
      const answered = (await Promise.all(left)).filter((status) => status !== 0).length;
      const ofDay = await until(
        async () =>
          (await admin(url, "GET /rate-limits", undefined, bearer)).body.rate_limits.find(
            ({ subject, period_seconds: seconds }) => subject === path && seconds === agesSeconds,
          )!,
        ({ in_flight: inFlight }) => inFlight === 0,
      );
      // Those that the proxy had sent when it was killed count, although nobody got their answers.
      const used = ofDay.requests_used;
      t.ok(used >= 4 + answered && used <= 8 + answered, `${used} are counted`);
      t.equal(await waitingNow(), 0);
    },
  );
