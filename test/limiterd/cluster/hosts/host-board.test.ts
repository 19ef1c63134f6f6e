import t from "tap";
import { HostBoard } from "../../../../limiterd/cluster/hosts/host-board.js";
import {
  freshIdentity,
  type HostIdentity,
  identityChange,
  nextIdentity,
} from "../../../../limiterd/cluster/hosts/host-identity.js";
import { createFakeEngine, type FakeEngine } from "../../../support/cluster/fake-engine.js";
import { addHostTwin } from "../../../support/cluster/host-twin.js";
import { createMemoryStore } from "../../../support/memory-store.js";

function newEngine(): FakeEngine {
  const engine = createFakeEngine();
  addHostTwin(engine);
  return engine;
}

function board(engine: FakeEngine, identity: HostIdentity, mark: string, name = "web"): HostBoard {
  const facts = {
    name,
    version: "1.0.0",
    configuration: "a b",
    startedAtMs: 5,
    failureMode: "closed",
  };
  const connection = engine.connect();
  return new HostBoard({
    engine: connection,
    clusterName: "test",
    identity,
    facts,
    mark,
    monoMs: () => engine.nowMs,
  });
}

t.test("hosts learn of each other, and how long one is silent", async (t) => {
  const engine = newEngine();
  const a = board(engine, { id: "a", start: 1, takenAtMs: null }, "m1", "web 2");
  const b = board(engine, { id: "b", start: 7, takenAtMs: null }, "m2", "web 1");
  t.equal(a.alive, 1);
  t.equal(a.engineMs, null);
  t.equal(await a.beat(), "heard");
  engine.nowMs += 400;
  t.equal(a.engineMs, engine.nowMs, "the engine's clock goes on");
  t.equal(await b.beat(), "heard");
  engine.nowMs += 100;
  t.same(
    b.hosts.map(({ id, name, silentMs }) => [id, name, silentMs]),
    [
      ["b", "web 1", 100],
      ["a", "web 2", 500],
    ],
  );
  t.match(b.hosts[1], { version: "1.0.0", configuration: "a b", startedAtMs: 5 });
  t.equal(b.alive, 2);
  engine.nowMs += 10_000;
  await b.beat();
  t.equal(b.alive, 1, "who is silent is away");
  t.equal(b.hosts.length, 2, "and still listed");
  engine.nowMs += 86_400_001;
  await b.beat();
  t.same(
    b.hosts.map(({ id }) => id),
    ["b"],
    "for a day",
  );
});

t.test("a daemon that starts again goes on under its id, a copied disk is noticed", async (t) => {
  const engine = newEngine();
  const store = createMemoryStore();
  const first = nextIdentity(store, () => "id1");
  t.same(first, { id: "id1", start: 1, takenAtMs: null });
  await store.commit([identityChange(first)]);
  const copied = store.crash();
  const again = nextIdentity(store, () => "other");
  t.same(again, { id: "id1", start: 2, takenAtMs: null });
  t.equal(await board(engine, first, "m1").beat(), "heard");
  const restarted = board(engine, again, "m2");
  t.equal(await restarted.beat(), "heard", "at once after its predecessor");
  const copy = board(
    engine,
    nextIdentity(copied, () => "other"),
    "m3",
  );
  t.equal(await copy.beat(), "taken");
  t.equal(await restarted.beat(), "heard", "the first one goes on");
  const fresh = board(
    engine,
    freshIdentity(() => "id2", 5),
    "m3",
  );
  t.equal(await fresh.beat(), "heard");
  engine.nowMs += 20_000;
  t.equal(await copy.beat(), "heard", "the id of a host that is gone is free");
});

t.test("a row that no host wrote is passed over", async (t) => {
  const engine = newEngine();
  engine.data.hashes.set(
    "sluice:{test}:hosts",
    new Map([
      ["x", `${engine.nowMs} 1 m {"a":1}`],
      ["y", `${engine.nowMs} 1 m not json`],
      ["z", `${engine.nowMs} 1 m ["z",1,"c",2]`],
    ]),
  );
  const host = board(engine, { id: "a", start: 1, takenAtMs: null }, "m1");
  await host.beat();
  t.same(
    host.hosts.map(({ id }) => id),
    ["a"],
  );
});

t.test("an identity that can't be read is refused", async (t) => {
  const store = createMemoryStore();
  await store.commit([{ table: "cluster", key: "host", value: [1, "x"] }]);
  t.throws(() => nextIdentity(store, () => "id"), { name: "StoreUnreadableError" });
});
