import t from "tap";
import {
  GatheredMetrics,
  type ProxyProcess,
} from "../../../../bin/supervisor/metrics/gathered-metrics.js";
import type {
  MetricsMessage,
  ReportedMetrics,
} from "../../../../shared/metrics/reported-metrics.js";

/** A proxy that answers with what the test sets; null: it is stuck. */
class FakeProxy implements ProxyProcess {
  own: ReportedMetrics | null;
  readonly got: MetricsMessage[] = [];
  readonly name: string;
  readonly all: GatheredMetrics;

  constructor(name: string, all: GatheredMetrics, requests: number, connections: number) {
    this.name = name;
    this.all = all;
    this.own = metricsOf(requests, connections);
    all.addProxy(this);
  }

  send(message: MetricsMessage): void {
    this.got.push(message);
    if (message.metrics === "report" && this.own !== null)
      this.all.receive(this, { metrics: "reported", id: message.id, ...this.own });
  }

  /** What a scrape of this proxy has: the sum of requests, and connections by label. */
  async scrape(): Promise<readonly [number, Readonly<Record<string, number>>]> {
    this.all.receive(this, { metrics: "ask", id: 7 });
    await new Promise((resolve) => setImmediate(resolve));
    const message = this.got.at(-1)!;
    if (message.metrics !== "all") throw new Error("it has no answer");
    t.equal(message.id, 7);
    return [
      message.counted[0]![2][0]!,
      Object.fromEntries(message.read.map(([, labels, values]) => [labels.join(), values[0]!])),
    ];
  }
}

function metricsOf(requests: number, connections: number): ReportedMetrics {
  return { counted: [["requests", ["a"], [requests]]], read: [["connections", [], [connections]]] };
}

/** Deadlines are over at once where `late` is called. */
function gathered(): { readonly all: GatheredMetrics; late(): void } {
  const timers: (() => void)[] = [];
  return {
    all: new GatheredMetrics((_ms, run) => void timers.push(run)),
    late() {
      for (const run of timers.splice(0)) run();
    },
  };
}

t.test("any proxy tells the sums of all, and what each reads of itself", async (t) => {
  const { all } = gathered();
  const first = new FakeProxy("proxy-1", all, 3, 10);
  const second = new FakeProxy("proxy-2", all, 4, 20);
  const expected = [7, { "proxy-1": 10, "proxy-2": 20 }];
  t.same(await first.scrape(), expected);
  t.same(await second.scrape(), expected);
});

t.test("one that is alone has no label", async (t) => {
  const { all } = gathered();
  t.same(await new FakeProxy("proxy", all, 3, 10).scrape(), [3, { "": 10 }]);
});

t.test("a sum doesn't fall when proxies are replaced, and end", async (t) => {
  const { all } = gathered();
  const old = new FakeProxy("proxy", all, 5, 10);
  const next = new FakeProxy("proxy", all, 1, 20);
  t.same(await next.scrape(), [6, { "finishing-1": 10, "": 20 }]);
  const third = new FakeProxy("proxy", all, 1, 30);
  t.same(await third.scrape(), [7, { "finishing-1": 10, "finishing-2": 20, "": 30 }]);
  // Its last word comes unasked.
  all.receive(old, { metrics: "reported", id: 0, ...metricsOf(9, 0) });
  all.removeProxy(old);
  t.same(await third.scrape(), [11, { "finishing-2": 20, "": 30 }]);
  all.removeProxy(next);
  t.same(await third.scrape(), [11, { "": 30 }]);
  all.receive(old, { metrics: "reported", id: 0, ...metricsOf(99, 0) });
  t.same(await third.scrape(), [11, { "": 30 }], "who has ended says nothing more");
});

t.test(
  "one that is killed counts with what it told last; one that never did, with nothing",
  async (t) => {
    const { all } = gathered();
    const first = new FakeProxy("proxy-1", all, 3, 10);
    const second = new FakeProxy("proxy-2", all, 4, 20);
    await first.scrape();
    second.own = metricsOf(6, 20);
    all.removeProxy(second);
    const again = new FakeProxy("proxy-2", all, 0, 21);
    t.same(await again.scrape(), [7, { "proxy-1": 10, "proxy-2": 21 }]);
    const silent = new FakeProxy("proxy-3", all, 1, 1);
    all.removeProxy(silent);
    t.same(await again.scrape(), [7, { "proxy-1": 10, "proxy-2": 21 }]);
  },
);

t.test("a stuck proxy holds up a scrape for a moment, and its sums stay", async (t) => {
  const { all, late } = gathered();
  const first = new FakeProxy("proxy-1", all, 3, 10);
  const second = new FakeProxy("proxy-2", all, 4, 20);
  await first.scrape();
  second.own = null;
  const scrape = first.scrape();
  late();
  t.same(await scrape, [7, { "proxy-1": 10 }]);
});

t.test("scrapes at the same time are one question to each proxy", async (t) => {
  const { all } = gathered();
  const first = new FakeProxy("proxy-1", all, 3, 10);
  for (const id of [1, 2]) all.receive(first, { metrics: "ask", id });
  await new Promise((resolve) => setImmediate(resolve));
  t.same(
    first.got.map(({ metrics, id }) => `${metrics} ${id}`),
    ["report 1", "all 1", "all 2"],
  );
});

t.test("messages about something else are passed over", async (t) => {
  const { all } = gathered();
  const first = new FakeProxy("proxy-1", all, 3, 10);
  const strange = [
    null,
    1,
    "x",
    {},
    { metrics: "reported" },
    { metrics: "reported", id: 1 },
    { id: 1 },
  ];
  for (const message of strange) all.receive(first, message);
  all.receive(first, { metrics: "reported", id: 1, counted: [1, ["a"], [1, 2, 3]], read: "no" });
  t.same(await first.scrape(), [3, { "proxy-1": 10 }]);
});

t.test("series that make no sense corrupt no sum, and are reported once", async (t) => {
  const odd: string[] = [];
  const all = new GatheredMetrics(
    () => {},
    (name) => void odd.push(name),
  );
  const first = new FakeProxy("proxy-1", all, 3, 10);
  const second = new FakeProxy("proxy-2", all, 4, 20);
  // As it could come over the channel.
  const text = JSON.stringify({ counted: [["requests", ["a"], ["9"]]], read: [] });
  second.own = JSON.parse(text) as ReportedMetrics;
  t.same(await first.scrape(), [3, { "proxy-1": 10 }]);
  all.removeProxy(second);
  t.same(await first.scrape(), [3, { "proxy-1": 10 }]);
  t.same(odd, ["proxy-2"]);
});
