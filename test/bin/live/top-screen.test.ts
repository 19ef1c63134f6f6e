import fc from "fast-check";
import t from "tap";
import { countLines, drawTop, selectedItem, type TopData } from "../../../bin/live/top-screen.js";
import { firstState, tabs } from "../../../bin/live/top-state.js";
import { displayWidth } from "../../../bin/text/display-width.js";
import { exactly } from "../../support/patterns/exactly.js";

const rule = (subject: string, used: number): Readonly<Record<string, unknown>> => ({
  scope: "user_path",
  subject,
  period_label: "minute",
  period_seconds: 60,
  max_requests: 10,
  requests_used: used,
  tokens_used: 0,
  in_flight: 0,
});
const data: TopData = {
  before: { atMs: 1000, admitted: 10, refused: 0, tokens: 0 },
  now: { atMs: 3000, admitted: 30, refused: 1, tokens: 100 },
  inFlight: 7,
  spentTodayUsd: 1.5,
  storeFailing: null,
  lost: null,
  serverMs: 0,
  items: [rule("/a", 1), rule("/b", 9)],
};

t.test("the head line has what happened between two looks", async (t) => {
  const [head] = drawTop(firstState, data, { columns: 200, rows: 24 });
  t.equal(
    head,
    "10 requests/s  0.5 refused/s  7 in flight  3,000 tokens/min  $1.50 today  store ok",
  );
  t.match(drawTop(firstState, { ...data, before: null }, { columns: 200, rows: 24 })[0], /^- req/);
  t.match(drawTop(firstState, { ...data, lost: "gone" }, { columns: 200, rows: 24 })[0], /gone/);
  t.match(
    drawTop(firstState, { ...data, storeFailing: "ENOSPC" }, { columns: 200, rows: 24 })[0],
    /STORE FAILS: ENOSPC/,
  );
});

t.test(
  "in 80 columns a part of the head is whole or left out, and names are shortened",
  async (t) => {
    const items = [rule(`/tenants/${"a-long-name-".repeat(6)}/app`, 3), rule("/東京商事✅", 1)];
    const crowded = { ...data, items, now: { ...data.now, tokens: 100_000 } };
    const [head, , titles, ...rows] = drawTop(firstState, crowded, { columns: 80, rows: 8 });
    t.equal(head, "10 requests/s  0.5 refused/s  7 in flight  3,000,000 tokens/min  $1.50 today");
    t.match(titles, /^ USED +SUBJECT +PERIOD +REQUESTS$/);
    t.match(rows[0], /^> 30% {2}\/tenants\/a-.*….*\/app {2}minute +3\/10$/);
    t.equal(rows[1]?.indexOf("minute"), (titles?.indexOf("PERIOD") ?? 0) - 5, "wide characters");
    const failing = { ...crowded, storeFailing: "ENOSPC" };
    t.match(
      drawTop(firstState, failing, { columns: 80, rows: 8 })[0],
      /^STORE FAILS: ENOSPC {2}10 /,
    );
  },
);

t.test("the fullest are first, unless names are, and a filter leaves out others", async (t) => {
  t.equal(selectedItem(firstState, data)?.["subject"], "/b");
  t.equal(selectedItem({ ...firstState, sort: "name" }, data)?.["subject"], "/a");
  t.equal(countLines({ ...firstState, filter: "/A" }, data), 1);
  t.equal(selectedItem({ ...firstState, filter: "/x" }, data), undefined);
});

t.test(
  "today's usage has the dearest first, then most tokens, or is in order of names",
  async (t) => {
    const items = [
      { key: "/b", requests: 1200, total_tokens: 50_000, total_cost: 0 },
      { key: "/a", requests: 2, total_tokens: 10, total_cost: 1.25 },
      { key: "/c", requests: 3, total_tokens: 90_000, total_cost: 0 },
    ];
    const shown = (changes: Partial<typeof firstState>): readonly string[] =>
      drawTop({ ...firstState, ...changes }, { ...data, items }, { columns: 80, rows: 24 }).slice(
        2,
      );
    const [title, ...rows] = shown({ tab: "paths" });
    t.equal(title, " PATH  REQUESTS TODAY  TOKENS   COST");
    t.same(rows.slice(0, 3), [
      ">/a                 2      10  $1.25",
      " /c                 3  90,000  $0.00",
      " /b             1,200  50,000  $0.00",
    ]);
    t.match(
      shown({ tab: "providers", sort: "name" }).slice(0, 2),
      exactly([/^ PROVIDER /, /^>\/a /]),
    );
  },
);

t.test("a picture always has the terminal's size, whatever names are in it", async (t) => {
  const size = fc.record({
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 60 }),
  });
  const state = fc.record({
    selected: fc.nat(50),
    tab: fc.constantFrom(...tabs),
    mode: fc.constantFrom("table", "filter", "reset", "help"),
  });
  const names = fc.array(fc.string({ unit: "binary" }), { maxLength: 40 });
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(size, state, names, (size, changes, names) => {
        const items = names.map((name) => rule(name, 1));
        const lines = drawTop({ ...firstState, ...changes }, { ...data, items }, size);
        return (
          lines.length <= size.rows &&
          lines.length >= Math.min(size.rows, 4) &&
          lines.every((line) => displayWidth(line) <= size.columns && !/\p{Cc}/u.test(line))
        );
      }),
    ),
  );
});

t.test("the marked line is among those that are shown", async (t) => {
  const items = Array.from({ length: 50 }, (_, i) => rule(`/path-${i}`, 50 - i));
  for (const selected of [0, 10, 49]) {
    const lines = drawTop(
      { ...firstState, selected },
      { ...data, items },
      { columns: 80, rows: 12 },
    );
    t.equal(lines.length, 12);
    t.match(
      lines.find((line) => line.startsWith(">")),
      new RegExp(`/path-${selected} `),
    );
  }
});
