/** A table of rules or budgets with a selection: a tree of paths, unless the reader sorts it. */
import { formatShare } from "../../../../../shared/text/percent.js";
import { flatRows, type TreeRow, treeRows } from "../../logic/subject-tree.js";
import { levelOf } from "../../logic/used-share.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { useApp } from "../app.js";
import { ChangeButton, useMay } from "../change-button.js";
import { SelectedBar, useSelection } from "../lists/selection.js";
import { type Column, Table } from "../table.js";
import {
  type LimitItem,
  LimitSubject,
  limitName,
  periodText,
  useIsChangeable,
} from "./limit-row.js";

type Item = Parameters<typeof limitName>[0] & Parameters<ReturnType<typeof useIsChangeable>>[0];

interface LimitTableProps<One extends Item> {
  readonly caption: string;
  /** The path of the list in the API, to which changes are sent. */
  readonly path: string;
  readonly columns: readonly Column<TreeRow<One>>[];
  readonly items: readonly One[];
  readonly keyOf: (item: One) => string;
  readonly periods: Readonly<Record<string, string>>;
  readonly onMany: (kind: "reset" | "remove", items: readonly One[]) => void;
}

export function LimitTable<One extends Item>(props: LimitTableProps<One>) {
  const { caption, path, columns, items, keyOf, periods, onMany } = props;
  const { query } = useApp().router.place.value;
  const may = useMay();
  const isChangeable = useIsChangeable();
  const isTree = !query.has("sort") && query.get("order") !== "use";
  const rows = isTree ? treeRows(items) : flatRows(items);
  const keyOfRow = ({ item }: TreeRow<One>): string => keyOf(item);
  const selection = useSelection({
    rows,
    keyOf: keyOfRow,
    nameOf: ({ item }) => (isChangeable(item) ? limitName(item, periods) : null),
  });
  const chosen = selection.rows.map(({ item }) => item);
  return (
    <>
      <Table
        caption={caption}
        columns={columns}
        rows={rows}
        keyOf={keyOfRow}
        rowClass={(row) => (rows[rows.indexOf(row) + 1]?.isContinued === true ? "joined" : "")}
        selection={may(`DELETE ${path}`) ? selection : null}
        isCompact
      />
      <SelectedBar selection={selection}>
        <ChangeButton needs={`POST ${path}/reset-one`} onClick={() => onMany("reset", chosen)}>
          {shellTexts.choose.reset}
        </ChangeButton>
        <ChangeButton
          needs={`DELETE ${path}`}
          look="danger"
          onClick={() => onMany("remove", chosen)}
        >
          {shellTexts.choose.remove}
        </ChangeButton>
      </SelectedBar>
    </>
  );
}

/** The used share of the fullest cap of a rule or budget; null for a template. */
export type ShareOf<One> = (item: One, kinds?: readonly string[]) => number | null;

interface FirstColumns<One> {
  readonly heads: Readonly<Record<"subject" | "brief" | "period", string>>;
  readonly periods: Readonly<Record<string, string>>;
  readonly shareOf: ShareOf<One>;
}

/** The columns of the subject and the period, and on a phone the used share. */
export function firstColumns<One extends LimitItem & Parameters<typeof periodText>[0]>({
  heads,
  periods,
  shareOf,
}: FirstColumns<One>): readonly Column<TreeRow<One>>[] {
  return [
    {
      key: "subject",
      head: heads.subject,
      kind: "lead",
      sortBy: ({ item }) => item.subject,
      cell: LimitSubject,
    },
    {
      key: "brief",
      head: heads.brief,
      isBrief: true,
      cell: ({ item }) => shareText(item, periods, shareOf),
    },
    {
      key: "period",
      head: heads.period,
      sortBy: ({ item }) => item.period_seconds,
      cell: ({ item }) => <span class="nowrap">{periodText(item, periods)}</span>,
    },
  ];
}

/** The used share in few words, for a phone. */
function shareText<One extends Parameters<typeof periodText>[0]>(
  item: One,
  periods: Readonly<Record<string, string>>,
  shareOf: ShareOf<One>,
) {
  const share = shareOf(item);
  const level = levelOf(share ?? 0);
  return (
    <span class="nowrap">
      <span class="soft">{periodText(item, periods)}</span>{" "}
      <span class={level === "full" ? "bad" : level === "near" ? "warn" : ""}>
        {share === null ? "" : formatShare(share)}
      </span>
    </span>
  );
}
