/** Requests that wait for room on two hosts, whose counts the engine adds up. */
import t from "tap";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { leaseOf, pathRule, settleOf, target } from "../in-memory-daemon.js";
import { type Host, type Hosts, startHosts } from "./hosts.js";

const waiting = { maxMs: 600_000, defaultMs: 0, paths: [] };
const userPath = "/team";

/** The clients of one host, and what became of their requests. */
class Clients {
  readonly host: Host;
  readonly kinds = new Map<number, string>();
  /** Requests in the order of their admission. */
  readonly admitted: number[] = [];
  readonly #running = new Map<number, (seq: number) => Settle>();
  #read = 0;
  #lastId = 1;
  #seq = 0;

  constructor(host: Host) {
    this.host = host;
  }

  ask(askedMs: number, waitedMs = 0): number {
    const id = ++this.#lastId;
    this.host.proxy.send({
      ...{ kind: "admit", id, userPath, credential: "authenticated", read: 0 },
      ...{ targets: [target], submission: false },
      wait: { askedMs, timeoutMs: null, waitedMs },
    });
    return id;
  }

  leave(id: number): void {
    this.host.proxy.send({ kind: "cancel", id });
  }

  end(id: number): void {
    const settle = this.#running.get(id)!(++this.#seq);
    this.#running.delete(id);
    this.host.proxy.send(settle);
  }

  get running(): readonly number[] {
    return [...this.#running.keys()];
  }

  read(): void {
    const { received } = this.host.proxy;
    for (; this.#read < received.length; this.#read++) {
      const message = received[this.#read]!;
      if (!("id" in message) || message.kind === "welcome") continue;
      this.kinds.set(message.id, message.kind);
      if (message.kind !== "admitted") continue;
      this.admitted.push(message.id);
      const lease = leaseOf(message, userPath);
      this.#running.set(message.id, (seq) => settleOf(lease, seq, 1));
    }
  }
}

/** Lets time pass, with the daemons' own turns. */
async function pass(hosts: Hosts, all: readonly Clients[], ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    await hosts.pass(Math.min(50, left));
    for (const clients of all) {
      await clients.host.daemon.commit();
      clients.read();
    }
  }
}

t.test("a client that leaves while its host asks the engine stops nobody", async (t) => {
  const hosts = startHosts([pathRule(userPath, 0, { requests: 1 })], { waiting });
  const [here, there] = hosts.all.map((host) => new Clients(host)) as [Clients, Clients];
  const all = [here, there];
  const first = here.ask(60_000);
  await pass(hosts, all, 500);
  t.equal(here.kinds.get(first), "admitted");
  const [leaving, staying] = [there.ask(60_000), there.ask(60_000)];
  await pass(hosts, all, 500);
  t.same([there.kinds.get(leaving), there.kinds.get(staying)], ["queued", "queued"]);
  // From now on the engine's answers are late enough for the client to leave meanwhile.
  there.host.answerMs = 300;
  for (let at = 0; at < 20 && there.host.shares.counts.parked < 5; at++) await pass(hosts, all, 50);
  there.leave(leaving);
  there.host.answerMs = 0;
  here.end(first);
  await pass(hosts, all, 5000);
  t.equal(there.kinds.get(leaving), "cancelled");
  t.equal(there.kinds.get(staying), "admitted");
});

t.test(
  "requests wait until their deadline for an engine that their host can't reach",
  async (t) => {
    const hosts = startHosts([pathRule(userPath, 0, { requests: 1 })], { waiting });
    const [first, second] = hosts.all as [Host, Host];
    const there = new Clients(second);
    const running = there.ask(0);
    await pass(hosts, [there], 500);
    t.equal(there.kinds.get(running), "admitted");
    const before = new Clients(first);
    before.ask(60_000);
    await pass(hosts, [before, there], 500);
    t.same([...before.kinds.values()], ["queued"]);
    first.cutOff = true;
    first.restart();
    first.reconnect([]);
    const here = new Clients(first);
    const all = [here, there];
    const again = here.ask(60_000, 500);
    const [fresh, short, none] = [here.ask(60_000), here.ask(3000), here.ask(0)];
    await pass(hosts, all, 2000);
    t.same(
      [again, fresh, short, none].map((id) => here.kinds.get(id)),
      ["queued", "queued", "queued", "failed"],
      "also those that come meanwhile, if they may wait",
    );
    await pass(hosts, all, 2000);
    t.equal(here.kinds.get(short), "failed", "its wait is over");
    for (const message of first.proxy.received)
      if (message.kind === "failed") t.equal(message.failure.code, "cluster_unavailable");
    first.cutOff = false;
    await pass(hosts, all, 2000);
    t.equal(here.kinds.get(again), "queued", "the other host's request runs");
    there.end(running);
    await pass(hosts, all, 3000);
    t.equal(here.kinds.get(again), "admitted");
    t.equal(here.kinds.get(fresh), "queued", "in the order of their arrival");
  },
);
