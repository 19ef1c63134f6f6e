/** The tenants that run out next, and when; above them, how many have run out. */
import type { TenantList } from "../../../../../shared/api/tenant-item.js";
import { hrefOf, tenantHref } from "../../data/router.js";
import { secondsBetween } from "../../logic/numbers.js";
import { RunsOut } from "../../parts/limits/runs-out.js";
import { Card, Empty, WhenReady } from "../../parts/page.js";
import { useListPoll } from "../../parts/use-poll.js";
import { tenantsTexts } from "../../texts/tenants-texts.js";

const texts = tenantsTexts.runningOut;
const shownMax = 5;
/** The number of tenants that are requested. Those that have run out come first. */
const askedMax = 100;
const path = `/admin/tenants?flat=true&sort=runs_out&limit=${askedMax}`;
const allHref = hrefOf("tenants", { sort: "runs_out", view: "flat" });

export function RunsOutList() {
  const { polled, refresh } = useListPoll<TenantList>(path, { everyMs: 15_000 });
  return (
    <Card title={texts.title} note={<a href={allHref}>{texts.all}</a>}>
      <WhenReady polled={polled} onRetry={refresh}>
        {({ tenants, server_time }) => {
          const ending = tenants.flatMap(({ user_path, runs_out }) => {
            const exhaustsAt = runs_out?.exhausts_at ?? null;
            return runs_out === null || exhaustsAt === null
              ? []
              : [{ user_path, runs_out, exhaustsAt }];
          });
          const rows = ending.filter(
            ({ exhaustsAt }) => secondsBetween(server_time, exhaustsAt) > 0,
          );
          const usedUp = ending.length - rows.length;
          return ending.length === 0 ? (
            <Empty icon="check" title={texts.none}>
              {texts.noneText}
            </Empty>
          ) : (
            <ul class="lines">
              {usedUp > 0 && (
                <li>
                  <a href={allHref}>{texts.usedUp(usedUp, usedUp === askedMax)}</a>
                </li>
              )}
              {rows.slice(0, shownMax).map(({ user_path, runs_out }) => (
                <li key={user_path}>
                  <a href={tenantHref(user_path)}>
                    <code>{user_path}</code>
                  </a>
                  <RunsOut limit={runs_out} now={server_time} />
                </li>
              ))}
            </ul>
          );
        }}
      </WhenReady>
    </Card>
  );
}
