/** Every limit and budget that counts a request, with its verdict, and the request's targets. */
import type {
  ExplainedBudget,
  ExplainedRule,
  ExplainedTarget,
  Explanation,
} from "../../../../../shared/api/explanation.js";
import { itemKey } from "../../logic/list-page.js";
import { formatCount, formatDuration, formatMoney, withCurrency } from "../../logic/numbers.js";
import { capUses, usesOverTime } from "../../logic/used-share.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";
import { explainTexts, explainTexts as texts } from "../../texts/explain-texts.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { Icon } from "../icon.js";
import { Meter } from "../meter.js";
import { Card } from "../page.js";
import { type Column, Table } from "../table.js";
import { CapMeters } from "./cap-meters.js";
import { periodText } from "./limit-row.js";

interface ExplainedLimitsProps {
  readonly explanation: Explanation;
  /** A note beside the title: the time of the counts. */
  readonly note?: string;
}

export function ExplainedLimits({ explanation, note }: ExplainedLimitsProps) {
  const { rules, budgets, targets, shadows = [] } = explanation;
  return (
    <>
      <Card title={texts.rules.title} note={note}>
        {rules.length === 0 ? (
          <p class="card-body soft">{texts.rules.none}</p>
        ) : (
          <ExplainedRules
            rules={rules}
            caption={texts.rules.caption}
            subject={texts.rules.subject}
          />
        )}
      </Card>
      {budgets.length > 0 && (
        <Card title={texts.budgets.title} note={note}>
          <ExplainedBudgets budgets={budgets} />
        </Card>
      )}
      <ExplainedTargets targets={targets} note={note} />
      {shadows.length > 0 && (
        <Card title={texts.shadows.title}>
          <ExplainedRules
            rules={shadows}
            caption={texts.shadows.caption}
            subject={texts.rules.subject}
          />
        </Card>
      )}
    </>
  );
}

const targetTexts = explainTexts.targets;

interface ExplainedTargetsProps {
  readonly targets: readonly ExplainedTarget[];
  readonly note: string | undefined;
}

function ExplainedTargets({ targets, note }: ExplainedTargetsProps) {
  return (
    <Card title={targetTexts.title} note={note}>
      {targets.length === 0 && <p class="card-body soft">{targetTexts.none}</p>}
      <ol>
        {targets.map((target) => (
          <li key={target.target} class="target">
            <div class="target-head">
              <code>{target.target}</code>
              <TargetBadge target={target} />
              {target.message !== null && (
                <span class="soft small">{withCurrency(target.message)}</span>
              )}
              {target.rules.length === 0 && <span class="soft small">{targetTexts.noRules}</span>}
            </div>
            {target.rules.length > 0 && (
              <ExplainedRules
                rules={target.rules}
                caption={targetTexts.caption(target.target)}
                subject={targetTexts.subject}
              />
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

function TargetBadge({
  target: { chosen, admits, retry_after },
}: {
  readonly target: ExplainedTarget;
}) {
  if (chosen)
    return (
      <span class="badge good">
        <Icon name="check" />
        {targetTexts.chosen}
      </span>
    );
  if (admits) return <span class="badge">{targetTexts.room}</span>;
  return (
    <span class="badge bad">
      {targetTexts.skipped}
      <Room after={retry_after} />
    </span>
  );
}

/** When there will be room; nothing if there is room now, or never. */
function Room({ after }: { readonly after: number | null }) {
  return after === null || after === 0 ? null : (
    <> · {explainTexts.rules.wait(formatDuration(after))}</>
  );
}

const ruleTexts = explainTexts.rules;

interface ExplainedRulesProps {
  readonly rules: readonly ExplainedRule[];
  readonly caption: string;
  /** The title of the first column. */
  readonly subject: string;
}

function ExplainedRules({ rules, caption, subject }: ExplainedRulesProps) {
  const columns: readonly Column<ExplainedRule>[] = [
    {
      key: "subject",
      head: subject,
      kind: "lead",
      cell: ({ subject, template, models }) => (
        <>
          <code>{subject}</code>
          {models !== undefined && <span class="soft small"> {limitsTexts.onModels(models)}</span>}
          {template !== undefined && <span class="soft small"> {ruleTexts.of(template)}</span>}
        </>
      ),
    },
    {
      key: "period",
      head: ruleTexts.period,
      cell: (rule) => periodText(rule, limitsTexts.periods),
    },
    {
      key: "requests",
      head: ruleTexts.requests,
      cell: (rule) => <Use rule={rule} isOfTokens={false} />,
    },
    { key: "tokens", head: ruleTexts.tokens, cell: (rule) => <Use rule={rule} isOfTokens /> },
    { key: "verdict", head: ruleTexts.verdict, cell: (rule) => <RuleVerdict rule={rule} /> },
  ];
  return <Table caption={caption} columns={columns} rows={rules} keyOf={itemKey} />;
}

function Use({ rule, isOfTokens }: { readonly rule: ExplainedRule; readonly isOfTokens: boolean }) {
  const overTime = usesOverTime(rule);
  if (isOfTokens) return <CapMeters uses={overTime} />;
  const use = capUses(rule).find((each) => !overTime.some(({ kind }) => kind === each.kind));
  return use === undefined ? null : <Meter used={use.used} cap={use.cap} format={formatCount} />;
}

function RuleVerdict({ rule: { breached, retry_after, inert } }: { readonly rule: ExplainedRule }) {
  if (breached.length > 0)
    return (
      <span class="bad">
        {breached.includes("banned")
          ? ruleTexts.banned
          : ruleTexts.full(
              breached.map((name) => explainTexts.dimensions[name] ?? name).join(", "),
            )}
        <Room after={retry_after} />
      </span>
    );
  return inert === undefined ? (
    <span class="good">{ruleTexts.room}</span>
  ) : (
    <span class="warn" title={inert}>
      {ruleTexts.inert}
    </span>
  );
}

const budgetTexts = explainTexts.budgets;

const columns: readonly Column<ExplainedBudget>[] = [
  {
    key: "subject",
    head: budgetTexts.subject,
    kind: "lead",
    cell: ({ subject, template, models }) => (
      <>
        <code>{subject}</code>
        {models !== undefined && <span class="soft small"> {limitsTexts.onModels(models)}</span>}
        {template !== undefined && (
          <span class="soft small"> {explainTexts.rules.of(template)}</span>
        )}
      </>
    ),
  },
  {
    key: "period",
    head: explainTexts.rules.period,
    cell: (budget) => periodText(budget, budgetsTexts.periods),
  },
  {
    key: "spent",
    head: budgetTexts.spent,
    cell: ({ spent, amount }) => <Meter used={spent} cap={amount} format={formatMoney} />,
  },
  {
    key: "verdict",
    head: explainTexts.rules.verdict,
    cell: ({ exceeded, breached, retry_after }) =>
      exceeded || breached !== undefined ? (
        <span class="bad">
          {breached === undefined
            ? budgetTexts.exceeded
            : explainTexts.rules.full(breached.join(", "))}
          <Room after={retry_after} />
        </span>
      ) : (
        <span class="good">{explainTexts.rules.room}</span>
      ),
  },
];

function ExplainedBudgets({ budgets }: { readonly budgets: readonly ExplainedBudget[] }) {
  return <Table caption={budgetTexts.caption} columns={columns} rows={budgets} keyOf={itemKey} />;
}
