/** When a budget runs out, by its recent pace and by that of its period. */
import t from "tap";
import { forecastBy, forecastFromMs, forecastOf } from "../../../shared/domain/forecast.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A quarter of a day has elapsed and half of $10 is spent. */
const daily = {
  nowMs: 6 * hourMs,
  startMs: 0,
  endMs: dayMs,
  amountUsd: 10,
  spentUsd: 5,
  recent: null,
};

t.test("without recent spend, the pace of the period goes on", async (t) => {
  t.same(forecastOf({ ...daily, spentUsd: 1 }), {
    basis: "period",
    basisSeconds: 6 * 3600,
    usdPerHour: 1 / 6,
    exhaustsAtMs: null,
    projectedUsd: 4,
  });
  t.match(forecastOf(daily), { exhaustsAtMs: 12 * hourMs, projectedUsd: 20 });
});

t.test("half an hour of recent spend beats the pace of a day", async (t) => {
  const recent = { usd: 2, seconds: 3600 };
  t.match(forecastOf({ ...daily, recent }), {
    basis: "recent",
    basisSeconds: 3600,
    usdPerHour: 2,
    exhaustsAtMs: 8.5 * hourMs,
    projectedUsd: 41,
  });
  t.match(forecastOf({ ...daily, recent: { usd: 0, seconds: 7200 } }), {
    basis: "recent",
    exhaustsAtMs: null,
    projectedUsd: 5,
  });
  t.match(forecastOf({ ...daily, recent: { usd: 2, seconds: 1799 } }), { basis: "period" });
});

t.test("in a month, two busy hours count only if the amount runs out within a day", async (t) => {
  // Ten days of a month of 30, of which a third is spent.
  const month = { ...daily, nowMs: 10 * dayMs, endMs: 30 * dayMs, amountUsd: 300, spentUsd: 100 };
  const busy = { usd: 4, seconds: 7200 };
  t.match(forecastOf({ ...month, recent: busy }), { basis: "period", projectedUsd: 300 });
  const runaway = { usd: 100, seconds: 7200 };
  t.match(forecastOf({ ...month, recent: runaway }), {
    basis: "recent",
    exhaustsAtMs: 10 * dayMs + 4 * hourMs,
  });
  const young = { ...month, nowMs: 20 * hourMs, spentUsd: 10 };
  t.match(forecastOf({ ...young, recent: busy }), { basis: "recent" }, "the period is too young");
});

t.test("a period of two hours or less has its own pace alone", async (t) => {
  const hourly = { ...daily, nowMs: hourMs / 2, endMs: hourMs, spentUsd: 6 };
  const recent = { usd: 0, seconds: 7200 };
  t.match(forecastOf({ ...hourly, recent }), { basis: "period", projectedUsd: 12 });
});

t.test("nothing is said where too little is known", async (t) => {
  t.equal(forecastOf({ ...daily, spentUsd: 0 }), null, "nothing was spent");
  t.equal(forecastOf({ ...daily, nowMs: dayMs * 0.019 }), null, "the period has just begun");
  t.equal(forecastOf({ ...daily, nowMs: -1 }), null, "the clock was set back");
  t.equal(forecastBy("recent", daily), null);
});

t.test("a period that has just begun goes on at the pace of the hours before", async (t) => {
  const recent = { usd: 2, seconds: 7200 };
  const begun = { ...daily, nowMs: 60_000, spentUsd: 0, recent };
  t.match(forecastOf(begun), { basis: "recent", usdPerHour: 1, projectedUsd: 24 - 1 / 60 });
  t.match(forecastOf({ ...begun, spentUsd: 1 }), { basis: "recent" });
  t.equal(forecastOf({ ...begun, recent: { usd: 0, seconds: 7200 } }), null, "nothing is spent");
});

t.test("until too little is known, it is said from when on there is a forecast", async (t) => {
  const begun = { ...daily, nowMs: 600_000, spentUsd: 1 };
  t.equal(forecastFromMs(begun), 0.02 * dayMs, "a fiftieth of the period");
  const started = { usd: 1, seconds: 600 };
  t.equal(forecastFromMs({ ...begun, recent: started }), 0.02 * dayMs);
  t.equal(forecastFromMs({ ...begun, endMs: 30 * dayMs, recent: started }), 1_800_000);
  t.equal(forecastFromMs(daily), null, "there is one");
  t.equal(forecastFromMs({ ...begun, spentUsd: 0 }), null, "nothing was spent");
});

t.test("a spent budget has run out now, and none runs out after its period", async (t) => {
  t.match(forecastOf({ ...daily, spentUsd: 10 }), { exhaustsAtMs: daily.nowMs });
  t.match(forecastOf({ ...daily, spentUsd: 2.5 }), {
    exhaustsAtMs: dayMs,
    projectedUsd: 10,
  });
  for (let spentUsd = 0.5; spentUsd < 10; spentUsd += 0.5) {
    const forecast = forecastOf({ ...daily, spentUsd })!;
    t.equal(forecast.exhaustsAtMs !== null, forecast.projectedUsd >= 10, `${spentUsd}`);
  }
});
