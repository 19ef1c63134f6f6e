/** Rules as rows: user paths as a tree, each cap with a bar. */
import type { RuleItem } from "../../../../../shared/api/rule-item.js";
import { itemKey } from "../../logic/list-page.js";
import { formatCount } from "../../logic/numbers.js";
import { type TreeRow, treeRows } from "../../logic/subject-tree.js";
import { isTemplate, usesOverTime } from "../../logic/used-share.js";
import { Countdown } from "../../parts/age.js";
import { CapList, CapMeters } from "../../parts/limits/cap-meters.js";
import { LimitActions, LimitSubject, periodText } from "../../parts/limits/limit-row.js";
import { Meter } from "../../parts/meter.js";
import { type Column, Table } from "../../parts/table.js";
import { limitsTexts as texts } from "../../texts/limits-texts.js";
import type { OpenDialog } from "./limits-dialog.js";

interface RuleTableProps {
  readonly scope: RuleItem["scope"];
  readonly rules: readonly RuleItem[];
  readonly serverTime: string;
  readonly heardMs: number;
  readonly onOpen: (dialog: OpenDialog) => void;
}

type Row = TreeRow<RuleItem>;

export function RuleTable({ scope, rules, serverTime, heardMs, onOpen }: RuleTableProps) {
  const rows = treeRows(rules);
  const columns: readonly Column<Row>[] = [
    { key: "subject", head: texts.columns[scope], kind: "lead", cell: LimitSubject },
    {
      key: "period",
      head: texts.columns.period,
      cell: ({ item }) => <span class="nowrap">{periodText(item, texts.periods)}</span>,
    },
    { key: "requests", head: texts.columns.requests, cell: ({ item }) => <Requests rule={item} /> },
    {
      key: "tokens",
      head: texts.columns.tokens,
      cell: ({ item }) =>
        isTemplate(item) ? (
          <CapList uses={usesOverTime(item)} />
        ) : (
          <CapMeters uses={usesOverTime(item)} />
        ),
    },
    {
      key: "resets",
      head: texts.columns.resets,
      kind: "number",
      cell: ({ item: { window_end } }) =>
        window_end === undefined ? null : (
          <span class="soft nowrap">
            <Countdown from={serverTime} to={window_end} heardMs={heardMs} />
          </span>
        ),
    },
    {
      key: "actions",
      head: texts.columns.actions,
      kind: "end",
      cell: ({ item }) => <RuleActions rule={item} onOpen={onOpen} />,
    },
  ];
  return (
    <Table
      caption={texts.caption(texts.tabs[scope])}
      columns={columns}
      rows={rows}
      keyOf={({ item }) => itemKey(item)}
      rowClass={(row) => (rows[rows.indexOf(row) + 1]?.isContinued === true ? "joined" : "")}
    />
  );
}

function Requests({ rule }: { readonly rule: RuleItem }) {
  const { max_requests: cap, requests_used, in_flight, period_seconds } = rule;
  if (cap === undefined) return null;
  if (cap === 0) return <span class="bad">{texts.banned}</span>;
  if (isTemplate(rule)) return <>{formatCount(cap)}</>;
  const used = period_seconds === 0 ? in_flight : requests_used;
  return <Meter used={used} cap={cap} format={formatCount} />;
}

function RuleActions({
  rule,
  onOpen,
}: {
  readonly rule: RuleItem;
  readonly onOpen: RuleTableProps["onOpen"];
}) {
  return (
    <LimitActions
      item={rule}
      words={texts}
      onChildren={isTemplate(rule) ? () => onOpen({ kind: "children", rule }) : null}
      onRaise={() => onOpen({ kind: "raise", rule })}
      onEdit={() => onOpen({ kind: "edit", rule })}
      onReset={() => onOpen({ kind: "reset", rule })}
      onRemove={() => onOpen({ kind: "remove", rule })}
    />
  );
}
