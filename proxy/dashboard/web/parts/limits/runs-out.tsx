/** When a tenant's first limit or budget is used up at the present pace. */
import type { TenantLimit } from "../../../../../shared/api/tenant-item.js";
import { formatDuration, formatMoment, secondsBetween } from "../../logic/numbers.js";
import { tenantsTexts as texts } from "../../texts/tenants-texts.js";

export function RunsOut({ limit, now }: { readonly limit: TenantLimit; readonly now: string }) {
  const { exhausts_at: exhaustsAt, kind, period_label } = limit;
  if (exhaustsAt === null) return null;
  const seconds = secondsBetween(now, exhaustsAt);
  return (
    <span class="nowrap">
      <time
        class={`badge ${seconds < 86_400 ? "bad" : "warn"}`}
        dateTime={exhaustsAt}
        title={formatMoment(exhaustsAt)}
      >
        {seconds <= 0 ? texts.usedUp : texts.inTime(formatDuration(seconds))}
      </time>{" "}
      <span class="soft small">{texts.limitName(period_label, kind)}</span>
    </span>
  );
}
