/** The limits and budgets with the highest used share. */
import { hrefOf } from "../../data/router.js";
import { closestLimits } from "../../logic/closest-limits.js";
import { itemKey } from "../../logic/list-page.js";
import { useApp } from "../../parts/app.js";
import { LimitLine } from "../../parts/limits/limit-line.js";
import { useBudgets, useRules } from "../../parts/limits/use-live-list.js";
import { Card, Empty, WhenReady } from "../../parts/page.js";
import { overviewTexts } from "../../texts/overview-texts.js";

const texts = overviewTexts.closest;
const shownMax = 10;
const query = `limit=${shownMax}&order=use`;

export function ClosestList() {
  const { status } = useApp().live.live.value;
  // A feature that is switched off has no list.
  const rules = useRules(status?.enabled === true ? query : null);
  const budgets = useBudgets(status?.budgets_enabled === true ? query : null);
  const lists = [
    ...(status?.enabled === true ? [rules] : []),
    ...(status?.budgets_enabled === true ? [budgets] : []),
  ];
  const isReady = status !== null && lists.every(({ polled }) => polled.body !== null);
  return (
    <Card title={texts.title}>
      <WhenReady
        polled={{
          body: isReady
            ? {
                rules: rules.polled.body?.rate_limits ?? [],
                budgets: budgets.polled.body?.budgets ?? [],
              }
            : null,
          heardMs: 0,
          problem:
            lists.map(({ polled }) => polled.problem).find((problem) => problem !== null) ?? null,
        }}
        onRetry={() => {
          for (const { refresh } of lists) refresh();
        }}
      >
        {(body) => {
          const closest = closestLimits(body, shownMax);
          if (closest.length > 0)
            return (
              <ul class="lines">
                {closest.map((limit) => (
                  <LimitLine key={limit.kind + itemKey(limit)} limit={limit} />
                ))}
              </ul>
            );
          return body.rules.length + body.budgets.length > 0 ? (
            <Empty icon="limits" title={texts.empty}>
              {texts.emptyText}
            </Empty>
          ) : (
            <Empty
              icon="limits"
              title={texts.none}
              action={
                <a class="button" href={hrefOf("limits")}>
                  {texts.add}
                </a>
              }
            >
              {texts.noneText}
            </Empty>
          );
        }}
      </WhenReady>
    </Card>
  );
}
