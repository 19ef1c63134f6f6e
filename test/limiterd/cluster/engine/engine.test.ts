/** The engine of the tests keeps what the port promises. */
import t from "tap";
import {
  EngineAwayError,
  EngineRefusedError,
  type EngineState,
} from "../../../../limiterd/cluster/engine/engine.js";
import { createFakeEngine } from "../../../support/cluster/fake-engine.js";

t.test("hosts share what they write", async (t) => {
  const engine = createFakeEngine();
  const [a, b] = [engine.connect(), engine.connect()];
  t.equal(await a.commands.hset("h", { x: "1", y: "2" }), 2);
  t.same([...(await b.commands.hgetall("h"))], Object.entries({ x: "1", y: "2" }));
  t.same([await b.commands.hget("h", "y"), await b.commands.hget("h", "z")], ["2", null]);
  await a.commands.set("k", "1", { expiresMs: 100 });
  t.equal(await b.commands.get("k"), "1");
  engine.nowMs += 100;
  t.equal(await b.commands.get("k"), null);
  await a.commands.set("n", "1");
  await t.rejects(b.commands.hget("n", "x"), EngineRefusedError);
});

t.test("a script is answered by its twin", async (t) => {
  const engine = createFakeEngine();
  engine.script("double", (_data, [key], [n]) => [key!, Number(n) * 2]);
  const script = { name: "double", source: "" };
  t.same(await engine.connect().call(script, ["k"], [21]), ["k", 42]);
});

t.test("an engine that is away, loses answers or was emptied is reported", async (t) => {
  const engine = createFakeEngine();
  const connection = engine.connect();
  const states: EngineState["kind"][] = [];
  connection.watch(({ kind }) => states.push(kind));
  const before = connection.state;
  connection.loseAnswers(1);
  await t.rejects(connection.commands.set("n", "1"), EngineAwayError);
  t.equal(await connection.commands.get("n"), "1", "what was lost is the answer alone");
  connection.away("no route");
  await t.rejects(connection.commands.get("n"), EngineAwayError);
  connection.back();
  t.same(connection.state, before);
  engine.wipe();
  t.not((connection.state as { epoch?: string }).epoch, (before as { epoch?: string }).epoch);
  t.same(states, ["away", "connected", "connected"]);
});
