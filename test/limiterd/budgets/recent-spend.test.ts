/** The spend of the last two hours, in steps of five minutes. */
import t from "tap";
import { type Account, newAccount, newBudget } from "../../../limiterd/budgets/budget-account.js";
import { RecentSpend } from "../../../limiterd/budgets/recent-spend.js";

const usd = 1e12;
const minute = 60_000;
const startMs = Date.UTC(2026, 10, 29);

function account(subject = "/team"): Account {
  const budget = newBudget(
    subject,
    {
      definition: {
        scope: "user_path",
        subject,
        periodSeconds: 86_400,
        amountUsd: 10,
        perChild: false,
      },
      source: "config",
      createdAtMs: 0,
      updatedAtMs: 0,
      sinceMs: 0,
      sinceKey: 0,
      isBackfilling: false,
    },
    { atMs: null, resets: [] },
  );
  return newAccount(budget, "");
}

t.test("what is older than two hours no longer counts", async (t) => {
  const recent = new RecentSpend();
  recent.begin(startMs);
  const team = account();
  const paceAt = (minutes: number) => recent.recentPace(team, startMs + minutes * minute);
  recent.add(team, usd, startMs + minute);
  t.same(paceAt(30), { usd: 1, seconds: 1800 });
  recent.add(team, 2 * usd, startMs + 31 * minute);
  t.same(paceAt(119), { usd: 3, seconds: 119 * 60 });
  t.same(paceAt(122), { usd: 2, seconds: 117 * 60 }, "the first step has left");
  t.same(paceAt(150), { usd: 0, seconds: 115 * 60 });
  recent.add(team, usd, startMs + 600 * minute);
  t.same(paceAt(600), { usd: 1, seconds: 115 * 60 }, "the steps between are empty");
  t.same(paceAt(601), { usd: 1, seconds: 116 * 60 });
});

t.test("an account without spend has a pace of 0 since the start", async (t) => {
  const recent = new RecentSpend();
  t.equal(recent.recentPace(account(), startMs), null, "nothing is known before the start");
  recent.begin(startMs);
  t.equal(recent.recentPace(account(), startMs), null);
  t.same(recent.recentPace(account(), startMs + 45 * minute), { usd: 0, seconds: 2700 });
});

t.test("an estimate that is taken back leaves the sum, and a cost of null isn't one", async (t) => {
  const recent = new RecentSpend();
  const team = account();
  recent.add(team, 3 * usd, startMs);
  recent.add(team, null, startMs);
  recent.add(team, -2 * usd, startMs + 10 * minute);
  t.equal(recent.recentPace(team, startMs + 20 * minute)!.usd, 1);
});

t.test("a clock that is set back loses nothing and ends nothing", async (t) => {
  const recent = new RecentSpend();
  const team = account();
  recent.add(team, usd, startMs);
  recent.add(team, usd, startMs - 30 * minute);
  t.equal(recent.recentPace(team, startMs - 30 * minute), null);
  t.equal(recent.recentPace(team, startMs + 10 * minute)!.usd, 2);
});

t.test("beyond the bound, the first account loses its sums, and its pace is unknown", async (t) => {
  const recent = new RecentSpend(2);
  const [a, b, c] = [account("/a"), account("/b"), account("/c")];
  recent.begin(startMs);
  for (const each of [a, b]) recent.add(each, usd, startMs + minute);
  recent.add(c, usd, startMs + 60 * minute);
  t.equal(recent.recentPace(a, startMs + 60 * minute), null);
  t.match(recent.recentPace(a, startMs + 70 * minute), { usd: 0, seconds: 600 });
  t.match(recent.recentPace(b, startMs + 70 * minute), { usd: 1, seconds: 4200 });
  t.same([...recent.active(startMs + 70 * minute)], [b, c]);
  t.same([...recent.active(startMs + 150 * minute)], [c]);
  t.equal(b.recent, null);
});
