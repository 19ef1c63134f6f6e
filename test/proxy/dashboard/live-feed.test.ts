import t from "tap";
import { keepAliveMs, pagesPerTick, watchersMax } from "../../../proxy/bounds.js";
import { LiveFeed, type Watcher } from "../../../proxy/dashboard/live-feed.js";
import { type ListWatch, wholePage } from "../../../proxy/dashboard/live-lists.js";
import { failure } from "../../../shared/error-code.js";
import type { DaemonAnswer } from "../../../shared/wire/admin-op.js";
import { exactly } from "../../support/patterns/exactly.js";

interface LiveEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface FakeWatcher {
  readonly watcher: Watcher & { isReady: boolean };
  readonly received: LiveEvent[];
  comments: number;
  ended: boolean;
  may: boolean | null;
  leave(): void;
}

/** A rule, or a budget. */
interface Rule {
  readonly scope: "user_path";
  readonly subject: string;
  readonly period_seconds: number;
  requests_used: number;
}

const rule = (subject: string): Rule => ({
  scope: "user_path",
  subject,
  period_seconds: 60,
  requests_used: 0,
});

/** A daemon that counts what it is asked, and a clock that is turned by hand. */
class World {
  readonly asked: string[] = [];
  /** For each of these, the subtree for which it is asked. */
  readonly askedWithin: string[] = [];
  readonly refusalsAsked: unknown[] = [];
  status = { refused: 0, admitted: 0 };
  rules: Rule[] = [rule("/a"), rule("/b")];
  /** What the daemon takes for a list. */
  listMs = 0;
  periodRatio = 0.25;
  away = false;
  reachable = true;
  monoMs = 0;
  #timers: (() => void)[] = [];
  readonly feed = new LiveFeed({
    call: (op, body, within) => Promise.resolve(this.#answer(op, body, within)),
    reachable: () => this.reachable,
    setTimer: (_, run) => void this.#timers.push(run),
    monoMs: () => this.monoMs,
    nowMs: () => 0,
  });

  #answer(op: string, body: unknown, within: string): DaemonAnswer {
    this.askedWithin.push(within);
    this.asked.push(op);
    if (this.away) return { ok: false, failure: failure("limiter_unavailable", "it is away") };
    if (op === "status") return { ok: true, body: { ...this.status } };
    if (op === "rate-limits.list" || op === "budgets.list") {
      this.monoMs += this.listMs;
      const items = this.rules.map((each) => ({ ...each }));
      const budgets = items.map((item) => ({ ...item, period_ratio: this.periodRatio }));
      const page = { server_time: "now", next: null };
      const lists = op === "budgets.list" ? { budgets } : { rate_limits: items };
      return { ok: true, body: { ...lists, ...page } };
    }
    this.refusalsAsked.push(body);
    const { after, limit } = body as { after: string; limit: number };
    const newest = Math.min(Number(after) - 1, this.status.refused);
    const all = Array.from({ length: newest }, (_, i) => this.refusal(newest - i, within));
    const isSeen = ({ user_path: path }: { user_path: string }): boolean =>
      within === "/" || path === within;
    return { ok: true, body: { refusals: all.filter(isSeen).slice(0, limit) } };
  }

  /** Every third is of /a. */
  refusal(number: number, within = "/"): { number: number; user_path: string } {
    const above = within === "/" ? {} : { above: within };
    const user_path = number % 3 === 0 ? "/a" : "/b";
    return { number, request_id: `r${number}`, user_path, ...above } as never;
  }

  watch(key: string | null = null, list: ListWatch["list"] = "rules", within = "/"): FakeWatcher {
    const received: LiveEvent[] = [];
    const fake: FakeWatcher = {
      received,
      comments: 0,
      ended: false,
      may: true,
      watcher: {
        within,
        lists:
          key === null
            ? []
            : [{ list, within, key: `${within} ${list} ${key}`, parameters: { search: key } }],
        isReady: true,
        mayWatch: () => Promise.resolve(fake.may),
        write(bytes) {
          for (const block of bytes.toString().split("\n\n").slice(0, -1)) {
            if (block.startsWith(":")) {
              fake.comments++;
              continue;
            }
            const event = /^event: (\w+)$/m.exec(block)![1]!;
            received.push({ event, data: JSON.parse(/^data: (.*)$/m.exec(block)![1]!) });
          }
        },
        end() {
          fake.ended = true;
        },
      },
      leave: () => {},
    };
    fake.leave = this.feed.watch(fake.watcher);
    return fake;
  }

  /** Lets what is asked be answered. */
  async settle(): Promise<void> {
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  async tick(ms = 1000): Promise<void> {
    await this.settle();
    this.monoMs += ms;
    for (const run of this.#timers.splice(0)) run();
    await this.settle();
  }

  get waits(): boolean {
    return this.#timers.length > 0;
  }
}

const events = ({ received }: FakeWatcher): readonly string[] => received.map(({ event }) => event);
const ruleEvents = ({ received }: FakeWatcher): readonly unknown[] =>
  received.filter(({ event }) => event === "rules").map(({ data }) => data);

t.test("one request serves all viewers, and none is sent without viewers", async (t) => {
  const world = new World();
  const watchers = Array.from({ length: 5 }, () => world.watch("same"));
  await world.settle();
  t.same(world.asked, ["status", "rate-limits.list"]);
  for (const watcher of watchers) t.same(events(watcher), ["tick", "rules"]);
  t.match(watchers[0]!.received[0], {
    data: { server_time: "1970-01-01T00:00:00.000Z", status: { admitted: 0 } },
  });
  await world.tick();
  t.equal(world.asked.length, 4);
  for (const { leave } of watchers) leave();
  await world.tick();
  t.notOk(world.waits, "the last one has left");
  const { length } = world.asked;
  await world.tick();
  t.equal(world.asked.length, length);
  t.same(events(world.watch()), []);
  await world.settle();
  t.ok(world.waits, "and the next one begins it anew");
});

t.test("of a page's rules only those that have changed are sent", async (t) => {
  const world = new World();
  const first = world.watch("page");
  await world.tick();
  t.match(
    ruleEvents(first),
    exactly([{ whole: true, rate_limits: { length: 2 } }]),
    "nothing has changed",
  );
  world.rules[1]!.requests_used = 5;
  const late = world.watch("page");
  await world.tick();
  t.match(
    ruleEvents(first)[1],
    exactly({
      whole: false,
      rate_limits: [{ subject: "/b", requests_used: 5 }],
    }),
  );
  t.match(ruleEvents(late), exactly([{ whole: true, rate_limits: { length: 2 } }]));
  for (const rules of [[rule("/a")], [rule("/a"), rule("/c")], [rule("/c"), rule("/a")], []]) {
    world.rules = rules;
    await world.tick();
    t.match(ruleEvents(first).at(-1), { whole: true, rate_limits: { length: rules.length } });
  }
});

t.test("a page of budgets is sent like one of rules, but not as time passes", async (t) => {
  const world = new World();
  const watcher = world.watch("page", "budgets");
  await world.tick();
  world.rules[0]!.requests_used = 1;
  await world.tick();
  world.periodRatio = 0.5;
  await world.tick();
  const received = watcher.received
    .filter(({ event }) => event === "budgets")
    .map(({ data }) => data);
  const page = { server_time: "now", next: null };
  const early = { period_ratio: 0.25 };
  t.same(received, [
    {
      whole: true,
      ...page,
      budgets: [
        { ...rule("/a"), ...early },
        { ...rule("/b"), ...early },
      ],
    },
    { whole: false, ...page, budgets: [{ ...rule("/a"), ...early, requests_used: 1 }] },
  ]);
  t.same(ruleEvents(watcher), []);
});

t.test("a page is asked for until it is full, or the last", async (t) => {
  const asked: unknown[] = [];
  // A daemon that looks at two rules at once, of which a search may find none.
  const pages = [[], ["/a", "/b"], ["/c"], ["/d"]].map((subjects) => subjects.map(rule));
  const call = (_: string, body: unknown): Promise<DaemonAnswer> => {
    asked.push(body);
    const rate_limits = pages[asked.length - 1]!;
    const next = asked.length === pages.length ? null : `${asked.length}`;
    return Promise.resolve({ ok: true, body: { rate_limits, server_time: "now", next } });
  };
  const watch = {
    list: "rules",
    within: "/",
    key: "",
    parameters: { limit: 3, search: "x" },
  } as const;
  const page = await wholePage(watch, call);
  t.match(
    page,
    exactly({ items: [{ subject: "/a" }, { subject: "/b" }, { subject: "/c" }], next: "3" }),
  );
  t.same(asked, [
    { limit: 3, search: "x" },
    { limit: 3, search: "x", after: "1" },
    { limit: 1, search: "x", after: "2" },
  ]);
  asked.length = 0;
  t.match(await wholePage({ ...watch, parameters: {} }, call), {
    items: { length: 4 },
    next: null,
  });
  const away = { ok: false, failure: failure("limiter_unavailable", "it is away") } as const;
  t.equal(await wholePage(watch, () => Promise.resolve(away)), null);
});

t.test("a page that takes the daemon long is asked for less often", async (t) => {
  const world = new World();
  const asked = (): number => world.asked.filter((op) => op === "rate-limits.list").length;
  world.listMs = 70;
  world.watch("page");
  await world.settle();
  t.equal(asked(), 1);
  for (let ms = 1000; ms <= 3000; ms += 1000) await world.tick();
  t.equal(asked(), 1, "it rests");
  await world.tick();
  t.equal(asked(), 2);
});

t.test("a slow reader misses ticks, and gets the whole page again", async (t) => {
  const world = new World();
  const slow = world.watch("page");
  const quick = world.watch("page");
  await world.settle();
  slow.watcher.isReady = false;
  world.rules[0]!.requests_used = 1;
  for (let i = 0; i < 3; i++) await world.tick();
  t.equal(slow.received.length, 2, "nothing is queued for it");
  t.equal(events(quick).filter((event) => event === "tick").length, 4);
  slow.watcher.isReady = true;
  await world.tick();
  t.match(
    ruleEvents(slow).at(-1),
    exactly({ whole: true, rate_limits: [{ requests_used: 1 }, {}] }),
  );
});

t.test("each refusal is sent once, and beyond a bound only their number", async (t) => {
  const world = new World();
  world.status.refused = 7;
  const watcher = world.watch();
  const numbers = (): unknown[] =>
    watcher.received.filter(({ event }) => event === "refused").map(({ data }) => data);
  await world.settle();
  t.same(numbers(), [], "not those from before");
  world.status.refused = 9;
  await world.tick();
  t.match(numbers(), exactly([{ number: 8 }, { number: 9 }]), "the oldest first");
  t.same(world.refusalsAsked, [{ after: "10", limit: 2 }]);
  await world.tick();
  t.equal(numbers().length, 2);
  world.status.refused = 109;
  await world.tick();
  t.match(numbers().slice(-2), exactly([{ number: 109 }, { more: 80 }]));
  t.equal(numbers().length, 2 + 21);
  world.status.refused = 1;
  await world.tick();
  t.match(numbers().at(-1), { number: 1 }, "of another daemon, which counts anew");
});

t.test("a role for a subtree is sent what is in it, as it may see it, and no counts", async (t) => {
  const world = new World();
  world.status = { ...world.status, version: "1", admitted: 7, refused: 3 } as never;
  const watcher = world.watch("x", "rules", "/a");
  const all = world.watch("x");
  const other = world.watch(null, "rules", "/c");
  await world.settle();
  world.status.refused = 9;
  await world.tick();
  const status = { version: "1" };
  const tick = { server_time: "1970-01-01T00:00:00.000Z", status };
  for (const { received } of [watcher, other])
    for (const { event, data } of received) if (event === "tick") t.same(data, tick);
  t.same(
    watcher.received.filter(({ event }) => event === "refused").map(({ data }) => data),
    [world.refusal(6, "/a"), world.refusal(9, "/a")],
  );
  t.equal(all.received.filter(({ event }) => event === "refused").length, 6);
  t.same(events(other), ["tick", "tick"]);
  world.status.refused = 109;
  await world.tick();
  const [more, ...rest] = [watcher, all, other].map(
    ({ received }) => received.filter(({ data }) => "more" in data).length,
  );
  t.same([more, ...rest], [0, 1, 0], "how many others were refused isn't for it");
  t.ok(events(watcher).includes("rules"));
  t.ok(world.askedWithin.includes("/a"), "its page is asked for its subtree");
});

t.test("roles for subtrees leave half of the places to others", async (t) => {
  const world = new World();
  for (let i = 0; i < watchersMax / 2; i++) world.watch(null, "rules", `/tenants/${i}`);
  t.equal(world.feed.isFullFor("/tenants/x"), true);
  t.equal(world.feed.isFullFor("/"), false);
});

t.test("the daemon's absence and return are sent once each", async (t) => {
  const world = new World();
  const watcher = world.watch("page");
  await world.settle();
  world.away = true;
  for (let i = 0; i < 3; i++) await world.tick();
  t.same(events(watcher), ["tick", "rules", "lost"]);
  t.match(watcher.received.at(-1), { data: { message: "it is away" } });
  for (let ms = 0; ms < keepAliveMs; ms += 5000) await world.tick(5000);
  t.equal(watcher.comments, 1, "meanwhile a comment keeps the connection");
  t.notOk(watcher.ended);
  world.away = false;
  world.reachable = false;
  const { length } = world.asked;
  await world.tick();
  t.equal(world.asked.length, length, "what isn't there isn't asked");
  world.reachable = true;
  world.status.refused = 40;
  await world.tick();
  t.same(events(watcher).slice(3), ["back", "tick"], "what it missed isn't told as news");
});

t.test("a stream ends with its session, before anything more is sent", async (t) => {
  const world = new World();
  const ending = world.watch("page");
  const unsure = world.watch("page");
  await world.settle();
  ending.may = false;
  unsure.may = null;
  await world.tick();
  t.same(events(ending), ["tick", "rules", "ended"]);
  t.ok(ending.ended);
  t.equal(world.feed.watchers, 1);
  t.same(events(unsure).at(-1), "tick", "while nobody can say, nobody is signed out");
});

t.test("so many may watch, and a proxy that stops ends them all", async (t) => {
  const world = new World();
  const watchers = Array.from({ length: watchersMax }, () => world.watch());
  t.ok(world.feed.isFullFor("/"));
  watchers[0]!.leave();
  t.notOk(world.feed.isFullFor("/"));
  await world.settle();
  world.feed.close();
  t.ok(world.feed.isFullFor("/"), "nobody begins to watch then");
  t.ok(watchers.slice(1).every(({ ended }) => ended));
  await world.tick();
  t.notOk(world.waits);
});

t.test("of many different pages a few are asked for in each tick, in turns", async (t) => {
  const world = new World();
  const watchers = Array.from({ length: 10 }, (_, i) => world.watch(`page ${i}`));
  await world.settle();
  for (let ticks = 1; ticks <= 5; ticks++) {
    t.equal(world.asked.filter((op) => op === "rate-limits.list").length, ticks * pagesPerTick);
    for (const each of world.rules) each.requests_used++;
    await world.tick();
  }
  const counts = watchers.map((watcher) => ruleEvents(watcher).length);
  t.ok(
    counts.every((count) => count >= 2),
    `all come round: ${counts.join(" ")}`,
  );
});
