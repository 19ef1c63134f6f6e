/** Rules as rows: user paths as a tree, each cap with a bar. */
import type { RuleItem } from "../../../../../shared/api/rule-item.js";
import { itemKey } from "../../logic/list-page.js";
import { formatCount } from "../../logic/numbers.js";
import type { TreeRow } from "../../logic/subject-tree.js";
import {
  capUses,
  isTemplate,
  kindsOverTime,
  shareOf,
  usesOverTime,
} from "../../logic/used-share.js";
import { Countdown } from "../../parts/age.js";
import { CapList, CapMeters } from "../../parts/limits/cap-meters.js";
import { LimitActions } from "../../parts/limits/limit-row.js";
import { firstColumns, LimitTable, type ShareOf } from "../../parts/limits/limit-table.js";
import { Meter } from "../../parts/meter.js";
import type { Column } from "../../parts/table.js";
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
  const columns: readonly Column<Row>[] = [
    ...firstColumns<RuleItem>({
      heads: {
        subject: texts.columns[scope],
        brief: texts.used,
        period: texts.columns.period,
      },
      periods: texts.periods,
      shareOf: largestShare,
    }),
    {
      key: "requests",
      head: texts.columns.requests,
      sortBy: ({ item }) => largestShare(item, ["requests", "concurrent"]),
      cell: ({ item }) => <Requests rule={item} />,
    },
    {
      key: "tokens",
      head: texts.columns.tokens,
      sortBy: ({ item }) => largestShare(item, kindsOverTime),
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
      sortBy: ({ item }) => item.window_end,
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
    <LimitTable
      caption={texts.caption(texts.tabs[scope])}
      path={listPath}
      columns={columns}
      items={rules}
      keyOf={itemKey}
      periods={texts.periods}
      onMany={(kind, chosen) => onOpen({ kind, rules: chosen })}
    />
  );
}

const listPath = "/admin/rate-limits";

/**
 * The largest used share of the rule's caps, or of its caps of some kinds; null without such caps.
 */
const largestShare: ShareOf<RuleItem> = (rule, kinds) => {
  const uses = isTemplate(rule) ? [] : capUses(rule);
  const shares = uses.filter(({ kind }) => kinds?.includes(kind) ?? true).map(shareOf);
  return shares.length === 0 ? null : Math.max(...shares);
};

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
      path={listPath}
      words={texts}
      onChildren={isTemplate(rule) ? () => onOpen({ kind: "children", rule }) : null}
      onRaise={() => onOpen({ kind: "raise", rule })}
      onEdit={() => onOpen({ kind: "edit", rule })}
      onReset={() => onOpen({ kind: "reset", rules: [rule] })}
      onRemove={() => onOpen({ kind: "remove", rules: [rule] })}
    />
  );
}
