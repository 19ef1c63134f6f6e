/** The last refusals, those of one kind as one, each with the way to its explanation. */
import type { RefusalPage } from "../../../../../shared/api/refusal-item.js";
import { hrefOf } from "../../data/router.js";
import { formatDuration, secondsBetween } from "../../logic/numbers.js";
import { type RefusalGroup, refusalGroups } from "../../logic/refusal-groups.js";
import { Card, Empty, WhenReady } from "../../parts/page.js";
import { usePoll } from "../../parts/use-poll.js";
import { overviewTexts } from "../../texts/overview-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";

const texts = overviewTexts.refusals;
/** Of which equal ones are shown as one. */
const askedMax = 100;
const shownMax = 10;
const askEveryMs = 5_000;

export function RefusalList() {
  const refusals = usePoll<RefusalPage>(
    `/admin/refusals?limit=${askedMax}`,
    askEveryMs,
    ({ refused }) => refused,
  );
  return (
    <Card title={texts.title}>
      <WhenReady polled={refusals.state.value} onRetry={() => refusals.refresh()}>
        {(page) =>
          page.refusals.length === 0 ? (
            <Empty icon="check" title={texts.empty}>
              {texts.emptyText}
            </Empty>
          ) : (
            <ul class="lines">
              {refusalGroups(page.refusals, shownMax).map((group) => (
                <RefusalLine key={group.key} group={group} serverTime={page.server_time} />
              ))}
            </ul>
          )
        }
      </WhenReady>
    </Card>
  );
}

function RefusalLine({
  group,
  serverTime,
}: {
  readonly group: RefusalGroup;
  readonly serverTime: string;
}) {
  const { request_id, user_path, model, message, refused_at } = group.latest;
  const age = formatDuration(secondsBetween(refused_at, serverTime));
  return (
    <li>
      <div>
        <code>{user_path}</code>
        {model !== null && (
          <span class="soft small">
            {" → "}
            <code>{model}</code>
          </span>
        )}
        {group.count > 1 && <span class="badge times">{texts.times(group.count)}</span>}
        <div class="soft small">{message}</div>
      </div>
      <div class="refusal-end">
        <span class="soft small nowrap">{shellTexts.age(age)}</span>
        {request_id !== null && (
          <a class="small" href={hrefOf("explain", { request_id })}>
            {texts.explain}
          </a>
        )}
      </div>
    </li>
  );
}
