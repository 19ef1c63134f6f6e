/**
 * Shows an explanation: the verdict, every limit and budget that counts the request, and the
 * targets.
 */
import type { ComponentChildren } from "preact";
import type { ExplainedVerdict, Explanation } from "../../../../../shared/api/explanation.js";
import type { RefusalItem } from "../../../../../shared/api/refusal-item.js";
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatWhen,
  withCurrency,
} from "../../logic/numbers.js";
import { Icon } from "../../parts/icon.js";
import { ExplainedLimits } from "../../parts/limits/explained-limits.js";
import { Card } from "../../parts/page.js";
import { explainTexts as texts } from "../../texts/explain-texts.js";

interface ExplanationViewProps {
  readonly explanation: Explanation;
  readonly age: ComponentChildren;
}

export function ExplanationView({ explanation, age }: ExplanationViewProps) {
  const { refusal, verdict } = explanation;
  return (
    <div class="stack explained">
      {refusal !== undefined && <RefusedThen refusal={refusal} />}
      <Verdict verdict={verdict} age={age} />
      <ExplainedLimits explanation={explanation} />
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
            <p>{withCurrency(verdict.message)}</p>
            {verdict.retry_after !== null && verdict.admitted_at !== null && (
              <p class="soft">
                {words.when(formatDuration(verdict.retry_after))},{" "}
                {words.at(formatWhen(verdict.admitted_at, new Date().toISOString().slice(0, 10)))},{" "}
                {verdict.needs_slot ? words.needsSlot : words.alone}.
              </p>
            )}
            {verdict.queue !== undefined && (
              <p class="soft">
                {words.queue(
                  formatCount(verdict.queue.position),
                  verdict.queue.expected_seconds === null
                    ? null
                    : formatDuration(verdict.queue.expected_seconds),
                )}
              </p>
            )}
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
        <dd>{withCurrency(refusal.message)}</dd>
      </dl>
    </Card>
  );
}
