import t from "tap";
import { ObjectOwners } from "../../../limiterd/objects/object-owners.js";
import { dayMs } from "../../../shared/time.js";
import { objectsPerCall } from "../../../shared/wire/stored-object.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { wind } from "../clockwork.js";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";

const own = (userPath: string, ...ids: readonly string[]): object => ({
  user_path: userPath,
  days: 30,
  objects: ids.map((id) => ({ provider: "openai", id })),
});

t.test("an owner is remembered over a crash, until it expires", async (t) => {
  const daemon = startDaemon([]);
  t.same(await ask(daemon, "objects.own", own("/a", "file-1", "file-12")), { status: "ok" });
  await ask(daemon, "objects.own", {
    ...own("/b"),
    objects: [{ provider: "other", id: "file-1" }],
  });
  const owners = async (life = daemon): Promise<unknown> =>
    (await ask(life, "objects.owners", { ids: ["file-1", "file-2", "file"] }))["owners"];
  const expected = [
    [
      { provider: "openai", userPath: "/a" },
      { provider: "other", userPath: "/b" },
    ],
    [],
    [],
  ];
  t.same(await owners(), expected);
  const reborn = startDaemon([], { store: daemon.store.crash() });
  t.same(await owners(reborn), expected);
  reborn.nowMs += 30 * dayMs;
  t.same(await owners(reborn), [[], [], []]);
  const { ring } = wind(reborn, 0);
  ring(1000);
  await reborn.commit();
  t.same([...reborn.store.entries("objects")], []);
});

t.test("what one path has made, no other one can take", async (t) => {
  const daemon = startDaemon([]);
  await ask(daemon, "objects.own", own("/a", "file-1"));
  t.same(await ask(daemon, "objects.own", own("/b", "file-1", "file-2")), { status: "ok" });
  t.match(
    await ask(daemon, "objects.owners", { ids: ["file-1", "file-2"] }),
    exactly({
      owners: [[{ userPath: "/a" }], [{ userPath: "/b" }]],
    }),
  );
  daemon.nowMs += 31 * dayMs;
  await ask(daemon, "objects.own", own("/b", "file-1"));
  t.match(
    await ask(daemon, "objects.owners", { ids: ["file-1"] }),
    exactly({
      owners: [[{ userPath: "/b" }]],
    }),
  );
});

t.test("requests without sense are refused by name, and nothing is written", async (t) => {
  const daemon = startDaemon([]);
  const many = Array.from({ length: objectsPerCall + 1 }, (_, i) => `file-${i}`);
  for (const [body, param] of [
    [null, "body"],
    [{ ...own("/a", "x"), user_path: "a//b" }, "user_path"],
    [{ ...own("/a", "x"), days: 366 }, "days"],
    [{ ...own("/a", "x"), days: 0 }, "days"],
    [own("/a", "x y"), "objects"],
    [own("/a", ""), "objects"],
    [own("/a", ...many), "objects"],
    [{ ...own("/a"), objects: [{ id: "x" }] }, "objects"],
    [{ ...own("/a"), objects: [{ id: "x", provider: "a b" }] }, "objects"],
  ] as const)
    t.match(await refusal(ask(daemon, "objects.own", body)), { status: 400, param });
  for (const ids of [undefined, "x", [1], ["x/y"], many])
    t.match(await refusal(ask(daemon, "objects.owners", { ids })), { status: 400, param: "ids" });
  t.same([...daemon.store.entries("objects")], []);
});

t.test("there is a bound, and a walk finds out what is below it", async (t) => {
  const store = createMemoryStore();
  const nowMs = Date.UTC(2026, 0, 1);
  const value = (i: number): readonly unknown[] =>
    i % 3 === 0 ? ["/a", nowMs - 1] : i % 3 === 1 ? ["/a", nowMs + 1] : ["damaged"];
  await store.commit(
    Array.from({ length: 1500 }, (_, i) => ({
      table: "objects" as const,
      key: `id-${String(i).padStart(4, "0")} p`,
      value: value(i),
    })),
  );
  const owners = new ObjectOwners(store, 502);
  const gone: unknown[] = [];
  for (let i = 0; i < 5; i++) gone.push(...owners.removeExpired(nowMs));
  t.equal(gone.length, 1000, "what has expired, and what can't be read");
  t.same(owners.removeExpired(nowMs), [], "once a day");
  const made = { userPath: "/a", days: 1, objects: [{ provider: "p", id: "new" }] };
  t.equal(owners.addOwners(made, nowMs)?.length, 1);
  t.equal(owners.addOwners(made, nowMs)?.length, 1);
  t.equal(owners.addOwners(made, nowMs), null);
});
