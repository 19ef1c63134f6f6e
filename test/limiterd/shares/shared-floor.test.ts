/** Streams on two hosts under one hard cap, of which a child has a floor. */
import t from "tap";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Admitted, Drawn } from "../../../shared/wire/message-from-daemon.js";
import { settleOf, target } from "../in-memory-daemon.js";
import { beginMs, type Host, startHosts } from "./hosts.js";

const cap = 40_000;
const rule: RuleDefinition = {
  ...({ scope: "user_path", subject: "/team", periodSeconds: 86_400, perChild: false } as const),
  ...{ maxRequests: null, maxTokens: cap, hold: "hard" },
  childShares: { children: { a: { floor: 0.4 } } },
};

t.test("what streams hold on all hosts leaves the floor to its owner", async (t) => {
  const hosts = startHosts([rule], { startMs: beginMs });
  let lastId = 1;
  const begin = (host: Host, child: string): number => {
    const metered = { promptTokens: 60, outputMax: null, isStreamed: true, rates: [null] };
    const id = ++lastId;
    host.proxy.send({
      ...{ read: 0, kind: "admit", id, userPath: `/team/${child}`, credential: "authenticated" },
      ...{ targets: [target], submission: false, metered },
    } as never);
    return id;
  };
  const answerTo = (host: Host, id: number) =>
    host.proxy.received.findLast((each) => "id" in each && each.id === id);
  await hosts.pass(1000);
  for (const host of hosts.all) {
    const lease = begin(host, "a");
    await hosts.pass(200);
    const { admittedAtMs, lsn } = answerTo(host, lease) as Admitted;
    const times = { admittedAtMs, lsn, target, targetAtMs: admittedAtMs, targetLsn: lsn };
    host.proxy.send(settleOf({ lease, userPath: "/team/a", ...times, submission: false }, 1, 10));
  }
  const streams = hosts.all.flatMap((host) =>
    Array.from({ length: 5 }, () => ({ host, id: begin(host, "b"), total: 0, isCut: false })),
  );
  await hosts.pass(1000);
  for (const stream of streams)
    stream.total = (answerTo(stream.host, stream.id) as Admitted).allowance!;
  for (let turn = 0; turn < 1000 && streams.some(({ isCut }) => !isCut); turn++) {
    for (const { host, id, total, isCut } of streams)
      if (!isCut) host.proxy.send({ kind: "draw", id, total: total + 512 });
    await hosts.pass(100);
    for (const stream of streams) {
      const { total, cap: words } = answerTo(stream.host, stream.id) as Drawn;
      Object.assign(stream, { total, isCut: words !== undefined });
    }
  }
  const used = streams.reduce((sum, { total }) => sum + total + 60, 0);
  t.ok(used <= 0.6 * cap, `${used} of ${cap}`);
  t.ok(used >= 0.45 * cap, `${used} of ${cap}`);
});
