/** The verdict first, then every limit and budget on the way, then the targets. */
import type { ComponentChildren } from "preact";
import type { ExplainedVerdict, Explanation } from "../../../../../shared/api/explanation.js";
import type { RefusalItem } from "../../../../../shared/api/refusal-item.js";
import { formatDuration, formatMoment, formatTime } from "../../logic/numbers.js";
import { Icon } from "../../parts/icon.js";
import { Card } from "../../parts/page.js";
import { explainTexts as texts } from "../../texts/explain-texts.js";
import { ExplainedBudgets } from "./explained-budgets.js";
import { ExplainedRules } from "./explained-rules.js";
import { ExplainedTargets } from "./explained-targets.js";

interface ExplanationViewProps {
  readonly explanation: Explanation;
  readonly age: ComponentChildren;
}

export function ExplanationView({ explanation, age }: ExplanationViewProps) {
  const { refusal, rules, budgets, targets, verdict } = explanation;
  return (
    <div class="stack explained">
      {refusal !== undefined && <RefusedThen refusal={refusal} />}
      <Verdict verdict={verdict} age={age} />
      <Card title={texts.rules.title}>
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
        <Card title={texts.budgets.title}>
          <ExplainedBudgets budgets={budgets} />
        </Card>
      )}
      <ExplainedTargets targets={targets} />
    </div>
  );
}

function Verdict({
  verdict,
  age,
}: {
  readonly verdict: ExplainedVerdict;
  readonly age: ComponentChildren;
}) {
  const words = texts.verdict;
  return (
    <section class={verdict.admitted ? "verdict good" : "verdict bad"} aria-live="polite">
      <Icon name={verdict.admitted ? "check" : "alert"} />
      <div>
        <h2>{verdict.admitted ? words.admitted : words.refused}</h2>
        {verdict.admitted ? (
          verdict.target !== null && (
            <p>
              {words.admittedTo} <code>{verdict.target}</code>
            </p>
          )
        ) : (
          <>
            <p>{verdict.message}</p>
            <p class="soft">
              {words.when(formatDuration(verdict.retry_after))},{" "}
              {words.at(formatTime(verdict.admitted_at))},{" "}
              {verdict.needs_slot ? words.needsSlot : words.alone}.
            </p>
          </>
        )}
      </div>
      <span class="soft small">{age}</span>
    </section>
  );
}

function RefusedThen({ refusal }: { readonly refusal: RefusalItem }) {
  const words = texts.refusal;
  return (
    <Card title={words.title} note={words.then}>
      <dl class="facts card-body">
        <dt>{words.at}</dt>
        <dd>{formatMoment(refusal.refused_at)}</dd>
        <dt>{words.path}</dt>
        <dd>
          <code>{refusal.user_path}</code>
        </dd>
        <dt>{words.model}</dt>
        <dd>{refusal.model === null ? words.none : <code>{refusal.model}</code>}</dd>
        <dt>{words.targets}</dt>
        <dd>
          <code>{refusal.targets.join(", ")}</code>
        </dd>
        <dt>{words.message}</dt>
        <dd>{refusal.message}</dd>
      </dl>
    </Card>
  );
}
