/**
 * What each operation on a rule does to its counters; each is checked again after the daemon's end,
 * by SIGTERM and by kill −9 after a snapshot.
 */
import t, { type Test } from "tap";
import { sweepChildren } from "../../../../limiterd/lifecycle/sweep.js";
import type { AdminOp } from "../../../../shared/wire/admin-op.js";
import { createMemoryStore } from "../../../support/memory-store.js";
import { childNames } from "../../counters/child-names.js";
import {
  ask,
  askFor,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../../in-memory-daemon.js";

const day = { limit_key: { period: "day" } };

/** A daemon with one proxy, and the few things that the rows do. */
class Site {
  daemon: TestDaemon;
  #proxy: TestPeer;
  #id = 0;
  #seq = 0;

  constructor(daemon = startDaemon([], { store: createMemoryStore() })) {
    this.daemon = daemon;
    this.#proxy = daemon.proxy("p1");
  }

  async admin(op: AdminOp, body: unknown): Promise<void> {
    const id = ++this.#id;
    this.#proxy.send({ kind: "admin", id, op, body });
    await this.daemon.commit();
    const answer = this.#proxy.received.find(
      (message) => message.kind === "answer" && message.id === id,
    );
    if (answer === undefined)
      throw new Error(`${op} failed: ${JSON.stringify(this.#proxy.received.at(-1))}`);
  }

  put(body: Record<string, unknown>): Promise<void> {
    return this.admin("rate-limits.put", { ...day, max_requests: 100, max_tokens: 1000, ...body });
  }

  /** Requests of ten tokens; the function ends one that stays in flight. */
  async use(userPath: string, times: number): Promise<void> {
    for (let i = 0; i < times; i++) (await this.hold(userPath))();
    await this.daemon.commit();
  }

  async hold(userPath: string): Promise<() => void> {
    const lease = askFor(this.#proxy, ++this.#id, userPath);
    if (lease === null) throw new Error(`refused on ${userPath}`);
    return () => void this.#proxy.send(settleOf(lease, ++this.#seq, 10));
  }

  /**
   * The daemon ends and starts again on what it left. After a stop everything is written; after
   * kill −9 what the last snapshot and the commits left.
   */
  async restart(how: "SIGTERM" | "kill -9"): Promise<void> {
    await this.daemon.snapshot();
    if (how === "SIGTERM")
      await Promise.all([this.daemon.state.writer.close(), this.daemon.commit()]);
    const { nowMs } = this.daemon;
    this.daemon = startDaemon([], { store: this.daemon.store.crash(), nowMs });
    // The same proxy without its leases: another one in truth, but its settles go on being
    // numbered.
    this.#proxy = this.daemon.proxy("p1");
  }

  /**
   * What a rule on a user path counts: requests, tokens, in flight; for a template by child. Null:
   * there is no such rule.
   */
  at(subject: string, periodSeconds = 86_400): unknown {
    const rule = this.daemon.state.book.find({ scope: "user_path", subject, periodSeconds });
    if (rule === null) return null;
    const counted = ({ window, inFlight }: NonNullable<typeof rule.own>): readonly number[] => [
      window.previousRequests + window.currentRequests,
      window.previousTokens + window.currentTokens,
      inFlight,
    ];
    return rule.own === null
      ? Object.fromEntries(
          childNames(rule.children).map((child) => [child, counted(rule.children.copy(child)!)]),
        )
      : counted(rule.own);
  }
}

/** Runs a row three times: `check` right after `act`, and after each kind of restart. */
function row(
  name: string,
  act: (site: Site) => Promise<unknown>,
  check: (site: Site, t: Test, restarted: boolean) => void,
): void {
  void t.test(name, async (t) => {
    for (const how of ["no restart", "SIGTERM", "kill -9"] as const) {
      await t.test(how, async (t) => {
        const site = new Site();
        await act(site);
        check(site, t, false);
        if (how === "no restart") return;
        await site.restart(how);
        check(site, t, true);
        await site.restart(how);
        check(site, t, true);
      });
    }
  });
}

row(
  "an edit of the caps alone keeps the counters",
  async (site) => {
    await site.put({ user_path: "/a" });
    await site.use("/a/x", 3);
    await site.hold("/a");
    await site.put({ user_path: "/a", max_requests: 5, max_tokens: undefined });
  },
  (site, t, restarted) => {
    t.same(
      site.at("/a"),
      [4, 30, restarted ? 0 : 1],
      "the request in flight too; after a restart its gauge is zero",
    );
    t.match(
      site.daemon.state.book.find({ scope: "user_path", subject: "/a", periodSeconds: 86_400 })!
        .definition,
      { maxRequests: 5, maxTokens: null },
    );
  },
);

row(
  "an edit of scope, subject or period is another rule that begins at zero; the old one stays until it is deleted",
  async (site) => {
    await site.put({ user_path: "/a" });
    await site.use("/a", 3);
    await site.put({ user_path: "/a", limit_key: { period: "hour" } });
    await site.put({ user_path: "/b" });
    await site.put({ scope: "provider", subject: "openai" });
    await site.put({ user_path: "/old" });
    await site.use("/old", 2);
    await site.put({ user_path: "/new" });
    await site.admin("rate-limits.delete", { user_path: "/old", ...day });
  },
  (site, t) => {
    t.same(
      [site.at("/a"), site.at("/a", 3600), site.at("/b")],
      [
        [3, 30, 0],
        [0, 0, 0],
        [0, 0, 0],
      ],
    );
    t.same([site.at("/old"), site.at("/new")], [null, [0, 0, 0]]);
    t.match(
      site.daemon.state.book.find({ scope: "provider", subject: "openai", periodSeconds: 86_400 })!
        .own!.window,
      { previousRequests: 0, currentRequests: 2 },
      "the requests since it was made",
    );
  },
);

row(
  "a moved rule takes the other's place: that one is gone, this one begins at zero",
  async (site) => {
    await site.put({ user_path: "/a" });
    await site.use("/a", 3);
    await site.daemon.snapshot();
    await site.put({ user_path: "/b", replaces: { user_path: "/a", ...day } });
    await site.put({ user_path: "/c" });
    await site.use("/c", 2);
    await site.put({ user_path: "/c", max_requests: 7, replaces: { subject: "/c", ...day } });
  },
  (site, t) => {
    t.same([site.at("/a"), site.at("/b")], [null, [0, 0, 0]]);
    t.same(site.at("/c"), [2, 20, 0], "one that replaces itself is edited");
  },
);

t.test("a move that can't be made changes nothing", async (t) => {
  const daemon = startDaemon([]);
  const put = (op: "rate-limits.put" | "budgets.put", body: object): Promise<unknown> =>
    ask(daemon, op, body);
  const monthly = { budget_key: { period: "monthly" } };
  await put("rate-limits.put", { user_path: "/a", max_requests: 1, ...day });
  await put("rate-limits.put", { user_path: "/b", max_requests: 1, ...day });
  await put("budgets.put", { user_path: "/a", amount: 1, ...monthly });
  await put("budgets.put", { user_path: "/b", amount: 1, ...monthly });
  const table = [
    ["/c", { user_path: "/gone" }, null, /no .* on user_path \/gone$/],
    ["/b", { user_path: "/a" }, "replaces", /there is a .* on user_path \/b already/],
    ["/c", { scope: "team" }, "replaces.scope", /^replaces: scope must be/],
    ["/c", { user_path: "/a", max: 1 }, "replaces.max", /^replaces: unknown field max/],
  ] as const;
  for (const [path, replaces, param, message] of table)
    for (const [op, key] of [
      ["rate-limits.put", { ...day, max_requests: 2 }],
      ["budgets.put", { ...monthly, amount: 2 }],
    ] as const) {
      const { max_requests: _, amount: __, ...period } = { max_requests: 0, amount: 0, ...key };
      const body = { user_path: path, ...key, replaces: { ...period, ...replaces } };
      t.match(await refusal(put(op, body)), { param, message }, `${op} ${param}`);
    }
  for (const replaces of ["/a", []])
    t.match(
      await refusal(put("budgets.put", { user_path: "/c", ...monthly, amount: 1, replaces })),
      { param: "replaces", message: /^replaces: the body must be a JSON object/ },
    );
  for (const op of ["rate-limits.list", "budgets.list"] as const) {
    const listed = await ask(daemon, op, null);
    const items = (listed["rate_limits"] ?? listed["budgets"]) as { subject: string }[];
    t.same(
      items.map(({ subject }) => subject),
      ["/a", "/b"],
    );
  }
});

row(
  "a deleted rule is gone, and made again it begins at zero",
  async (site) => {
    for (const path of ["/gone", "/again", "/kept"]) {
      await site.put({ user_path: path });
      await site.use(path, 3);
    }
    await site.daemon.snapshot();
    for (const path of ["/gone", "/again"])
      await site.admin("rate-limits.delete", { user_path: path, ...day });
    await site.put({ user_path: "/again" });
  },
  (site, t) => {
    t.same([site.at("/gone"), site.at("/again"), site.at("/kept")], [null, [0, 0, 0], [3, 30, 0]]);
  },
);

for (const how of ["SIGTERM", "kill -9"] as const) {
  void t.test(`a rule that is made again after a restart begins at zero too: ${how}`, async (t) => {
    const site = new Site();
    await site.put({ user_path: "/a" });
    await site.use("/a", 3);
    await site.restart(how);
    t.same(site.at("/a"), [3, 30, 0]);
    await site.admin("rate-limits.delete", { user_path: "/a", ...day });
    await site.restart(how);
    t.equal(site.at("/a"), null);
    await site.put({ user_path: "/a" });
    t.same(site.at("/a"), [0, 0, 0]);
    await site.restart(how);
    t.same(site.at("/a"), [0, 0, 0]);
  });
}

row(
  "reset of one rule clears its windows alone; what is in flight stays counted",
  async (site) => {
    for (const path of ["/a", "/b"]) {
      await site.put({ user_path: path });
      await site.use(path, 3);
      await site.hold(path);
    }
    await site.daemon.snapshot();
    await site.admin("rate-limits.reset-one", { scope: "user_path", subject: "/a", period: "day" });
  },
  (site, t, restarted) => {
    t.same(
      [site.at("/a"), site.at("/b")],
      restarted
        ? [
            [0, 0, 0],
            [4, 30, 0],
          ]
        : [
            [0, 0, 1],
            [4, 30, 1],
          ],
    );
  },
);

row(
  "reset of all clears the windows of every rule",
  async (site) => {
    for (const path of ["/a", "/b"]) {
      await site.put({ user_path: path });
      await site.use(path, 3);
    }
    await site.put({ user_path: "/kids", per_child: true });
    await site.use("/kids/ann", 2);
    const end = await site.hold("/a");
    await site.daemon.snapshot();
    await site.admin("rate-limits.reset", { confirmation: "reset" });
    t.same(site.at("/a"), [0, 0, 1]);
    end();
    await site.daemon.commit();
  },
  (site, t) => {
    t.same(
      [site.at("/a"), site.at("/b"), site.at("/kids")],
      [[0, 10, 0], [0, 0, 0], {}],
      "the request in flight charged its tokens when it ended",
    );
  },
);

row(
  "reset of a template clears the windows of all its children; their slots are given back as their requests end",
  async (site) => {
    await site.put({ user_path: "/kids", per_child: true });
    await site.use("/kids/ann", 2);
    await site.use("/kids/bob/phone", 1);
    const end = await site.hold("/kids/ann/phone");
    await site.daemon.snapshot();
    await site.admin("rate-limits.reset-one", {
      scope: "user_path",
      subject: "/kids",
      period: "day",
    });
    await sweepChildren(
      site.daemon.state,
      () => site.daemon.nowMs,
      () => Promise.resolve(),
    );
    t.same(
      site.at("/kids"),
      { ann: [0, 0, 1] },
      "only a child with a request in flight is still there",
    );
    end();
    await site.daemon.commit();
    t.same(site.at("/kids"), { ann: [0, 10, 0] });
    await site.admin("rate-limits.reset-one", {
      scope: "user_path",
      subject: "/kids",
      period: "day",
    });
  },
  (site, t) => {
    t.same(site.at("/kids"), {});
  },
);

row(
  "a deleted template is gone with its children, and made again they begin at zero",
  async (site) => {
    await site.put({ user_path: "/kids", per_child: true });
    await site.use("/kids/ann", 2);
    const end = await site.hold("/kids/bob");
    await site.daemon.snapshot();
    await site.admin("rate-limits.delete", { user_path: "/kids", ...day });
    t.equal(site.at("/kids"), null);
    await site.put({ user_path: "/kids", per_child: true });
    t.same(site.at("/kids"), {});
    end();
    await site.use("/kids/ann", 1);
  },
  (site, t) => {
    t.same(
      site.at("/kids"),
      { bob: [0, 10, 0], ann: [1, 10, 0] },
      "no slot is held, and none is given back twice",
    );
  },
);

row(
  "a switch between shared and per child begins clean, both ways",
  async (site) => {
    await site.put({ user_path: "/up" });
    await site.use("/up/ann", 3);
    await site.put({ user_path: "/down", per_child: true });
    await site.use("/down/ann", 3);
    await site.daemon.snapshot();
    await site.put({ user_path: "/up", per_child: true });
    await site.put({ user_path: "/down" });
    await site.use("/up/ann", 1);
  },
  (site, t) => {
    t.same([site.at("/up"), site.at("/down")], [{ ann: [1, 10, 0] }, [0, 0, 0]]);
  },
);

row(
  "a restart keeps the windows of rules and children and starts gauges at zero",
  async (site) => {
    await site.put({ user_path: "/a" });
    await site.put({ user_path: "/a", limit_key: { period: "concurrent" }, max_tokens: undefined });
    await site.put({ user_path: "/kids", per_child: true });
    await site.use("/a", 3);
    await site.use("/kids/ann", 2);
    await site.hold("/a");
    await site.hold("/kids/ann");
  },
  (site, t, restarted) => {
    t.same(
      [site.at("/a"), site.at("/a", 0), site.at("/kids")],
      restarted
        ? [[4, 30, 0], [0, 0, 0], { ann: [3, 20, 0] }]
        : [[4, 30, 1], [0, 0, 1], { ann: [3, 20, 1] }],
    );
  },
);
