import t from "tap";
import {
  type CountedVerdict,
  UnreadVerdicts,
  verdictsFromStored,
} from "../../limiterd/unread-verdicts.js";
import { leasesPerPeerMax } from "../../shared/bounds.js";

const verdict = (number: number, changes: Partial<CountedVerdict> = {}): CountedVerdict => ({
  connection: 2,
  number,
  userPath: "/team",
  target: { provider: "openai", model: "gpt-4o" },
  lsn: 100 + number,
  atMs: 5000,
  ...changes,
});

t.test("what is acknowledged is forgotten, and the rest is handed out once", async (t) => {
  const unread = new UnreadVerdicts();
  for (let number = 1; number <= 2000; number++) {
    unread.add(verdict(number));
    if (number % 3 === 0) unread.acknowledge(number - 2);
  }
  unread.acknowledge(3);
  t.equal(unread.size, 2000 - 1996);
  const left = [1997, 1998, 1999, 2000];
  t.same(
    unread.take().map(({ number }) => number),
    left,
  );
  t.same([unread.size, unread.take()], [0, []]);
  unread.add(verdict(2001));
  unread.acknowledge(2002);
  t.equal(unread.size, 0);
});

t.test("at the bound the oldest is forgotten", async (t) => {
  const unread = new UnreadVerdicts();
  for (let number = 1; number <= leasesPerPeerMax + 5; number++) unread.add(verdict(number));
  t.equal(unread.size, leasesPerPeerMax);
  t.equal(unread.take()[0]!.number, 6);
});

t.test("verdicts come back from the store as they went in, and nothing else does", async (t) => {
  const verdicts = [
    verdict(1),
    verdict(2, { userPath: null, target: { provider: "local", model: "" } }),
    verdict(3, { target: null }),
  ];
  const unread = new UnreadVerdicts();
  for (const one of verdicts) unread.add(one);
  const stored = unread.toStored();
  t.same(verdictsFromStored(stored), verdicts);
  t.same(verdictsFromStored([]), []);
  const change = (at: number, value: unknown) => stored.map((item, i) => (i === at ? value : item));
  for (const wrong of [
    stored.slice(1),
    stored.slice(0, -1),
    [...stored, 4],
    change(0, 0),
    change(1, "1"),
    change(2, 5),
    change(3, null),
    change(4, null),
    change(5, -1),
    change(6, 0.5),
  ])
    t.equal(verdictsFromStored(wrong), null);
});
