/** What of the soak is pure: its mix of requests, and its plan of faults. */
import t from "tap";
import { faultText, planFaults, watchedFrom, watchedTo } from "./fault-plan.js";
import { kindNameOf, kindOf, kinds, numberIn, requestOf, tokensOf, userPathOf } from "./mix.js";
import { heapsIn } from "./samples.js";

t.test("the shares of the kinds are of a thousand, and numbers are spread by them", async (t) => {
  t.equal(
    Object.values(kinds).reduce((sum, { share }) => sum + share, 0),
    1000,
  );
  const requests = 100_000;
  const counts = new Map<string, number>();
  for (let n = 0; n < requests; n++)
    counts.set(kindNameOf(n), (counts.get(kindNameOf(n)) ?? 0) + 1);
  for (const [name, { share }] of Object.entries(kinds)) {
    const expected = (share * requests) / 1000;
    const found = counts.get(name) ?? 0;
    t.ok(Math.abs(found - expected) < 6 * Math.sqrt(expected), `${name}: ${found} of ${expected}`);
  }
});

t.test(
  "the provider finds a request's number in whatever is sent, but for those that come again",
  async (t) => {
    for (let n = 0; n < 3_000; n++) {
      const { body } = requestOf(n);
      const expected = kindNameOf(n) === "asked again" ? null : n;
      if (numberIn(body) !== expected) t.fail(`${n}: ${body}`);
    }
  },
);

t.test("what a request is follows from its number alone", async (t) => {
  const callOf = (n: number): unknown => [kindOf(n), requestOf(n), userPathOf(n), tokensOf(n)];
  for (const n of [0, 1, 77, 123_456, 1_080_000]) t.same(callOf(n), callOf(n));
});

for (const [minutes, proxies] of [
  [1, 3],
  [10, 2],
  [60, 3],
  [60, 1],
] as const)
  t.test(`the faults of ${minutes} minutes with ${proxies} proxies`, async (t) => {
    const seconds = minutes * 60;
    const plan = planFaults(seconds, proxies);
    t.ok(plan.length >= 8, `${plan.length} faults`);
    for (const [i, { atS }] of plan.entries()) {
      t.ok(atS > 0 && atS < seconds, `${atS} s`);
      if (i > 0) t.ok(atS - plan[i - 1]!.atS >= 5, "apart");
    }
    const watched = plan.filter(
      ({ atS }) => atS > seconds * watchedFrom && atS < seconds * watchedTo,
    );
    t.same(
      watched.filter(
        ({ fault }) =>
          fault.kind === "reload" ||
          ((fault.kind === "kill" || fault.kind === "stop") && fault.process === "limiterd"),
      ),
      [],
      "while memory is watched, the daemon lives",
    );
    const names = new Set(plan.map(({ fault }) => faultText(fault)));
    t.ok(names.has("kill −9 of limiterd"));
    if (minutes === 60 && proxies === 3) t.equal(names.size, 18, [...names].join(", "));
  });

t.test("a scrape tells of the heap of each proxy", async (t) => {
  const lines = [
    "# TYPE process_start_time_seconds gauge",
    'process_start_time_seconds{proxy="1"} 1700000000.5',
    'process_start_time_seconds{proxy="2"} 1700000001',
    'nodejs_heap_size_used_bytes{proxy="1"} 20000000',
    'nodejs_heap_size_used_bytes{proxy="2"} 3e7',
  ];
  t.same(heapsIn(lines.join("\n")), [
    { proxy: "1", heapBytes: 2e7, startedAtS: 1700000000.5 },
    { proxy: "2", heapBytes: 3e7, startedAtS: 1700000001 },
  ]);
  t.same(heapsIn("nodejs_heap_size_used_bytes 5\nprocess_start_time_seconds 7\n"), [
    { proxy: "", heapBytes: 5, startedAtS: 7 },
  ]);
});
