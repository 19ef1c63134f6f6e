/** Rules that a request meets, each with its own verdict. */
import type { ExplainedRule } from "../../../../../shared/api/explanation.js";
import { formatCount, formatDuration } from "../../logic/numbers.js";
import { capUses } from "../../logic/used-share.js";
import { periodText } from "../../parts/limits/limit-row.js";
import { Meter } from "../../parts/meter.js";
import { type Column, Table } from "../../parts/table.js";
import { explainTexts } from "../../texts/explain-texts.js";
import { limitsTexts } from "../../texts/limits-texts.js";

const texts = explainTexts.rules;

interface ExplainedRulesProps {
  readonly rules: readonly ExplainedRule[];
  readonly caption: string;
  /** What the first column is called. */
  readonly subject: string;
}

export function ExplainedRules({ rules, caption, subject }: ExplainedRulesProps) {
  const columns: readonly Column<ExplainedRule>[] = [
    {
      key: "subject",
      head: subject,
      kind: "lead",
      cell: ({ subject, template }) => (
        <>
          <code>{subject}</code>
          {template !== undefined && <span class="soft small"> {texts.of(template)}</span>}
        </>
      ),
    },
    {
      key: "period",
      head: texts.period,
      cell: (rule) => periodText(rule, limitsTexts.periods),
    },
    {
      key: "requests",
      head: texts.requests,
      cell: (rule) => <Use rule={rule} isOfTokens={false} />,
    },
    { key: "tokens", head: texts.tokens, cell: (rule) => <Use rule={rule} isOfTokens /> },
    { key: "verdict", head: texts.verdict, cell: (rule) => <RuleVerdict rule={rule} /> },
  ];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rules}
      keyOf={({ scope, subject, period_seconds }) => `${scope} ${subject} ${period_seconds}`}
    />
  );
}

function Use({ rule, isOfTokens }: { readonly rule: ExplainedRule; readonly isOfTokens: boolean }) {
  const use = capUses(rule).find(({ kind }) => (kind === "tokens") === isOfTokens);
  return use === undefined ? null : <Meter used={use.used} cap={use.cap} format={formatCount} />;
}

function RuleVerdict({ rule: { breached, retry_after, inert } }: { readonly rule: ExplainedRule }) {
  if (breached.length > 0)
    return (
      <span class="bad">
        {texts.full(breached.map((name) => explainTexts.dimensions[name] ?? name).join(", "))}
        {retry_after > 0 && <> · {texts.wait(formatDuration(retry_after))}</>}
      </span>
    );
  return inert === undefined ? (
    <span class="good">{texts.room}</span>
  ) : (
    <span class="warn" title={inert}>
      {texts.inert}
    </span>
  );
}
