/** Who is about to run out, and when: the first ones. */
import type { TenantList } from "../../../../../shared/api/tenant-item.js";
import { hrefOf, tenantHref } from "../../data/router.js";
import { RunsOut } from "../../parts/limits/runs-out.js";
import { Card, Empty, WhenReady } from "../../parts/page.js";
import { useListPoll } from "../../parts/use-poll.js";
import { tenantsTexts } from "../../texts/tenants-texts.js";

const texts = tenantsTexts.runningOut;
const shownMax = 5;
const path = `/admin/tenants?flat=true&sort=runs_out&limit=${shownMax}`;

export function RunsOutList() {
  const { polled, refresh } = useListPoll<TenantList>(path, { everyMs: 15_000 });
  return (
    <Card
      title={texts.title}
      note={<a href={hrefOf("tenants", { sort: "runs_out", view: "flat" })}>{texts.all}</a>}
    >
      <WhenReady polled={polled} onRetry={refresh}>
        {({ tenants, server_time }) => {
          const rows = tenants.filter(({ runs_out }) => runs_out !== null);
          return rows.length === 0 ? (
            <Empty icon="check" title={texts.none}>
              {texts.noneText}
            </Empty>
          ) : (
            <ul class="lines">
              {rows.map(({ user_path, runs_out }) => (
                <li key={user_path}>
                  <a href={tenantHref(user_path)}>
                    <code>{user_path}</code>
                  </a>
                  {runs_out !== null && <RunsOut limit={runs_out} now={server_time} />}
                </li>
              ))}
            </ul>
          );
        }}
      </WhenReady>
    </Card>
  );
}
