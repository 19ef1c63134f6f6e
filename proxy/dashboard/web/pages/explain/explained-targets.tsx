/** The targets of a request in their order: which gets it, and why others don't. */
import type { ExplainedTarget } from "../../../../../shared/api/explanation.js";
import { formatDuration } from "../../logic/numbers.js";
import { Icon } from "../../parts/icon.js";
import { Card } from "../../parts/page.js";
import { explainTexts } from "../../texts/explain-texts.js";
import { ExplainedRules } from "./explained-rules.js";

const texts = explainTexts.targets;

export function ExplainedTargets({ targets }: { readonly targets: readonly ExplainedTarget[] }) {
  return (
    <Card title={texts.title}>
      {targets.length === 0 && <p class="card-body soft">{texts.none}</p>}
      <ol>
        {targets.map((target) => (
          <li key={target.target} class="target">
            <div class="target-head">
              <code>{target.target}</code>
              <TargetBadge target={target} />
              {target.message !== null && <span class="soft small">{target.message}</span>}
              {target.rules.length === 0 && <span class="soft small">{texts.noRules}</span>}
            </div>
            {target.rules.length > 0 && (
              <ExplainedRules
                rules={target.rules}
                caption={texts.caption(target.target)}
                subject={texts.subject}
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
        {texts.chosen}
      </span>
    );
  if (admits) return <span class="badge">{texts.room}</span>;
  return (
    <span class="badge bad">
      {texts.skipped}
      {retry_after > 0 && <> · {explainTexts.rules.wait(formatDuration(retry_after))}</>}
    </span>
  );
}
