import t from "tap";
import { RecentRefusals } from "../../../limiterd/rules/recent-refusals.js";
import { refusalBytesMax, refusalsMax } from "../../../shared/bounds.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Breach } from "../../../shared/domain/verdict.js";

const breach: Breach = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 60,
  dimension: "requests",
  cap: 2,
  waitSeconds: 43,
};
const gpt: Target = { provider: "openai", model: "gpt-4o" };

function refuse(
  refusals: RecentRefusals,
  admitId: number,
  { proxyId = "p1", atMs = admitId, targets = [gpt] as readonly Target[] } = {},
): void {
  refusals.add({
    atMs,
    proxyId,
    admitId,
    userPath: "/team",
    keyId: "",
    targets,
    submission: false,
    breach,
  });
}

t.test(
  "a refusal is found by its request id once the proxy has reported it, with all that was known",
  async (t) => {
    const refusals = new RecentRefusals();
    refuse(refusals, 7, { atMs: 5 });
    t.equal(refusals.find("req_1"), null);
    refusals.name("p1", 7, { requestId: "req_1", model: "smart" });
    t.same(refusals.find("req_1"), {
      atMs: 5,
      proxyId: "p1",
      admitId: 7,
      userPath: "/team",
      keyId: "",
      targets: [gpt],
      targetsLeftOut: 0,
      submission: false,
      breach,
      requestId: "req_1",
      model: "smart",
    });
  },
);

t.test("ids of two proxies don't mix, and what isn't known is ignored", async (t) => {
  const refusals = new RecentRefusals();
  refuse(refusals, 1, { proxyId: "p1", atMs: 10 });
  refuse(refusals, 1, { proxyId: "p2", atMs: 20 });
  refusals.name("p2", 1, { requestId: "b", model: "m" });
  refusals.name("p1", 1, { requestId: "a", model: "m" });
  refusals.name("p3", 9, { requestId: "c", model: "m" });
  t.same(
    ["a", "b", "c"].map((id) => refusals.find(id)?.atMs ?? null),
    [10, 20, null],
  );
});

t.test(
  "of refusals with one request id the latest is found, also when the earlier ones are forgotten",
  async (t) => {
    const refusals = new RecentRefusals(2);
    for (const id of [1, 2, 3]) {
      refuse(refusals, id);
      refusals.name("p1", id, { requestId: "mine", model: "m" });
      t.equal(refusals.find("mine")?.admitId, id);
    }
  },
);

t.test("the last ones are kept, named or not, and nothing of those before", async (t) => {
  t.equal(new RecentRefusals().max, refusalsMax);
  const refusals = new RecentRefusals(1000);
  const all = 1500;
  for (let id = 1; id <= all; id++) {
    refuse(refusals, id);
    if (id % 3 !== 0) refusals.name("p1", id, { requestId: `req_${id}`, model: "m" });
  }
  refusals.name("p1", 300, { requestId: "req_300", model: "m" });
  t.equal(refusals.find("req_300"), null, "it was gone before it was named");
  refusals.name("p1", all - (all % 3), { requestId: "late", model: "m" });
  t.equal(refusals.find("late")?.admitId, all - (all % 3));
  const found = Array.from({ length: all }, (_, i) => i + 1).filter(
    (id) => refusals.find(`req_${id}`) !== null,
  );
  t.equal(found[0], 502, "the 500 oldest are gone; 501 was never named");
  t.equal(found.length, 666, "of the 1,000 from 501 on, those that are no multiple of three");
});

t.test(
  "when an admit is repeated under the same id after a reconnect, its later refusal gets the name",
  async (t) => {
    const refusals = new RecentRefusals(2);
    refuse(refusals, 1, { atMs: 10 });
    refuse(refusals, 1, { atMs: 20 });
    refuse(refusals, 2);
    refusals.name("p1", 1, { requestId: "r", model: "m" });
    t.equal(refusals.find("r")?.atMs, 20);
  },
);

t.test("an entry is bounded in bytes: targets beyond it are counted, not kept", async (t) => {
  const refusals = new RecentRefusals();
  const targets = Array.from({ length: 64 }, (_, i) => ({
    provider: "p".repeat(100),
    model: `${i}`.padStart(412, "m"),
  }));
  refuse(refusals, 1, { targets });
  refuse(refusals, 2, {
    targets: [{ provider: "p", model: "m".repeat(refusalBytesMax * 2) }, gpt],
  });
  refusals.name("p1", 1, { requestId: "a", model: "m" });
  refusals.name("p1", 2, { requestId: "b", model: "m" });
  t.match(refusals.find("a"), { targets: { length: 4 }, targetsLeftOut: 60 });
  t.match(
    refusals.find("b"),
    { targets: { length: 1 }, targetsLeftOut: 1 },
    "the first one always",
  );
});

t.test("they are read newest first, from any number that is still kept", (t) => {
  const refusals = new RecentRefusals(3);
  const read = (below: number | null): unknown[] =>
    [...refusals.newestFirst(below)].map(([number, { admitId }]) => [number, admitId]);
  t.same(read(null), []);
  for (const id of [11, 12]) refuse(refusals, id);
  t.same(read(null), [
    [2, 12],
    [1, 11],
  ]);
  for (const id of [13, 14, 15]) refuse(refusals, id);
  t.same(read(null), [
    [5, 15],
    [4, 14],
    [3, 13],
  ]);
  t.same(read(4), [[3, 13]]);
  t.same(read(3), [], "the older ones are forgotten");
  t.same(read(0), []);
  t.same(read(99), read(null), "a number of an earlier life begins anew");
  t.end();
});

t.test("of refusals with one request id the latest is found", async (t) => {
  for (const [ids, latest] of [
    ["xxxy", 3],
    ["xyyy", 1],
    ["yyyx", 4],
    ["yyyyyx", 6],
    ["xxxxyyy", 4],
  ] as const) {
    const refusals = new RecentRefusals(5);
    for (const [i, requestId] of [...ids].entries()) {
      refuse(refusals, i + 1);
      refusals.name("p1", i + 1, { requestId, model: "" });
    }
    t.equal(refusals.find("x")!.admitId, latest, ids);
  }
});

t.test("a page of refusals begins below the number that is given", async (t) => {
  const refusals = new RecentRefusals(3);
  for (let id = 1; id <= 5; id++) refuse(refusals, id);
  const from = (below: number | null): readonly number[] =>
    [...refusals.newestFirst(below)].map(([number]) => number);
  t.same([null, 7, 6, 5, 4, 3].map(from), [[5, 4, 3], [5, 4, 3], [5, 4, 3], [4, 3], [3], []]);
});
