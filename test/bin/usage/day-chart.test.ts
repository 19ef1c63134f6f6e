import fc from "fast-check";
import t from "tap";
import { dayChart } from "../../../bin/usage/day-chart.js";

const daysFrom = (values: readonly number[]): { date: string; value: number }[] =>
  values.map((value, index) => ({
    date: new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
    value,
  }));

t.test(
  "the days are side by side, the highest fills its column and a day without usage is empty",
  async (t) => {
    const { lines } = dayChart(daysFrom([0, 1, 32, 16, 0, 0, 0, 8, 1000, 0]), {
      columns: 30,
      unicode: true,
    });
    t.same(lines, [
      "                        ██",
      "                        ██",
      "                        ██",
      "   ▁▁ ▁▁ ▁▁          ▁▁ ██",
      "2026-01-01         2026-01-10",
    ]);
    t.same(dayChart(daysFrom([8, 16, 24, 32]), { columns: 4, unicode: true }).lines.slice(0, 4), [
      "   █",
      "  ██",
      " ███",
      "████",
    ]);
    t.same(dayChart(daysFrom([1, 7, 12, 0, 5]), { columns: 10, unicode: false }).lines, [
      "    #",
      "  . #",
      "  # #   :",
      ". # #   #",
      "2026-01-01 to 2026-01-05",
    ]);
  },
);

t.test("where the days don't fit side by side, several share a column", async (t) => {
  const { lines, daysPerColumn, highest } = dayChart(
    daysFrom(Array.from({ length: 365 }, () => 1)),
    { columns: 80, unicode: true },
  );
  t.equal(daysPerColumn, 5);
  t.equal(highest, 5);
  t.equal(lines[0], "█".repeat(73));
});

t.test(
  "whatever the days and the width, the bars fit, each day that was used has a mark, and no other",
  async () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-6, max: 1e9, noNaN: true })), {
          minLength: 1,
          maxLength: 365,
        }),
        fc.integer({ min: 1, max: 200 }),
        fc.boolean(),
        (values, columns, unicode) => {
          const { lines, daysPerColumn } = dayChart(daysFrom(values), { columns, unicode });
          const bars = lines.slice(0, -1);
          const widest = Math.max(...bars.map((line) => line.length));
          const used = new Set(
            values.flatMap((value, index) =>
              value > 0 ? [Math.floor(index / daysPerColumn)] : [],
            ),
          ).size;
          const marked = bars
            .at(-1)!
            .split(/ +/)
            .filter((text) => text !== "")
            .join("").length;
          const width = Math.max(
            1,
            Math.min(3, Math.floor(columns / Math.ceil(values.length / daysPerColumn))),
          );
          return (
            widest <= columns &&
            marked === used * (width > 1 ? width - 1 : 1) &&
            (!unicode ? /^[ .:#]*$/ : /^[ ▁-█]*$/).test(bars.join(""))
          );
        },
      ),
    );
  },
);
