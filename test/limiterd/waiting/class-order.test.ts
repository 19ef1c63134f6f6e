/** The order among waiting requests of children that share a rule's cap. */
import t from "tap";
import type { ChildShares } from "../../../shared/domain/child-shares.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import {
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const waiting = { maxMs: 600_000, defaultMs: 600_000, paths: [] };

/** Clients of several children that always have requests waiting. */
class Clients {
  readonly served = new Map<string, number>();
  readonly running: { readonly lease: Lease; readonly name: string }[] = [];
  readonly #daemon: TestDaemon;
  readonly #peer: TestPeer;
  readonly #names = new Map<number, string>();
  readonly #costs: Readonly<Record<string, number>>;
  #nextId = 2;
  #seq = 1;
  #read = 0;

  constructor(daemon: TestDaemon, costs: Readonly<Record<string, number>>) {
    this.#daemon = daemon;
    this.#peer = daemon.proxy("p");
    this.#costs = costs;
  }

  ask(name: string): void {
    const id = this.#nextId++;
    this.#names.set(id, name);
    this.#peer.send({
      kind: "admit",
      id,
      userPath: `/team/${name}`,
      credential: "authenticated",
      targets: [target],
      submission: false,
      read: 0,
      wait: { askedMs: null, timeoutMs: null, waitedMs: 0 },
    });
    this.read();
  }

  /** Notes what was admitted meanwhile. */
  read(): void {
    for (const message of this.#peer.received.slice(this.#read))
      if (message.kind === "admitted") {
        const name = this.#names.get(message.id)!;
        this.running.push({ lease: leaseOf(message, `/team/${name}`), name });
      }
    this.#read = this.#peer.received.length;
  }

  /** Ends a running request; its child asks again at once. */
  async end(index: number): Promise<void> {
    const [{ lease, name }] = this.running.splice(index, 1) as [{ lease: Lease; name: string }];
    const cost = this.#costs[name]!;
    this.served.set(name, (this.served.get(name) ?? 0) + cost);
    this.#peer.send(settleOf(lease, this.#seq++, cost));
    this.ask(name);
    this.#daemon.nowMs += 50;
    await this.#daemon.commit();
    this.read();
  }
}

function jain(values: readonly number[]): number {
  const sum = values.reduce((all, value) => all + value, 0);
  return sum ** 2 / (values.length * values.reduce((all, value) => all + value ** 2, 0));
}

const costs = { small: 1, middle: 10, large: 100 };

async function serve(childShares: ChildShares | undefined): Promise<Clients> {
  const rule = { ...pathRule("/team", 0, { requests: 4 }), childShares };
  const clients = new Clients(startDaemon([rule], { waiting }), costs);
  for (let i = 0; i < 10; i++) for (const name of Object.keys(costs)) clients.ask(name);
  for (let i = 0; i < 1200; i++) await clients.end(i % clients.running.length);
  return clients;
}

t.test("children with requests of 1:10:100 tokens get equal tokens", async (t) => {
  const { served, running } = await serve({});
  const index = jain([...served.values()]);
  t.ok(index >= 0.99, `${index} at ${[...served.values()]}`);
  t.equal(running.length, 4, "no slot is free while requests wait");
  const plain = jain([...(await serve(undefined)).served.values()]);
  t.ok(plain < 0.5, `without shares, by requests: ${plain}`);
});

t.test("tokens by weight", async (t) => {
  const { served } = await serve({ children: { small: { weight: 0.5 } } });
  const ratio = served.get("middle")! / served.get("small")!;
  t.ok(ratio > 1.9 && ratio < 2.1, `${ratio}`);
});

t.test("a class that a floor refuses doesn't stop the owner of the floor", async (t) => {
  const childShares = { children: { a: { floor: 0.5 } } };
  const rule = { ...pathRule("/team", 0, { requests: 2 }), childShares };
  const daemon = startDaemon([rule], { waiting });
  const clients = new Clients(daemon, { a: 1, b: 1 });
  for (const name of ["b", "b", "b", "b", "a", "a"]) clients.ask(name);
  t.same(
    clients.running.map(({ name }) => name),
    ["b", "b"],
    "lent",
  );
  await clients.end(0);
  t.same(clients.running.map(({ name }) => name).toSorted(), ["a", "b"]);
  await clients.end(clients.running.findIndex(({ name }) => name === "b"));
  t.same(clients.running.map(({ name }) => name).toSorted(), ["a", "b"], "the floor is a's");
});

t.test("shares may come while requests wait", async (t) => {
  const rule = pathRule("/team", 0, { requests: 1 });
  const daemon = startDaemon([rule], { waiting });
  const clients = new Clients(daemon, { low: 1, high: 1 });
  for (const name of ["low", "low", "low", "high", "high"]) clients.ask(name);
  const { book, writer } = daemon.state;
  book.put(
    { ...rule, childShares: { children: { high: { priority: 1 } } } },
    { source: "manual", nowMs: daemon.nowMs, lsn: writer.lsn },
  );
  for (let i = 0; i < 4; i++) {
    await clients.end(0);
    t.equal(clients.running[0]?.name, "high");
  }
});
