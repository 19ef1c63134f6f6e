/** Requests that wait for the engine: what may happen to them meanwhile. */
import t from "tap";
import { parkedMax, parkedMs } from "../../../limiterd/bounds.js";
import type { Share } from "../../../limiterd/shares/share.js";
import { ParkedRequests } from "../../../limiterd/shares/sync/parked-requests.js";
import type { Admit } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ruleWith } from "../book-of.js";
import { pathRule, settleOf, type TestPeer, target } from "../in-memory-daemon.js";
import { type Host, type Hosts, startHosts } from "./hosts.js";

const oneHost = (...caps: Parameters<typeof startHosts>[0]): { hosts: Hosts; host: Host } => {
  const hosts = startHosts(caps, { count: 1 });
  return { hosts, host: hosts.all[0]! };
};

const other = { provider: "groq", model: "llama" };

const question = (id: number, targets = [target]): Admit => ({
  read: 0,
  kind: "admit",
  id,
  userPath: "/a",
  credential: "authenticated",
  targets,
  submission: false,
});

const kinds = ({ received }: TestPeer): string[] =>
  received.filter(({ kind }) => kind !== "welcome" && kind !== "event").map(({ kind }) => kind);

t.test("nothing is held for a request that waits, and its id is taken", async (t) => {
  const { hosts, host } = oneHost(
    pathRule("/a", 60, { requests: 5 }),
    pathRule("/", 0, { requests: 2 }),
  );
  t.ok(host.proxy.send(question(1)));
  t.same(kinds(host.proxy), []);
  t.equal(host.proxy.state.leases.size, 0);
  const gauge = host.daemon.state.book.sorted().find(({ periodMs }) => periodMs === 0)!;
  t.equal(gauge.own!.inFlight, 0);
  t.notOk(host.proxy.send(question(1)), "a proxy never asks twice under one id");
  await hosts.pass(5);
  t.same(kinds(host.proxy), ["admitted"]);
  t.equal(host.proxy.state.parked.size, 0);
});

t.test("a peer that left, or a daemon that stops, is answered nothing", async (t) => {
  const { hosts, host } = oneHost(pathRule("/a", 60, { requests: 5 }));
  host.proxy.send(question(1));
  host.proxy.close();
  const staying = host.daemon.proxy("another");
  staying.send(question(1));
  await hosts.pass(5);
  t.same([kinds(host.proxy), kinds(staying)], [[], ["admitted"]]);
  staying.send({ ...question(2), userPath: "/a/b" });
  await hosts.pass(300);
  staying.send(question(3));
  host.daemon.state.isStopping = true;
  const answered = staying.received.length;
  await hosts.pass(100);
  t.equal(staying.received.length, answered);
});

t.test(
  "an answer that has arrived is read before those who waited for it are given up",
  async (t) => {
    const { hosts, host } = oneHost(pathRule("/a", 60, { requests: 5 }));
    host.answerMs = parkedMs;
    host.proxy.send(question(1));
    await hosts.pass(parkedMs);
    t.same(kinds(host.proxy), ["admitted"]);
    host.isSlow = true;
    host.proxy.send({ ...question(2), userPath: "/a/b" });
    await hosts.pass(300);
    host.proxy.send(question(3));
    await hosts.pass(2 * parkedMs);
    t.equal(host.proxy.state.parked.size, 0, "and nobody waits much longer");
  },
);

t.test("requests that wait for the last unit get it in their order", async (t) => {
  const { hosts, host } = oneHost(pathRule("/a", 60, { requests: 3 }));
  for (let id = 1; id <= 5; id++) host.proxy.send(question(id));
  await hosts.pass(5);
  t.same(
    host.proxy.received
      .filter(({ kind }) => kind === "admitted")
      .map((each) => "id" in each && each.id),
    [1, 2, 3],
  );
  t.equal(kinds(host.proxy).filter((kind) => kind === "refused").length, 2);
  t.equal(hosts.asked, 1, "all that one turn lacks is one question");
});

t.test("a target without a unit is asked for before the next one is taken", async (t) => {
  const { hosts, host } = oneHost(
    ruleWith("model", target.model, 60, { requests: 1 }),
    ruleWith("model", other.model, 60, { requests: 1 }),
  );
  for (const id of [1, 2, 3]) {
    host.proxy.send(question(id, [target, other]));
    await hosts.pass(300);
  }
  t.match(
    host.proxy.received.slice(1),
    exactly([
      { kind: "admitted", target: 0 },
      { kind: "admitted", target: 1 },
      { kind: "refused" },
    ]),
  );
});

t.test("a reroute waits too, and not for a request that has ended", async (t) => {
  const { hosts, host } = oneHost(
    ruleWith("model", target.model, 60, { requests: 5 }),
    ruleWith("model", other.model, 60, { requests: 5 }),
  );
  for (const id of [1, 2]) host.proxy.send(question(id));
  await hosts.pass(5);
  host.proxy.send({ read: 0, kind: "reroute", id: 11, lease: 1, targets: [other] });
  host.proxy.send({ read: 0, kind: "reroute", id: 12, lease: 2, targets: [other] });
  const admitted = host.proxy.received.find((each) => each.kind === "admitted" && each.id === 2);
  if (admitted?.kind !== "admitted") throw new Error("it isn't admitted");
  const lease = {
    lease: 2,
    userPath: "/a",
    admittedAtMs: admitted.admittedAtMs,
    lsn: admitted.lsn,
    target: null,
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  host.proxy.send(settleOf(lease, 1, 0));
  await hosts.pass(5);
  t.match(host.proxy.state.leases.get(1), { target: other });
  const answers = host.proxy.received.filter((each) => "id" in each && each.id > 10);
  t.match(answers, exactly([{ kind: "admitted", id: 11 }]));
});

t.test("beyond the bound nothing waits", async (t) => {
  const parked = new ParkedRequests();
  const share = { waiting: 0 } as Share;
  for (let i = 0; i < parkedMax; i++) parked.park([share], 0, () => {});
  t.ok(parked.isFull);
  t.equal(share.waiting, parkedMax);
  const finals: boolean[] = [];
  parked.expire(500);
  t.equal(parked.size, 0);
  parked.park([share], 500, (final) => void finals.push(final));
  parked.sent(share);
  parked.ended([share], 510);
  t.same(finals, [false]);
  t.equal(share.waiting, 0);
});

t.test(
  "a counter that is slow to be answered is decided without it, after half a second",
  async (t) => {
    const { hosts, host } = oneHost(pathRule("/a", 60, { requests: 5 }));
    host.isSlow = true;
    host.proxy.send(question(1));
    await hosts.pass(499);
    t.same(kinds(host.proxy), []);
    await hosts.pass(2);
    t.match(host.proxy.received.at(-1), { failure: { code: "cluster_unavailable" } });
  },
);

t.test("a unit that came too late for its window isn't in the way of the next one's", async (t) => {
  const { hosts, host } = oneHost(pathRule("/a", 1, { requests: 1 }));
  await hosts.pass(995);
  host.answerMs = 5;
  host.proxy.send(question(1));
  await hosts.pass(4);
  t.equal(hosts.asked, 1, "it is granted, and the answer comes as the window ends");
  await hosts.pass(20);
  t.same([kinds(host.proxy), hosts.asked], [["admitted"], 2]);
});
