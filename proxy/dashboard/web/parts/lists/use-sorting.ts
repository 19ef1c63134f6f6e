/** The order of rows that are all here. In the address: a column, after `-` if descending. */
import { useApp } from "../app.js";
import type { Sorting } from "../table.js";

/** What each column is sorted by; a row without a value comes last. */
type Orders<Row> = Readonly<Record<string, (row: Row) => string | number | null>>;

interface Sorted<Row> {
  readonly sorting: Sorting;
  sorted(rows: readonly Row[]): readonly Row[];
}

export function useSorting<Row>(orders: Orders<Row>): Sorted<Row> {
  const { router } = useApp();
  const asked = router.place.value.query.get("sort") ?? "";
  const isDescending = asked.startsWith("-");
  const by = isDescending ? asked.slice(1) : asked;
  const orderOf = orders[by];
  return {
    sorting: {
      by,
      isDescending,
      // Numbers are asked for from the largest; the third time is the list's own order again.
      choose: (name) =>
        router.setQuery({
          sort: by !== name ? `-${name}` : isDescending ? name : null,
          after: null,
        }),
    },
    sorted: (rows) =>
      orderOf === undefined
        ? rows
        : rows.toSorted((a, b) => compare(orderOf(a), orderOf(b), isDescending)),
  };
}

function compare(
  a: string | number | null,
  b: string | number | null,
  isDescending: boolean,
): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = a < b ? -1 : a > b ? 1 : 0;
  return isDescending ? -order : order;
}
