/**
 * Lists and sums that a proxy asks for by the hundred, on real processes: it keeps its daemon, its
 * requests keep their leases, and admissions are answered meanwhile.
 */
import t from "tap";
import type { Admission } from "../../../proxy/limiter/admission.js";
import { connectLimiter } from "../../../proxy/limiter/client/connect-limiter.js";
import { createLog } from "../../../shared/log.js";
import { adminSocketBeside } from "../../../shared/socket/socket-place.js";
import { makeSite } from "../../support/processes/processes.js";

t.setTimeout(120_000);
const rules = 600;
const subject = (i: number): string => `/team/${"long-name-".repeat(6)}${i}`;
const site = makeSite(
  t,
  `
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period: concurrent, max_requests: 50 }] }
${Array.from({ length: rules }, (_, i) => `    - { path: ${subject(i)}, limits: [{ period: day, max_requests: 1000000 }] }`).join("\n")}
`,
);
const target = { provider: "openai", model: "gpt-4o" };
const days = { start_date: "2026-01-01", end_date: "2026-01-30" };
const links: boolean[] = [];
await site.startDaemon();
let linked = (): void => {};
const welcomed = new Promise<void>((resolve) => {
  linked = resolve;
});
const limiter = connectLimiter(
  {
    socket: site.socket,
    adminSocket: adminSocketBeside(site.socket),
    socketGroupAccess: false,
    dataDir: "",
    spoolDir: "",
    deadlineMs: 10_000,
    failureMode: "closed",
  },
  createLog("proxy", "silent"),
  (isLinked) => {
    links.push(isLinked);
    linked();
  },
);
t.teardown(() => limiter.close());
limiter.dial();
await welcomed;
const { client } = limiter;

async function admitted(): Promise<Admission> {
  const caller = { userPath: `/team/app`, credential: "authenticated" };
  const outcome = await client.admit(caller, [target]);
  if (outcome.kind !== "admitted") throw new Error(`an admission is ${outcome.kind}`);
  return outcome.admission;
}

/** Of the gauge: how many requests the daemon knows to be in flight. */
async function inFlight(): Promise<unknown> {
  const status = await client.call("usage.status", { user_path: "/team/app", ...days });
  if (!status.ok) throw new Error(status.failure.message);
  const { rate_limits: limits } = status.body as { rate_limits: { in_flight: number }[] };
  return limits[0]!.in_flight;
}

for (const { what, calls, op, body } of [
  { what: "100 lists of 600 rules", calls: 100, op: "rate-limits.list", body: null },
  {
    what: "2,000 reports of one path",
    calls: 2000,
    op: "usage.status",
    body: { user_path: `${subject(1)}/a`, ...days },
  },
] as const)
  t.test(
    `${what} at once leave the connection, its leases and admissions as they are`,
    async (t) => {
      const running = await admitted();
      const answers = Promise.all(Array.from({ length: calls }, () => client.call(op, body)));
      const waitsMs: number[] = [];
      let answered = false;
      void answers.then(() => {
        answered = true;
      });
      while (!answered) {
        const askedMs = performance.now();
        const admission = await admitted();
        waitsMs.push(performance.now() - askedMs);
        client.settle(admission, { tokens: 1, estimated: false, record: null }, () => {});
      }
      const outcomes = await answers;
      const good = outcomes.filter(({ ok }) => ok).length;
      t.ok(good >= Math.min(calls, 1000), `${good} of ${calls} are answered`);
      t.same(
        outcomes.filter((outcome) => !outcome.ok && outcome.failure.status !== 503),
        [],
        "the others are told to come again",
      );
      t.same(links, [true], "on one connection");
      t.equal(await inFlight(), 1, "the request that runs still holds its slot, and no other");
      client.settle(running, { tokens: 1, estimated: false, record: null }, () => {});
      waitsMs.sort((a, b) => a - b);
      t.comment(
        `${good} answers; ${waitsMs.length} admissions meanwhile: median ${waitsMs[waitsMs.length >> 1]!.toFixed(1)} ms, longest ${waitsMs.at(-1)!.toFixed(1)} ms`,
      );
    },
  );
