import t from "tap";
import { dayMs } from "../../../../shared/time.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ask } from "../../in-memory-daemon.js";
import { noonMs, spend } from "../../usage/usage-fixture.js";
import { engineAtNoon, joinUsage } from "./hosts-fixture.js";

const today = { user_path: "/", start_date: "2026-03-10", end_date: "2026-03-10" };

t.test("a report says whose usage it is, and how old the oldest part", async (t) => {
  const engine = engineAtNoon();
  const [a, b, c] = ["a", "b", "c"].map((name) => joinUsage(engine, name));
  for (const host of [a!, b!, c!]) {
    spend(host.peer, 1, "/team");
    await host.tick();
  }
  engine.nowMs += 4200;
  await b!.tick();
  const summary = await ask(a!.daemon, "usage.summary", today);
  t.match(
    summary,
    exactly({
      usage: { total_requests: 3 },
      hosts: {
        scope: "all_hosts",
        count: 3,
        oldest_seconds: 4.2,
        complete: true,
        parts: [
          { host: "a", name: "a.example", age_seconds: 0, complete: true },
          { host: "b", name: "b.example", age_seconds: 0, complete: true },
          { host: "c", name: "c.example", age_seconds: 4.2, complete: true },
        ],
      },
    }),
  );
  const status = await ask(a!.daemon, "usage.status", { ...today, user_path: "/team" });
  t.match(status, { usage: { total_requests: 3 }, hosts: { count: 3, oldest_seconds: 4.2 } });
  t.notOk("parts" in (status["hosts"] as object), "callers aren't told of machines");
  const grouped = await ask(a!.daemon, "usage.status", { ...today, by: "day" });
  t.notOk("parts" in (grouped["hosts"] as object));
});

t.test("with the engine away a report is of this host alone, and says so", async (t) => {
  const engine = engineAtNoon();
  const [a, b] = [joinUsage(engine, "a"), joinUsage(engine, "b")];
  spend(a.peer, 1, "/team");
  spend(b.peer, 1, "/team");
  await a.tick();
  await b.tick();
  a.connection.away("cut off");
  for (const op of ["usage.summary", "usage.status"] as const)
    t.match(await ask(a.daemon, op, today), {
      usage: { total_requests: 1 },
      hosts: { scope: "this_host", count: 1, complete: false, reason: "the engine is away" },
    });
  a.connection.back();
  t.match(await ask(a.daemon, "usage.summary", today), { usage: { total_requests: 2 } });
});

t.test("an answer that is lost midway leaves no half of a host in the report", async (t) => {
  const engine = engineAtNoon();
  const [a, b] = [joinUsage(engine, "a"), joinUsage(engine, "b")];
  for (let i = 1; i <= 20; i++) spend(b.peer, i, `/team/${i}`);
  spend(a.peer, 1, "/team");
  await b.tick();
  let asked = 0;
  const { hgetall } = a.connection.commands;
  Object.assign(a.connection.commands, {
    hgetall(key: string) {
      if (++asked === 4) a.connection.away("cut off");
      return hgetall(key);
    },
  });
  const { usage, groups } = await ask(a.daemon, "usage.summary", { ...today, by: "path" });
  t.match(usage, { total_requests: 1 });
  t.match(groups, exactly([{ key: "/team", requests: 1 }]));
});

t.test("a report that takes too long for the others' part is of this host alone", async (t) => {
  const engine = engineAtNoon();
  let monoMs = 0;
  const a = joinUsage(engine, "a", { monoMs: () => (monoMs += 4000) });
  const b = joinUsage(engine, "b");
  spend(b.peer, 1, "/team");
  await b.tick();
  t.match(await ask(a.daemon, "usage.summary", today), {
    usage: { total_requests: 0 },
    hosts: { scope: "this_host", reason: "the other hosts' usage isn't read in 3000 ms" },
  });
});

t.test("hosts that haven't published again in a wiped engine are missed by name", async (t) => {
  const engine = engineAtNoon();
  const [a, b] = [joinUsage(engine, "a"), joinUsage(engine, "b")];
  await a.tick();
  await b.tick();
  await ask(a.daemon, "usage.summary", today);
  engine.wipe();
  await a.tick();
  t.match(
    (await ask(a.daemon, "usage.summary", today))["hosts"],
    exactly({
      count: 1,
      complete: false,
      parts: [{ host: "a" }, { host: "b", name: "b.example", age_seconds: null, complete: false }],
    }),
  );
  await b.tick();
  t.match((await ask(a.daemon, "usage.summary", today))["hosts"], { count: 2, complete: true });
});

t.test(
  "a host that has published nothing for as long as usage is kept is missed no more",
  async (t) => {
    const engine = engineAtNoon();
    const [a, b] = [joinUsage(engine, "a", { retentionDays: 3 }), joinUsage(engine, "b")];
    await a.tick();
    await b.tick();
    await ask(a.daemon, "usage.summary", today);
    engine.nowMs += 4 * dayMs;
    await a.tick();
    t.match((await ask(a.daemon, "usage.summary", today))["hosts"], { count: 1, complete: true });
  },
);

t.test("what is damaged in the engine isn't counted, and is reported for the log", async (t) => {
  const engine = engineAtNoon();
  const [a, b] = [joinUsage(engine, "a"), joinUsage(engine, "b")];
  spend(b.peer, 1, "/team");
  await b.tick();
  for (const [key, fields] of engine.data.hashes)
    if (/:b:2026-03-10:t/.test(key)) for (const field of fields.keys()) fields.set(field, "1;drop");
  engine.data.hashes.get("sluice:sluice:usage-hosts")!.set("c", "{");
  engine.data.hashes.get("sluice:sluice:usage-hosts")!.set("d", '{"name":5}');
  t.match(await ask(a.daemon, "usage.summary", today), {
    usage: { total_requests: 0 },
    hosts: { count: 2 },
  });
  t.match(a.unreadable, exactly([/a sum of 2026-03-10 that the host b has published is damaged/]));
});

t.test("names of paths and models that are fields of objects are names like others", async (t) => {
  const engine = engineAtNoon();
  const [a, b] = [joinUsage(engine, "a"), joinUsage(engine, "b")];
  spend(b.peer, 1, "/__proto__/constructor", { settled: { model: "__proto__" } });
  spend(b.peer, 2, "/7", { settled: { model: "toString" } });
  await b.tick();
  const { groups } = await ask(a.daemon, "usage.summary", { ...today, by: "path" });
  t.same(
    (groups as { key: string }[]).map(({ key }) => key),
    ["/7", "/__proto__"],
  );
  const models = await ask(a.daemon, "usage.summary", {
    ...today,
    user_path: "/__proto__",
    by: "model",
  });
  t.match(models, exactly({ groups: [{ key: "openai/__proto__", requests: 1 }] }));
  t.equal(engine.nowMs, noonMs);
});
