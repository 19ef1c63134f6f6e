/**
 * A proxy comes back to a real daemon with as many settles as it keeps: all are counted, on one
 * connection, and admissions are answered all the while.
 */
import t from "tap";
import type { Admission } from "../../../proxy/limiter/admission.js";
import { connectLimiter } from "../../../proxy/limiter/client/connect-limiter.js";
import { peerBacklogBytesMax, settleOutboxMax } from "../../../shared/bounds.js";
import { createLog } from "../../../shared/log.js";
import { adminSocketBeside } from "../../../shared/socket/socket-place.js";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { executed } from "../../limiterd/in-memory-daemon.js";
import { agesSeconds } from "../../support/ages.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

t.setTimeout(180_000);
/** Generous, for a machine that does more than this test. */
const deadlineMs = 10_000;
/** How many requests come while the backlog is sent. */
const admissions = 50;
/** As many as a proxy keeps, and none is dropped. */
const waiting = settleOutboxMax - admissions;
const target = { provider: "openai", model: "gpt-4o" };

t.test(
  "200,000 settles that waited for the daemon are sent without losing the connection, and admissions don't wait behind them",
  async (t) => {
    const site = makeSite(
      t,
      `
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000000, max_tokens: 1000000000 }] }
`,
    );
    const links: boolean[] = [];
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
        deadlineMs,
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
    const { client } = limiter;
    const userPath = `/${"team".repeat(50)}`;
    for (let i = 0; i < waiting; i++)
      client.settle(
        unasked(userPath),
        { tokens: 1, estimated: false, record: executed() },
        () => {},
      );
    t.equal(client.unsettled, waiting);
    t.ok(
      settleOutboxMax * userPath.length > 4 * peerBacklogBytesMax,
      "more than is held for a peer",
    );
    await site.startDaemon();
    await welcomed;
    const startedMs = performance.now();
    const waitsMs: number[] = [];
    for (let i = 0; i < admissions && client.unsettled > 0; i++) {
      const askedMs = performance.now();
      const outcome = await client.admit({ userPath, credential: "authenticated" }, [target]);
      waitsMs.push(performance.now() - askedMs);
      if (outcome.kind !== "admitted") throw new Error(`an admission is ${outcome.kind}`);
      client.settle(outcome.admission, { tokens: 1, estimated: false, record: null }, () => {});
    }
    t.ok(client.unsettled > waiting / 2, "most of the backlog waits behind them");
    await client.untilDrained(120_000);
    t.equal(client.unsettled, 0);
    t.same(links, [true], "on one connection");
    waitsMs.sort((a, b) => a - b);
    const figures = [waitsMs[waitsMs.length >> 1]!, waitsMs.at(-1)!].map((ms) => ms.toFixed(1));
    t.comment(
      `${Math.round(performance.now() - startedMs)} ms; ${waitsMs.length} admissions meanwhile: median ${figures[0]} ms, longest ${figures[1]} ms`,
    );
    const daemon = await connectDaemon({ socketPath: site.socket });
    const rules = await daemon.call("rate-limits.list", null);
    daemon.close();
    const requests = waiting + waitsMs.length;
    t.match(
      rules,
      exactly({
        ok: true,
        body: { rate_limits: [{ requests_used: requests, tokens_used: requests }] },
      }),
    );
  },
);

/** A request that went to its target while the daemon was away. */
function unasked(userPath: string): Admission {
  return {
    lease: 0,
    admittedAtMs: 0,
    lsn: 0,
    userPath,
    keyId: "",
    target,
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
    startedMonoMs: performance.now(),
    isSettled: false,
  };
}
