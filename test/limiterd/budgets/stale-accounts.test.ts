/**
 * Budgets that change while something about them is under way, an account that isn't written or a
 * past that is being looked up, and then a crash: what was spent counts once.
 */
import t from "tap";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask as operate, startDaemon, type TestDaemon } from "../in-memory-daemon.js";
import {
  admin,
  budget,
  type Client,
  client,
  hour,
  listed,
  noon,
  spend,
  usd,
} from "./budget-fixture.js";

const hourly = { subject: "/a", budget_key: { period: "hourly" }, amount: 100 };
const key = { subject: "/a", budget_key: { period: "hourly" } };

/** Lets everything that is under way end, a turn at a time. */
async function rest(daemon: TestDaemon): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await daemon.commit();
}

const spent = (daemon: TestDaemon, path = "/a/b"): unknown[] =>
  budgetStatuses(daemon.state, { userPath: path }, [], daemon.nowMs).map(({ spent }) => spent);

/** What is spent, in memory, after a crash, and after a flush and a crash. */
async function everywhere(daemon: TestDaemon, path?: string): Promise<unknown[]> {
  await rest(daemon);
  const found = [spent(daemon, path)];
  const again = async (before: TestDaemon): Promise<TestDaemon> => {
    const after = startDaemon([], { nowMs: before.nowMs, store: before.store.crash() });
    await rest(after);
    found.push(spent(after, path));
    return after;
  };
  const second = await again(daemon);
  await second.flush();
  await again(second);
  await daemon.flush();
  await again(daemon);
  return found;
}

/** Four times the same. */
const always = (sums: readonly number[]): unknown[] => [sums, sums, sums, sums];

/** Sends an operation and doesn't wait for it. */
function send(to: Client, op: Parameters<typeof admin>[2], body: unknown): void {
  to.peer.send({ kind: "admin", id: ++to.id, op, body });
}

/** At half past twelve, with a dollar of before the hour, and four of the hour's. */
async function begin(perChild = false): Promise<{ daemon: TestDaemon; proxy: Client }> {
  const daemon = startDaemon([], { nowMs: noon - hour / 2 });
  const proxy = client(daemon);
  spend(proxy, "/a/b", usd);
  daemon.nowMs = noon + hour / 2;
  await admin(daemon, proxy, "budgets.put", { ...hourly, per_child: perChild });
  await rest(daemon);
  spend(proxy, "/a/b", 4 * usd);
  return { daemon, proxy };
}

t.test(
  "whatever becomes of a budget with an account that isn't written, it counts once",
  async (t) => {
    const changes: Record<
      string,
      {
        sums: readonly number[];
        steps: readonly (readonly [Parameters<typeof admin>[2], unknown])[];
      }
    > = {
      "it is edited": { sums: [6], steps: [["budgets.put", { ...hourly, amount: 50 }]] },
      "it is deleted": { sums: [], steps: [["budgets.delete", key]] },
      "it is deleted and made again": {
        sums: [6],
        steps: [
          ["budgets.delete", key],
          ["budgets.put", hourly],
        ],
      },
      "it becomes a template": {
        sums: [6],
        steps: [["budgets.put", { ...hourly, per_child: true }]],
      },
      "it becomes a template and back": {
        sums: [6],
        steps: [
          ["budgets.put", { ...hourly, per_child: true }],
          ["budgets.put", { ...hourly, per_child: false }],
        ],
      },
      "it is reset": {
        sums: [2],
        steps: [["budgets.reset-one", { subject: "/a", period: "hourly" }]],
      },
      "it is reset, deleted and made again": {
        sums: [2],
        steps: [
          ["budgets.reset-one", { subject: "/a", period: "hourly" }],
          ["budgets.delete", key],
          ["budgets.put", hourly],
        ],
      },
      "all are reset": { sums: [2], steps: [["budgets.reset", { confirmation: "reset" }]] },
    };
    for (const [what, { sums, steps }] of Object.entries(changes)) {
      for (const waits of [true, false]) {
        const { daemon, proxy } = await begin();
        daemon.nowMs += 1;
        for (const [op, body] of steps) {
          send(proxy, op, body);
          if (waits) await rest(daemon);
        }
        daemon.nowMs += 1;
        spend(proxy, "/a/b", 2 * usd);
        t.same(await everywhere(daemon), always(sums), `${what}${waits ? "" : ", at once"}`);
      }
    }
  },
);

t.test("the same for the children of a template", async (t) => {
  for (const [what, steps, sums] of [
    ["deleted", [["budgets.delete", key]], []],
    [
      "deleted and made again",
      [
        ["budgets.delete", key],
        ["budgets.put", { ...hourly, per_child: true }],
      ],
      [6],
    ],
    ["made a budget of its own", [["budgets.put", hourly]], [6]],
    ["reset", [["budgets.reset-one", { subject: "/a", period: "hourly" }]], [2]],
  ] as const) {
    const { daemon, proxy } = await begin(true);
    daemon.nowMs += 1;
    for (const [op, body] of steps) send(proxy, op, body);
    daemon.nowMs += 1;
    spend(proxy, "/a/b", 2 * usd);
    t.same(await everywhere(daemon), always(sums), what);
  }
});

t.test(
  "anchors that change while the past is looked up, there and back, count it once",
  async (t) => {
    const daemon = startDaemon([], { nowMs: Date.parse("2026-11-21T00:30:00Z") });
    const proxy = client(daemon);
    await admin(daemon, proxy, "budgets.put", {
      subject: "/a",
      budget_key: { period: "daily" },
      amount: 100,
    });
    for (const [hours, cost] of [
      [1, 1],
      [5, 2],
      [7, 4],
      [10, 8],
    ] as const) {
      daemon.nowMs = Date.parse("2026-11-21T00:30:00Z") + hours * hour;
      spend(proxy, "/a/b", cost * usd);
      await rest(daemon);
    }
    const at = (hourOfDay: number): object => ({ daily_reset_hour: hourOfDay });
    for (const [what, hours, sum] of [
      ["there", [6], 12],
      ["back", [0], 15],
      ["there and back, at once", [6, 0], 15],
      ["there, back and there", [6, 0, 6], 12],
      ["from one to another and back", [6, 2, 6, 2], 14],
      ["twice the same", [2, 2], 14],
    ] as const) {
      for (const hourOfDay of hours) send(proxy, "budgets.put-settings", at(hourOfDay));
      t.same(await everywhere(daemon), always([sum]), what);
    }
    // What is settled in between counts once too.
    send(proxy, "budgets.put-settings", at(6));
    spend(proxy, "/a/b", 16 * usd);
    send(proxy, "budgets.put-settings", at(0));
    spend(proxy, "/a/b", 32 * usd);
    send(proxy, "budgets.put-settings", at(6));
    t.same(await everywhere(daemon), always([60]), "with settles in between");
  },
);

t.test("a budget that is reset, deleted or made again while its past is looked up", async (t) => {
  for (const [what, steps, sums] of [
    ["reset", [["budgets.reset-one", { subject: "/a", period: "hourly" }]], [2]],
    ["deleted", [["budgets.delete", key]], []],
    [
      "deleted and made again",
      [
        ["budgets.delete", key],
        ["budgets.put", hourly],
      ],
      [6],
    ],
    ["made a template", [["budgets.put", { ...hourly, per_child: true }]], [6]],
    ["edited", [["budgets.put", { ...hourly, amount: 9 }]], [6]],
  ] as const) {
    const daemon = startDaemon([], { nowMs: noon + hour / 2 });
    const proxy = client(daemon);
    spend(proxy, "/a/b", 4 * usd);
    await rest(daemon);
    daemon.nowMs += 1;
    send(proxy, "budgets.put", hourly);
    for (const [op, body] of steps) send(proxy, op, body);
    daemon.nowMs += 1;
    spend(proxy, "/a/b", 2 * usd);
    t.same(await everywhere(daemon), always(sums), what);
    t.notOk(
      daemon.state.budgets.sorted().some(({ isBackfilling }) => isBackfilling),
      `${what}: nothing is looked up any more`,
    );
  }
});

t.test("in the millisecond of a reset the order decides what it leaves", async (t) => {
  for (const [op, body] of [
    ["budgets.reset-one", { subject: "/a", period: "hourly" }],
    ["budgets.reset", { confirmation: "reset" }],
  ] as const) {
    const { daemon, proxy } = await begin();
    send(proxy, op, body);
    spend(proxy, "/a/b", 2 * usd);
    t.same(await everywhere(daemon), always([2]), op);
  }
});

t.test("what a budget had spent is removed from the store with it", async (t) => {
  const configured = (perChild: boolean): BudgetDefinition => budget("/a", 3600, 100, { perChild });
  for (const perChild of [false, true]) {
    const daemon = startDaemon([], { nowMs: noon, budgets: [configured(perChild)] });
    const proxy = client(daemon);
    for (const path of ["/a/b", "/a/c"]) spend(proxy, path, usd);
    await rest(daemon);
    await daemon.flush();
    const left = (other: TestDaemon): number => [...other.store.entries("spends")].length;
    t.equal(left(daemon), perChild ? 2 : 1);
    const restart = async (budgets: readonly BudgetDefinition[]): Promise<number> => {
      const after = startDaemon([], { nowMs: noon, store: daemon.store.crash(), budgets });
      await rest(after);
      return left(after);
    };
    t.equal(
      await restart([configured(perChild)]),
      perChild ? 2 : 1,
      "it stays while it is declared",
    );
    t.equal(await restart([]), 0, "undeclared");
    t.equal(
      await restart([configured(!perChild)]),
      perChild ? 1 : 2,
      "the accounts of its other form, looked up",
    );
    await daemon.store.commit([
      {
        table: "budgets",
        key: daemon.state.budgets.find(configured(perChild))!.id,
        value: undefined,
      },
    ]);
    t.equal(await restart([]), 0, "those of a budget that the store doesn't hold");
    await admin(daemon, proxy, "budgets.delete", key);
    await rest(daemon);
    t.equal(left(daemon), 0, "deleted");
  }
});

t.test("of several exceeded budgets the longest is reported, whichever is met first", async (t) => {
  const orders = (rest: readonly number[]): number[][] =>
    rest.length === 0
      ? [[]]
      : rest.flatMap((one) =>
          orders(rest.filter((other) => other !== one)).map((tail) => [one, ...tail]),
        );
  for (const order of orders([3600, 86_400, 604_800, 7200])) {
    const daemon = startDaemon([], {
      nowMs: noon,
      // Met from the root's on.
      budgets: order.map((seconds, i) => budget("/a/b/c/d".slice(0, 2 + 2 * i), seconds, 1)),
    });
    const proxy = client(daemon);
    spend(proxy, "/a/b/c/d", usd);
    proxy.peer.send({
      read: 0,
      kind: "admit",
      id: ++proxy.id,
      userPath: "/a/b/c/d",
      credential: "authenticated",
      targets: [{ provider: "p", model: "m" }],
      submission: false,
    });
    t.match(proxy.peer.received.at(-1), {
      kind: "exceeded",
      periodSeconds: 604_800,
      waitSeconds: (Date.parse("2026-11-23T00:00:00Z") - noon) / 1000,
    });
    t.equal((await listed(daemon, proxy)).length, 4);
  }
});

t.test(
  "a moved budget looks up what its new subject has cost, and the old one is gone",
  async (t) => {
    const day = 86_400;
    const daemon = startDaemon([], { nowMs: noon, budgets: [budget("/a", day, 8)] });
    const proxy = client(daemon);
    spend(proxy, "/a", 3 * usd);
    spend(proxy, "/b/app", 2 * usd);
    await daemon.commit();
    await operate(daemon, "budgets.put", {
      user_path: "/b",
      amount: 9,
      budget_key: { period: "daily" },
      replaces: { user_path: "/a", budget_key: { period: "daily" } },
    });
    const budgets = await listed(daemon, proxy);
    t.match(budgets, exactly([{ subject: "/b", amount: 9, spent: 2, remaining: 7 }]));
    t.equal(budgets.length, 1);
  },
);
