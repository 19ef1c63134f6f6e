/**
 * Requests that wait while the daemon is killed: they keep their place, each is admitted once, and
 * none is refused.
 */
import t from "tap";
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
    - { path: /team, limits: [{ period_seconds: 4, max_requests: 4 }, { period: day, max_requests: 1000 }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
const daemon = await site.startDaemon();
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
  await site.startDaemon();
  t.same(new Set(await Promise.all(asked)), new Set([200]));
  const ofDay = await until(
    async () =>
      (await admin(url, "GET /rate-limits", undefined, bearer)).body.rate_limits.find(
        ({ period_seconds: seconds }) => seconds === 86_400,
      )!,
    ({ in_flight: inFlight }) => inFlight === 0,
  );
  t.equal(ofDay.requests_used, 9);
  t.equal(await waiting(), 0);
});
