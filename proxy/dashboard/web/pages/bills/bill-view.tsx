/** One comparison with a bill: totals, causes with what to do, models, quantities, prices. */

import { billCauses, type Cause, causeNames } from "../../../../../shared/api/bill-causes.js";
import type { ReconciliationItem } from "../../../../../shared/api/reconciliation-item.js";
import { formatPercent } from "../../../../../shared/text/percent.js";
import { formatCount, formatMoney } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { Card } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { billsTexts as texts } from "../../texts/bills-texts.js";

type Amounts = ReconciliationItem["causes"];
type Model = ReconciliationItem["models"][number];
type Quantity = ReconciliationItem["quantities"][number];

export function BillView({
  bill,
  now,
}: {
  readonly bill: ReconciliationItem;
  readonly now: string;
}) {
  const { provider, start_date: from, end_date: to, causes, models, quantities } = bill;
  const lines = bill.unknown_lines.map(
    ({ text, billed_usd }) => `${formatMoney(Number(billed_usd))}  ${text}`,
  );
  return (
    <Card
      title={texts.title(provider, from, to)}
      note={
        <>
          {texts.source(bill.source)} <Ago moment={bill.time} now={now} />
        </>
      }
    >
      <dl class="figures">
        {figuresOf(bill).map(([label, value]) => (
          <div class="figure" key={label}>
            <dt>{label}</dt>
            <dd>
              <strong>{value}</strong>
            </dd>
          </div>
        ))}
      </dl>
      <TableOrEmpty
        caption={texts.causes.caption}
        icon="check"
        none={texts.causes.none}
        columns={causeColumns}
        rows={amountsOf(causes)}
        keyOf={({ cause }) => cause}
      />
      {models.length > 0 && (
        <Table
          caption={texts.models.caption}
          columns={modelColumns}
          rows={models}
          keyOf={({ project, model }) => `${project}|${model}`}
        />
      )}
      {quantities.length > 0 && (
        <Table
          caption={texts.quantities.caption}
          columns={quantityColumns}
          rows={quantities}
          keyOf={({ model, tier, kind }) => `${model}|${tier}|${kind}`}
        />
      )}
      <Lines title={texts.unknownLines} lines={lines} />
      <Lines title={texts.prices} lines={bill.prices} />
      <Lines title={texts.notes} lines={bill.notes} />
    </Card>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <div class="card-body">
      <h3>{title}</h3>
      <code class="small wrap lines-kept">{lines.join("\n")}</code>
    </div>
  );
}

function figuresOf(bill: ReconciliationItem): readonly (readonly [string, string])[] {
  return [
    [texts.figures.billed, formatMoney(Number(bill.billed_usd))],
    [texts.figures.recorded, formatMoney(Number(bill.recorded_usd))],
    [texts.figures.difference, formatMoney(Number(bill.difference_usd))],
    [texts.figures.gap, formatPercent(bill.gap_percent / 100, 2)],
  ];
}

interface CauseRow {
  readonly cause: Cause;
  readonly usd: number;
}

/** The amounts, in the order of the report. */
function amountsOf(causes: Amounts): readonly CauseRow[] {
  return causeNames.flatMap((cause) => {
    const amount = causes[cause];
    return amount === undefined ? [] : [{ cause, usd: Number(amount) }];
  });
}

const causeColumns: readonly Column<CauseRow>[] = [
  {
    key: "cause",
    head: texts.causes.columns.cause,
    kind: "lead",
    sortBy: ({ cause }) => cause,
    cell: ({ cause }) => (
      <span class="two-lines">
        <code>{cause}</code>
        <span class="soft small wrap">{billCauses[cause].meaning}</span>
      </span>
    ),
  },
  {
    key: "amount",
    head: texts.causes.columns.amount,
    kind: "number",
    sortBy: ({ usd }) => usd,
    cell: ({ usd }) => formatMoney(usd),
  },
  {
    key: "advice",
    head: texts.causes.columns.advice,
    cell: ({ cause }) => <span class="wrap">{billCauses[cause].advice}</span>,
  },
];

const modelColumns: readonly Column<Model>[] = [
  {
    key: "model",
    head: texts.models.columns.model,
    kind: "lead",
    sortBy: ({ project, model }) => `${model} ${project ?? ""}`,
    cell: ({ project, model }) => (
      <span class="two-lines">
        <span class="wrap">{model}</span>
        {project !== null && <span class="soft small wrap">{project}</span>}
      </span>
    ),
  },
  {
    key: "modelRecorded",
    head: texts.models.columns.recorded,
    kind: "number",
    sortBy: ({ recorded_usd }) => Number(recorded_usd),
    cell: ({ recorded_usd }) => formatMoney(Number(recorded_usd)),
  },
  {
    key: "modelBilled",
    head: texts.models.columns.billed,
    kind: "number",
    sortBy: ({ billed_usd }) => Number(billed_usd),
    cell: ({ billed_usd }) => formatMoney(Number(billed_usd)),
  },
  {
    key: "causes",
    head: texts.models.columns.causes,
    cell: ({ causes }) => (
      <span class="badges">
        {amountsOf(causes).map(({ cause, usd }) => (
          <span class="badge" key={cause}>{`${cause} ${formatMoney(usd)}`}</span>
        ))}
      </span>
    ),
  },
];

const quantityColumns: readonly Column<Quantity>[] = [
  {
    key: "tier",
    head: texts.quantities.columns.model,
    kind: "lead",
    sortBy: ({ model, tier }) => `${model} ${tier}`,
    cell: ({ model, tier }) => (
      <span class="two-lines">
        <span class="wrap">{model}</span>
        <span class="soft small wrap">{tier}</span>
      </span>
    ),
  },
  {
    key: "kind",
    head: texts.quantities.columns.kind,
    sortBy: ({ kind }) => kind,
    cell: ({ kind }) => <code>{kind}</code>,
  },
  {
    key: "tokensRecorded",
    head: texts.quantities.columns.recorded,
    kind: "number",
    sortBy: ({ recorded }) => recorded,
    cell: ({ recorded }) => formatCount(recorded),
  },
  {
    key: "tokensBilled",
    head: texts.quantities.columns.billed,
    kind: "number",
    sortBy: ({ billed }) => billed,
    cell: ({ billed }) => (billed === null ? "–" : formatCount(billed)),
  },
];
