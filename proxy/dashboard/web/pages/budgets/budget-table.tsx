/**
 * Budgets as rows: each has a bar with a tick at the elapsed share of the period, which shows the
 * pace.
 */
import type { BudgetItem } from "../../../../../shared/api/budget-item.js";
import { budgetAmount } from "../../logic/budget-amount.js";
import { elapsedOf } from "../../logic/elapsed.js";
import { itemKey } from "../../logic/list-page.js";
import { formatDuration, formatMoney } from "../../logic/numbers.js";
import type { TreeRow } from "../../logic/subject-tree.js";
import { isOfSessions, isTemplate, shareOf } from "../../logic/used-share.js";
import { Countdown } from "../../parts/age.js";
import { LimitActions } from "../../parts/limits/limit-row.js";
import { firstColumns, LimitTable, type ShareOf } from "../../parts/limits/limit-table.js";
import { Meter } from "../../parts/meter.js";
import type { Column } from "../../parts/table.js";
import { budgetsTexts as texts } from "../../texts/budgets-texts.js";
import type { OpenBudgetDialog } from "./budgets-dialog.js";

interface BudgetTableProps {
  readonly scope: BudgetItem["scope"];
  readonly budgets: readonly BudgetItem[];
  /** The daemon's time in the list. */
  readonly serverTime: string;
  /** When the list arrived, by the browser's clock. */
  readonly heardMs: number;
  readonly onOpen: (dialog: OpenBudgetDialog) => void;
}

type Row = TreeRow<BudgetItem>;

export function BudgetTable({ scope, budgets, serverTime, heardMs, onOpen }: BudgetTableProps) {
  const columns: readonly Column<Row>[] = [
    ...firstColumns<BudgetItem>({
      heads: {
        subject: texts.columns[scope],
        brief: texts.columns.spent,
        period: texts.columns.period,
      },
      periods: texts.periods,
      shareOf: spentShare,
    }),
    {
      key: "spent",
      head: texts.columns.spent,
      sortBy: ({ item }) => spentShare(item),
      cell: ({ item }) => <SpentCell budget={item} now={serverTime} />,
    },
    {
      key: "pace",
      head: texts.columns.pace,
      sortBy: ({ item }) => item.forecast?.exhausts_at,
      cell: ({ item }) => <Pace budget={item} now={serverTime} />,
    },
    {
      key: "resets",
      head: texts.columns.resets,
      kind: "number",
      sortBy: ({ item }) => item.period_end,
      cell: ({ item }) =>
        isOfSessions(item) ? null : (
          <span class="soft nowrap">
            {item.rolling === true ? (
              texts.rolling
            ) : (
              <Countdown from={serverTime} to={item.period_end} heardMs={heardMs} />
            )}
          </span>
        ),
    },
    {
      key: "actions",
      head: texts.columns.actions,
      kind: "end",
      cell: ({ item }) => (
        <LimitActions
          item={item}
          path={listPath}
          words={texts}
          onChildren={isTemplate(item) ? () => onOpen({ kind: "children", budget: item }) : null}
          onRaise={() => onOpen({ kind: "raise", budget: item })}
          onEdit={() => onOpen({ kind: "edit", budget: item })}
          onReset={() => onOpen({ kind: "reset", budgets: [item] })}
          onRemove={() => onOpen({ kind: "remove", budgets: [item] })}
        />
      ),
    },
  ];
  return (
    <LimitTable
      caption={texts.caption(texts.tabs[scope])}
      path={listPath}
      columns={columns}
      items={budgets}
      keyOf={itemKey}
      periods={texts.periods}
      onMany={(kind, chosen) => onOpen({ kind, budgets: chosen })}
    />
  );
}

const listPath = "/admin/budgets";

const spentShare: ShareOf<BudgetItem> = (budget) =>
  isTemplate(budget) ? null : shareOf({ used: budget.spent, cap: budgetAmount(budget) });

interface CellProps {
  readonly budget: BudgetItem;
  /** By the daemon's clock. */
  readonly now: string;
}

function SpentCell({ budget, now }: CellProps) {
  const { spent, amount } = budget;
  if (isTemplate(budget)) return <>{formatMoney(amount)}</>;
  const pace = elapsedOf(budget, now);
  return <Meter used={spent} cap={budgetAmount(budget)} format={formatMoney} pace={pace} />;
}

function Pace({ budget, now }: CellProps) {
  if (isTemplate(budget)) return null;
  const { forecast, forecast_from: from, spent, amount } = budget;
  if (spent >= amount) return <span class="bad">{texts.pace.exhausted}</span>;
  if (forecast === undefined)
    return from === undefined ? null : (
      <span class="soft">{texts.pace.knownFrom(from.slice(11, 16))}</span>
    );
  if (forecast.exhausts_at === null)
    return <span class="soft">{texts.pace.lasts(formatMoney(forecast.projected_usd))}</span>;
  const seconds = Math.max(0, (Date.parse(forecast.exhausts_at) - Date.parse(now)) / 1000);
  return <span class="warn">{texts.pace.runsOut(formatDuration(seconds))}</span>;
}
