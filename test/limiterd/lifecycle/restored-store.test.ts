/** What a start makes of a store: whole, damaged, or left by an earlier epoch in the middle. */
import t from "tap";
import type { Change, Table } from "../../../limiterd/store/store.js";
import { budget, client, noon, second, spend, usd } from "../budgets/budget-fixture.js";
import {
  ask,
  askFor,
  counts,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 100, tokens: 1000 });
const template = { ...pathRule("/", 60, { requests: 100, tokens: 1000 }), perChild: true };
const budgets = [budget("/", 86_400, 100), budget("/", 3600, 100, { perChild: true })];

/** A daemon with an entry in every table. */
async function rich(): Promise<TestDaemon> {
  const daemon = startDaemon([minute, template], { nowMs: noon, budgets });
  const proxy = client(daemon);
  const work = async (): Promise<void> => {
    spend(proxy, "/team/a", usd);
    await daemon.commit();
  };
  await work();
  await ask(daemon, "keys.issue", {
    key_hash: "a".repeat(43),
    redacted_value: "sk-sluice-abcd…",
    key: { name: "n", user_path: "/team", labels: ["eu"] },
  });
  await ask(daemon, "budgets.reset-one", { subject: "/", period: "daily" });
  await ask(daemon, "budgets.put-settings", { daily_reset_hour: 3 });
  await ask(daemon, "rate-limits.reset", { confirmation: "reset" });
  await work();
  await daemon.snapshot();
  await daemon.flush();
  await work();
  return daemon;
}

t.test(
  "an entry that isn't what it should be stops the start, with the file and the table",
  async (t) => {
    const daemon = await rich();
    const kinds = [
      "rules",
      "windows",
      "journal",
      "proxies",
      "epochs",
      "budgets",
      "spends",
      "spendlog",
      "resets",
      "settings",
      "keys",
      "marks",
      "usage",
    ] as const;
    const start = async (
      table: Table,
      key: string | number,
      value: readonly unknown[],
    ): Promise<Error | null> => {
      const store = daemon.store.crash();
      const changes: Change[] = [{ table, key, value }];
      await store.commit(changes);
      try {
        startDaemon([minute, template], { nowMs: noon + second, store, budgets });
        return null;
      } catch (error) {
        return error as Error;
      }
    };
    for (const table of kinds) {
      // Of the records, those of which the sums aren't written: a start reads no others.
      const entry = [...daemon.store.entries(table)].at(-1);
      if (entry === undefined) throw new Error(`no ${table}`);
      t.equal(await start(table, entry.key, entry.value), null, `${table} as it is`);
      const wrong: (readonly unknown[])[] = [["?"], [null], [{}]];
      if (table !== "journal") wrong.push([[]]);
      if (table !== "spendlog" && table !== "usage") wrong.push([]);
      for (const value of wrong) {
        const error = await start(table, entry.key, value);
        t.match(
          error,
          {
            name: "StoreUnreadableError",
            message: new RegExp(`^memory can't be read: the entry .* of ${table} `),
          },
          `${table} ${JSON.stringify(value)}`,
        );
      }
      // One field at a time: told, or taken as it is; never another exception.
      for (let i = 0; i < entry.value.length; i++)
        for (const field of [undefined, null, -1, 0.5, "", "x", {}, [], Number.NaN, true]) {
          const error = await start(table, entry.key, entry.value.with(i, field));
          if (error !== null && error.name !== "StoreUnreadableError")
            t.fail(`${table}, field ${i} is ${String(field)}: ${error.stack}`);
        }
      for (let length = 1; length < entry.value.length; length++) {
        const error = await start(table, entry.key, entry.value.slice(0, length));
        if (error !== null && error.name !== "StoreUnreadableError")
          t.fail(`${table}, ${length} fields: ${error.stack}`);
      }
    }
  },
);

t.test("each of the epochs' entries is looked at when a daemon starts", async (t) => {
  const daemon = await rich();
  for (const key of ["lsn", "lost", "rules", "written", "reset", "of a later release"]) {
    const store = daemon.store.crash();
    await store.commit([{ table: "epochs", key, value: ["?"] }]);
    t.throws(
      () => startDaemon([minute, template], { store, nowMs: noon, budgets }),
      { name: "StoreUnreadableError", message: new RegExp(`the entry .*${key}.* of epochs `) },
      key,
    );
  }
});

t.test("a window with a field that is no count stops the start", async (t) => {
  const daemon = await rich();
  const [{ key, value } = { key: "", value: [] }] = [...daemon.store.entries("windows")];
  t.equal(value.length, 6);
  for (const broken of [
    ...value.map((_, i) => value.with(i, -1)),
    ...value.map((_, i) => value.with(i, "1")),
    value.slice(1),
    [...value, 1],
  ]) {
    const store = daemon.store.crash();
    await store.commit([{ table: "windows", key, value: broken }]);
    t.throws(() => startDaemon([minute, template], { store, nowMs: noon, budgets }), {
      name: "StoreUnreadableError",
    });
  }
});

t.test(
  "the journal of an earlier epoch is removed with the first snapshot, not replayed for ever",
  async (t) => {
    const first = startDaemon([minute]);
    const peer = first.proxy("p");
    for (let seq = 1; seq <= 3; seq++) {
      peer.send(settleOf(askFor(peer, seq + 1, "/team")!, seq, 10));
      await first.commit();
    }
    const journal = ({ store }: TestDaemon): number => [...store.entries("journal")].length;
    t.equal(journal(first), 3);
    const next = startDaemon([minute], { store: first.store.crash(), nowMs: first.nowMs });
    t.equal(journal(next), 3);
    t.same(counts(next, minute), { requests: 3, tokens: 30, inFlight: 0 });
    await next.snapshot();
    t.equal(journal(next), 0);
    const last = startDaemon([minute], { store: next.store.crash(), nowMs: next.nowMs });
    t.same(counts(last, minute), { requests: 3, tokens: 30, inFlight: 0 });
    t.equal(last.state.proxies.get("p", 0).settledSeq, 3, "its number is known from the snapshot");
  },
);

t.test("a start waits for the proxies that were connected, and for no other", async (t) => {
  const first = startDaemon([minute]);
  first.proxy("there");
  first.proxy("gone").close();
  await first.commit();
  await first.snapshot();
  t.same(
    [...first.store.entries("proxies")].map(({ key }) => key),
    ["gone", "there"],
  );
  const next = startDaemon([minute], { store: first.store.crash() });
  t.same(next.state.expectedProxies, new Set(["there"]));
});

t.test("the verdicts that a proxy may not have read are known after a start", async (t) => {
  const first = startDaemon([minute]);
  first.proxy("p");
  await first.commit();
  const store = first.store.crash();
  const verdicts = [
    ...[1, 1, "/team", true, "openai", "gpt-4o", 9, 5],
    ...[1, 2, "/team", false, "openai", "gpt-4o", 9, 6],
  ];
  await store.commit([{ table: "unread", key: "p", value: verdicts }]);
  const next = startDaemon([minute], { store });
  t.same(next.state.proxies.all.get("p")!.unread.toStored(), verdicts);
});

t.test(
  "a reset of all rules holds for what was counted before it, after a crash too",
  async (t) => {
    const first = startDaemon([minute]);
    const peer = first.proxy("p");
    peer.send(settleOf(askFor(peer, 2, "/team")!, 1, 10));
    await first.snapshot();
    await ask(first, "rate-limits.reset", { confirmation: "reset" });
    askFor(peer, 3, "/team");
    await first.commit();
    await first.commit();
    const next = startDaemon([minute], { store: first.store.crash(), nowMs: first.nowMs });
    t.match(counts(next, minute), { requests: 1, tokens: 0 });
  },
);

t.test("each epoch's numbers are above all of the earlier ones", async (t) => {
  let daemon = startDaemon([minute]);
  for (let epoch = 0; epoch < 4; epoch++) {
    const peer = daemon.proxy("p");
    peer.send(settleOf(askFor(peer, 2, "/team")!, epoch + 1, 10));
    await daemon.commit();
    if (epoch % 2 === 0) await daemon.snapshot();
    const { lsn } = daemon.state.writer;
    const next = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.ok(next.state.epochs.startLsn > lsn, `${next.state.epochs.startLsn} after ${lsn}`);
    t.ok(next.state.epochs.startLsn - lsn >= 1_000_000 - 10);
    daemon = next;
  }
});

t.test("configured rules take the place of what was configured; manual ones stay", async (t) => {
  const a = pathRule("/a", 60, { requests: 1 });
  const b = pathRule("/b", 60, { requests: 1 });
  const first = startDaemon([a, b]);
  await ask(first, "rate-limits.put", {
    scope: "user_path",
    subject: "/b",
    limit_key: { period: "minute" },
    max_requests: 7,
  });
  first.proxy("p");
  await first.commit();
  const listed = (daemon: TestDaemon): unknown[] =>
    daemon.state.book
      .sorted()
      .map(({ definition, source }) => [definition.subject, definition.maxRequests, source]);
  const before = [
    ["/a", 1, "config"],
    ["/b", 7, "manual"],
  ];
  t.same(listed(first), before);
  const second = startDaemon([a, b], { store: first.store.crash() });
  t.same(listed(second), before, "the same configuration changes nothing");
  const stored = [...first.store.entries("rules")];
  t.same([...second.store.entries("rules")], stored, "not even in the store");
  const third = startDaemon([{ ...a, maxRequests: 5 }], { store: first.store.crash() });
  await third.commit();
  t.same(listed(third), [
    ["/a", 5, "config"],
    ["/b", 7, "manual"],
  ]);
  const fourth = startDaemon([a, { ...b, maxRequests: 3 }], { store: third.store.crash() });
  t.same(listed(fourth), before, "declared anew it stays as it is");
  t.same(
    startDaemon([], { store: third.store.crash(), rateLimitsEnabled: false }).state.book.rules.size,
    third.state.book.rules.size,
    "disabled isn't withdrawn",
  );
});
