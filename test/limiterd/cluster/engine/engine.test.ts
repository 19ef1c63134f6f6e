/** The engine of the tests keeps what the port promises. */
import t from "tap";
import {
  EngineAwayError,
  EngineRefusedError,
  type EngineState,
} from "../../../../limiterd/cluster/engine/engine.js";
import { createFakeEngine } from "../../../support/cluster/fake-engine.js";

t.test("hosts share what they write, and hear what is published", async (t) => {
  const engine = createFakeEngine();
  const [a, b] = [engine.connect(), engine.connect()];
  t.equal(await a.commands.hset("h", { x: "1", y: "2" }), 2);
  t.same([...(await b.commands.hgetall("h"))], Object.entries({ x: "1", y: "2" }));
  t.same(await b.commands.hmget("h", ["y", "z"]), ["2", null]);
  t.equal(await a.commands.set("k", "1", { onlyNew: true, expiresMs: 100 }), true);
  t.equal(await b.commands.set("k", "2", { onlyNew: true }), false);
  engine.nowMs += 100;
  t.equal(await b.commands.get("k"), null);
  await a.commands.zadd("z", 2, "two");
  await a.commands.zadd("z", 1, "one");
  t.same(await b.commands.zrangebyscore("z", { from: 1, to: 9, limit: 1 }), [
    { member: "one", score: 1 },
  ]);
  t.equal(await a.commands.incr("n"), 1);
  await t.rejects(b.commands.hget("n", "x"), EngineRefusedError);
  const heard = new Promise((resolve) => b.subscribe("c", resolve));
  await a.commands.publish("c", "word");
  t.equal(await heard, "word");
});

t.test("a script is answered by its twin", async (t) => {
  const engine = createFakeEngine();
  engine.script("double", (_data, [key], [n]) => [key!, Number(n) * 2]);
  const script = { name: "double", source: "" };
  t.same(await engine.connect().call(script, ["k"], [21]), ["k", 42]);
});

t.test("an engine that is away, loses answers or was emptied is told of", async (t) => {
  const engine = createFakeEngine();
  const connection = engine.connect();
  const states: EngineState["kind"][] = [];
  connection.watch(({ kind }) => states.push(kind));
  const before = connection.state;
  connection.loseAnswers(1);
  await t.rejects(connection.commands.incr("n"), EngineAwayError);
  t.equal(await connection.commands.get("n"), "1", "what was lost is the answer alone");
  connection.away("no route");
  await t.rejects(connection.commands.get("n"), EngineAwayError);
  connection.back();
  t.same(connection.state, before);
  engine.wipe();
  t.not((connection.state as { epoch?: string }).epoch, (before as { epoch?: string }).epoch);
  t.same(states, ["away", "connected", "connected"]);
});
