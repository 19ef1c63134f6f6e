/**
 * The destinations of alerts, the alerts that wait for delivery, and a button that sends a test.
 */

import { useState } from "preact/hooks";
import type {
  AlertDestinationItem,
  AlertTestResult,
  AlertTestResults,
} from "../../../../../shared/api/alert-item.js";
import { formatPercent } from "../../../../../shared/text/percent.js";
import { formatCount } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { ChangeButton } from "../../parts/change-button.js";
import { FailureText } from "../../parts/confirm.js";
import { Card } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { alertsTexts as texts } from "../../texts/setup-texts.js";

interface AlertsCardProps {
  readonly alerts: readonly AlertDestinationItem[];
  readonly onTested: () => void;
}

export function AlertsCard({ alerts, onTested }: AlertsCardProps) {
  const { client } = useApp();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [results, setResults] = useState<readonly AlertTestResult[]>([]);
  if (alerts.length === 0) return null;
  const test = async (): Promise<void> => {
    setBusy(true);
    const answer = await client.send<AlertTestResults>("POST", "/admin/alerts/test");
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem.message);
    setResults(answer.ok ? answer.body.results : []);
    onTested();
  };
  return (
    <Card title={texts.title}>
      <Table
        caption={texts.caption}
        columns={columns}
        rows={alerts}
        keyOf={(alert) => String(alerts.indexOf(alert))}
      />
      <div class="card-body stack">
        <div>
          <ChangeButton needs="POST /admin/alerts/test" isBusy={isBusy} onClick={() => void test()}>
            {texts.test}
          </ChangeButton>
        </div>
        {problem !== null && <FailureText>{problem}</FailureText>}
        {results.length > 0 && (
          <ul class="lines" aria-live="polite">
            {results.map(({ host, reason }, i) => (
              <li class="wrap" key={String(i)}>
                {reason === null ? texts.delivered(host) : texts.failed(reason)}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

const columns: readonly Column<AlertDestinationItem>[] = [
  {
    key: "host",
    head: texts.columns.host,
    kind: "lead",
    cell: ({ host }) => <span class="wrap">{host}</span>,
  },
  {
    key: "at",
    head: texts.columns.at,
    cell: ({ at, forecast }) =>
      [...at.map((share) => formatPercent(share)), ...(forecast ? [texts.forecast] : [])].join(
        ", ",
      ),
  },
  {
    key: "waiting",
    head: texts.columns.waiting,
    kind: "number",
    cell: ({ waiting }) => formatCount(waiting),
  },
  {
    key: "state",
    head: texts.columns.state,
    cell: ({ failing }) =>
      failing === null ? (
        <span class="badge good">{texts.well}</span>
      ) : (
        <span class="bad wrap">{failing}</span>
      ),
  },
];
