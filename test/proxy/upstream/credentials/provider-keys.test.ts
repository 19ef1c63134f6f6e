import fc from "fast-check";
import t from "tap";
import { ProviderKeys, refusesKey } from "../../../../proxy/upstream/credentials/provider-keys.js";

function ring(weights: Readonly<Record<string, number>>) {
  const clock = { nowMs: 0 };
  const keys = new ProviderKeys(
    Object.entries(weights).map(([key, weight]) => ({ key, weight })),
    { monoMs: () => clock.nowMs },
  );
  const chosen = (count: number): string =>
    Array.from({ length: count }, () => keys.choose() ?? "-").join("");
  return { clock, keys, chosen };
}

t.test("keys take turns by their weights, evenly spread", async (t) => {
  t.equal(ring({ a: 1, b: 1 }).chosen(4), "abab");
  t.equal(ring({ a: 5, b: 1, c: 1 }).chosen(7), "aabacaa");
  t.equal(ring({ a: 1 }).chosen(2), "aa");
  t.equal(ring({}).chosen(1), "-");
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 }),
      (list) => {
        const weights = Object.fromEntries(
          list.map((weight, i) => [String.fromCharCode(97 + i), weight]),
        );
        const all = ring(weights).chosen(list.reduce((sum, weight) => sum + weight, 0));
        return Object.entries(weights).every(
          ([key, weight]) => all.split(key).length - 1 === weight,
        );
      },
    ),
  );
});

t.test(
  "a refused key rests; when all rest, the one whose rest is over first is used",
  async (t) => {
    const { clock, keys, chosen } = ring({ a: 1, b: 1, c: 1 });
    keys.noteRefusal("a", 429, 3000);
    t.equal(chosen(4), "bcbc");
    t.ok(keys.hasReady());
    keys.noteRefusal("b", 429, null);
    keys.noteRefusal("c", 401, null);
    t.notOk(keys.hasReady());
    t.equal(chosen(2), "aa");
    clock.nowMs = 3000;
    t.equal(chosen(2), "aa");
    clock.nowMs = 10_000;
    t.match(chosen(4), /^(?:abab|baba)$/, "10 s after a 429 that doesn't say");
    clock.nowMs = 60_000;
    t.match(chosen(3), /c/, "a minute after a refusal");
    keys.noteRefusal("a", 429, Infinity);
    clock.nowMs = 60_000 + 5 * 60_000;
    t.match(chosen(3), /a/, "five minutes at the longest");
    t.notOk(ring({ a: 1 }).keys.hasReady(), "one alone has no other");
  },
);

t.test(
  "a key that is read can be missing, stays when it can't be read again, and is renewed",
  async (t) => {
    let renewals = 0;
    const keys = new ProviderKeys([], { monoMs: () => 0, renew: () => renewals++ });
    t.match(keys.missing, /hasn't been read yet/);
    keys.replaceKeys(null, "no file");
    t.equal(keys.missing, "no file");
    keys.replaceKeys([{ key: "first", weight: 1 }], "");
    t.equal(keys.missing, null);
    t.equal(keys.choose(), "first");
    keys.replaceKeys(null, "no file");
    t.same([keys.missing, keys.choose()], [null, "first"]);
    keys.noteRefusal("first", 429, null);
    t.equal(renewals, 0);
    keys.noteRefusal("first", 401, null);
    t.equal(renewals, 1);
    keys.replaceKeys([{ key: "second", weight: 1 }], "");
    t.equal(keys.choose(), "second");
    t.ok(keys.wantsRefusals);
  },
);

t.test("which statuses refuse a key", async (t) => {
  for (const status of [401, 402, 403, 429]) t.ok(refusesKey(status));
  for (const status of [200, 400, 404, 500]) t.notOk(refusesKey(status));
});
