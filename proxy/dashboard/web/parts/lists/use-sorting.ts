/**
 * The order of rows that are all loaded. In the address: the name of a column, after `-` if
 * descending.
 */
import { useApp } from "../app.js";

/** The order of the rows. The head of a column changes it. */
export interface Sorting {
  readonly by: string;
  readonly isDescending: boolean;
  choose(by: string): void;
}

interface Sortable<Row> {
  readonly key: string;
  readonly sortBy?: (row: Row) => string | number | null | undefined;
  /** Whether the first click sorts the smallest first. */
  readonly fromSmallest?: boolean;
}

interface TableSorting<Row> {
  readonly sorting: Sorting;
  sorted(rows: readonly Row[]): readonly Row[];
}

/** The order of the address, if it names one of these columns. */
export function useSorting<Row>(columns: readonly Sortable<Row>[]): TableSorting<Row> {
  const { router } = useApp();
  const sort = router.place.value.query.get("sort") ?? "";
  const isDescending = sort.startsWith("-");
  const by = isDescending ? sort.slice(1) : sort;
  const sortValue = columns.find(({ key }) => key === by)?.sortBy;
  return {
    sorting: {
      by: sortValue === undefined ? "" : by,
      isDescending,
      // The third click restores the order of the list.
      choose: (name) => {
        const isFirst = columns.find(({ key }) => key === name)?.fromSmallest !== true;
        const order = by !== name ? isFirst : isDescending === isFirst ? !isFirst : null;
        router.setQuery({ sort: order === null ? null : order ? `-${name}` : name });
      },
    },
    sorted: (rows) =>
      sortValue === undefined
        ? rows
        : rows.toSorted((a, b) =>
            compare(sortValue(a) ?? null, sortValue(b) ?? null, isDescending),
          ),
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
