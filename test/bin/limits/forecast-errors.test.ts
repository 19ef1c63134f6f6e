/** Forecasts of past periods against what was spent. */
import t from "tap";
import { type CheckedBudget, ForecastCheck } from "../../../bin/limits/forecast-errors.js";

const hour = 3_600_000;
const day = 24 * hour;
const todayMs = Date.UTC(2026, 10, 29);
const budget: CheckedBudget = {
  scope: "user_path",
  subject: "/team",
  perChild: false,
  periodLabel: "daily",
  periodSeconds: 86_400,
  amountUsd: 100,
  endMs: todayMs + day,
};

/** A dollar an hour on each of ten days, in the hours that `isBusy` says. */
function check(budgets: readonly CheckedBudget[], isBusy: (hourOfDay: number) => boolean) {
  const forecasts = new ForecastCheck(budgets);
  for (let atMs = todayMs - 10 * day; atMs < todayMs; atMs += hour / 2)
    if (isBusy(new Date(atMs).getUTCHours()))
      for (const [userPath, labels] of [
        ["/team/app", ["red"]],
        ["/other", []],
      ] as const)
        forecasts.add({ userPath, labels, atMs, costUsd: 0.5 });
  return forecasts.result(todayMs + hour);
}

t.test("an even spend is foreseen, by each pace", async (t) => {
  const [even] = check([budget], () => true);
  t.match(even, { periods: 10, chosen: { predictions: 50 } });
  for (const errors of [even!.chosen, even!.recent, even!.period]) t.ok(errors.p90! < 0.15);
});

t.test("office hours are foreseen worse, and the figures say so", async (t) => {
  const [office] = check([budget], (at) => at >= 9 && at < 17);
  t.ok(office!.recent.p90! > 0.5, `${office!.recent.p90}`);
  t.ok(office!.period.median! > 0.1);
});

t.test("labels and each child of a template are checked for themselves", async (t) => {
  const [label, children] = check(
    [
      { ...budget, scope: "label", subject: "red" },
      { ...budget, subject: "/", perChild: true },
    ],
    () => true,
  );
  t.equal(label!.periods, 10);
  t.equal(children!.periods, 20, "two children");
});

t.test("months keep their day, and what can't be judged is left out", async (t) => {
  const monthly = { ...budget, periodSeconds: 2_592_000, endMs: Date.UTC(2026, 11, 1) };
  t.same(
    check([monthly, { ...budget, amountUsd: 1 }, { ...budget, subject: "/none" }], () => true).map(
      ({ periods, chosen }) => [periods, chosen.median],
    ),
    [
      [0, null],
      [0, null],
      [0, null],
    ],
    "no whole month, refused spend, no spend",
  );
});
