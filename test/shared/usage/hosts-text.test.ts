import t from "tap";
import { ageText, hostsText, spentElsewhereText } from "../../../shared/usage/hosts-text.js";

const all = { scope: "all_hosts", count: 3, oldest_seconds: 4.2, complete: true } as const;

t.test("a report's hosts are named with the age of the oldest part", async (t) => {
  t.equal(hostsText(all), "of 3 hosts, as of 4 s ago");
  t.equal(hostsText({ ...all, oldest_seconds: 0.3 }), "of 3 hosts, as of now");
  t.equal(hostsText({ ...all, count: 1 }), "of this host, the only one so far");
  t.equal(
    hostsText({ ...all, complete: false }),
    "of 3 hosts, as of 4 s ago; some have yet to publish all of theirs",
  );
  t.equal(
    hostsText({ ...all, scope: "this_host", reason: "the engine is away" }),
    "of this host alone: the engine is away",
  );
});

t.test("for budgets the text has the oldest figure, and whether one is unknown", async (t) => {
  const of = (...ages: (number | null)[]): string | null =>
    spentElsewhereText(ages.map((age_seconds) => ({ other_hosts: { age_seconds } })));
  t.equal(spentElsewhereText([{}, {}]), null, "hosts share none");
  t.equal(of(0, 0), "with what other hosts have spent, as of now");
  t.equal(of(0, 75, 3), "with what other hosts have spent, as of 75 s ago");
  t.equal(of(0, null), "of some budgets it isn't known yet what other hosts have spent");
});

t.test("an age has one unit", async (t) => {
  for (const [seconds, text] of [
    [0.9, "now"],
    [119, "119 s ago"],
    [120, "2 min ago"],
    [7200, "2 h ago"],
    [172_800, "2 days ago"],
  ] as const)
    t.equal(ageText(seconds), text);
});
