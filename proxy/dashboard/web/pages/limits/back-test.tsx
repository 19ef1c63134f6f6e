/** The back-test in the dialog of a rule: what the rule would have refused in the last days. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { BackTestReport } from "../../../../../shared/api/rule-item.js";
import { formatShare } from "../../../../../shared/text/percent.js";
import type { Answer } from "../../data/gateway-client.js";
import { formatCount, formatMoment } from "../../logic/numbers.js";
import {
  backTestBody,
  beginsLater,
  dayBars,
  lowestCaps,
  refusedShare,
} from "../../logic/rule-draft.js";
import { useApp } from "../../parts/app.js";
import { offWhile } from "../../parts/change-button.js";
import { FailureText } from "../../parts/confirm.js";
import { Icon } from "../../parts/icon.js";
import { limitsTexts } from "../../texts/limits-texts.js";

const texts = limitsTexts.backTest;
const days = 7;

interface BackTestProps {
  /** The body that saves the rule as it is edited now; null if it isn't complete. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

type Test =
  | { readonly kind: "running"; readonly progress: number }
  | { readonly kind: "done"; readonly report: BackTestReport }
  | { readonly kind: "failed"; readonly message: string };

/** Shows a result as long as the rule is the one that was tested. */
export function BackTest({ body }: BackTestProps) {
  const { client } = useApp();
  const questionKey = JSON.stringify(body === null ? null : backTestBody(body));
  const [last, setLast] = useState<{ readonly questionKey: string; readonly test: Test } | null>(
    null,
  );
  const current = useRef(questionKey);
  current.current = questionKey;
  useEffect(
    () => () => {
      current.current = "";
    },
    [],
  );
  const shownTest = last?.questionKey === questionKey ? last.test : null;
  const run = async (): Promise<void> => {
    const show = (result: Test): void => setLast({ questionKey, test: result });
    show({ kind: "running", progress: 0 });
    for (let after: string | null = null; ; ) {
      const question: object = {
        ...JSON.parse(questionKey),
        days,
        ...(after === null ? {} : { after }),
      };
      const path = "/admin/rate-limits/test";
      const answer: Answer<BackTestReport> = await client.send("POST", path, question);
      if (current.current !== questionKey) return;
      if (!answer.ok) return show({ kind: "failed", message: answer.problem.message });
      if (answer.body.next === null) return show({ kind: "done", report: answer.body });
      show({ kind: "running", progress: answer.body.progress });
      after = answer.body.next;
    }
  };
  return (
    <div class="back-test">
      <button
        type="button"
        class="button"
        {...offWhile(body === null || shownTest?.kind === "running")}
        onClick={() => void run()}
      >
        <Icon name="usage" />
        {shownTest?.kind === "running"
          ? texts.running(formatShare(shownTest.progress))
          : texts.ask(days)}
      </button>
      <div role="status">{shownTest?.kind === "done" && <Report report={shownTest.report} />}</div>
      {shownTest?.kind === "failed" && <FailureText>{shownTest.message}</FailureText>}
    </div>
  );
}

function Report({ report }: { readonly report: BackTestReport }) {
  const { requests, refused, inert, late, oldest_record_at: oldest } = report;
  const caps = lowestCaps(report, texts.units);
  const reasons = Object.entries(report.refused_for).filter(([, count]) => count > 0);
  return (
    <div class="back-test-report">
      <p class={refused > 0 ? "back-test-verdict refuses" : "back-test-verdict"}>
        <Icon name={refused > 0 ? "alert" : "check"} />
        <strong>
          {requests === 0
            ? texts.none
            : refused === 0
              ? texts.refusesNothing(formatCount(requests))
              : texts.refuses(formatCount(refused), formatCount(requests), refusedShare(report))}
        </strong>
      </p>
      {requests > 0 && <Days report={report} />}
      <ul class="soft small">
        {inert !== undefined && <li>{texts.inert(inert)}</li>}
        {refused > 0 && (
          <>
            <li>
              {texts.reasons(
                reasons.map(([name, count]) => texts.reason[name]!(formatCount(count))),
              )}
            </li>
            <li>
              {texts.moments(
                formatMoment(report.first_refused_at!),
                formatMoment(report.last_refused_at!),
              )}
            </li>
            <li class="back-test-paths">
              {texts.mostly}{" "}
              {report.paths.slice(0, 3).map(({ user_path: path, refused: count }) => (
                <span key={path}>
                  <span class="path">{path}</span> {formatCount(count)}
                </span>
              ))}
            </li>
          </>
        )}
        {caps !== null && <li>{texts.lowest(caps)}</li>}
        {late > 0 && <li>{texts.late(formatCount(late))}</li>}
        {beginsLater(report) && (
          <li>{oldest === null ? texts.nothingYet : texts.begins(formatMoment(oldest))}</li>
        )}
        <li>{texts.limits}</li>
      </ul>
    </div>
  );
}

/** The requests of each day, and the share that the rule would have refused. */
function Days({ report }: { readonly report: BackTestReport }) {
  const bars = dayBars(report);
  return (
    <figure class="back-test-days">
      <div class="back-test-bars" aria-hidden="true">
        {bars.map(({ date, requests, refused, height, refusedHeight }) => (
          <div
            key={date}
            class="back-test-bar"
            title={texts.onDay(date, formatCount(requests), formatCount(refused))}
          >
            <div style={{ height: `${(height - refusedHeight) * 100}%` }} />
            <div class="refused" style={{ height: `${refusedHeight * 100}%` }} />
          </div>
        ))}
      </div>
      <figcaption class="soft small">
        <span>{bars[0]!.date}</span>
        <span class="back-test-key">{texts.key}</span>
        <span>{bars.at(-1)!.date}</span>
      </figcaption>
      <ul class="visually-hidden">
        {bars.map(({ date, requests, refused }) => (
          <li key={date}>{texts.onDay(date, formatCount(requests), formatCount(refused))}</li>
        ))}
      </ul>
    </figure>
  );
}
