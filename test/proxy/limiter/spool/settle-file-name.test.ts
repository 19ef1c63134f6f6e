import t from "tap";
import {
  fileName,
  isForgotten,
  isFree,
  parseFileName,
} from "../../../../proxy/limiter/spool/settle-directory.js";

const id = "6f8ac1f2-0000-4000-8000-000000000001";
const dayMs = 24 * 3_600_000;
const nowMs = 1_767_225_600_000;

t.test("a name says whose settles a file holds, and who delivers it", async (t) => {
  for (const takenBy of [null, "", "other-1"])
    t.same(parseFileName(fileName({ proxyId: id, takenBy })), { proxyId: id, takenBy });
  for (const name of [
    "x",
    `${id}.settles.part`,
    `${id}.settles.refused`,
    ".settles",
    `${id}.settles~a b`,
    `../${id}.settles`,
    `${"p".repeat(65)}.settles`,
  ])
    t.equal(parseFileName(name), null, name);
});

t.test("a file is free if no proxy delivers it, or has touched it lately", async (t) => {
  for (const [takenBy, touchedAgoMs, free] of [
    [null, 0, true],
    ["", 0, true],
    ["other", 0, false],
    ["other", 10_000, false],
    ["other", 10_001, true],
    // The clock has stepped back.
    ["other", -dayMs, false],
  ] as const)
    t.equal(isFree({ proxyId: id, takenBy }, nowMs - touchedAgoMs, nowMs), free);
});

t.test(
  "settles that may have been sent are delivered as long as the daemon knows of it",
  async (t) => {
    for (const [sentAgoDays, triedAgoDays, forgotten] of [
      [null, null, false],
      [5.9, null, false],
      [6.1, null, true],
      [6.1, 1, false],
      [20, 6.1, true],
      [null, 6.1, true],
      [null, 5.9, false],
      [6, null, false],
      [6 + 1 / dayMs, null, true],
      [null, 6, false],
      [-1, null, false],
    ] as const) {
      const before = (days: number | null): number | null =>
        days === null ? null : nowMs - days * dayMs;
      t.equal(
        isForgotten({ sentAtMs: before(sentAgoDays) ?? 0 }, before(triedAgoDays), nowMs),
        forgotten,
        `${sentAgoDays} ${triedAgoDays}`,
      );
    }
  },
);
