/** All tenants; and one tenant on one screen. */
import type { BudgetList } from "../../../../../shared/api/budget-item.js";
import type { KeyPage } from "../../../../../shared/api/key-item.js";
import type { RequestPage } from "../../../../../shared/api/request-item.js";
import type { RuleList } from "../../../../../shared/api/rule-item.js";
import type { UsageSummary } from "../../../../../shared/api/usage-report.js";
import { isPathWithin } from "../../../../../shared/domain/user-path.js";
import { base, hrefOf } from "../../data/router.js";
import { rootOf } from "../../data/session.js";
import { closestLimits } from "../../logic/closest-limits.js";
import { itemKey } from "../../logic/list-page.js";
import { formatCount, formatMoment, formatMoney, formatShort } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { LimitLine } from "../../parts/limits/limit-line.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { DaysFilter, daysAsked } from "../../parts/lists/range-filter.js";
import { Card, PageHead, WhenReady } from "../../parts/page.js";
import { Table } from "../../parts/table.js";
import { UsageDays } from "../../parts/usage/usage-days.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { tenantsTexts as texts } from "../../texts/tenants-texts.js";
import { TenantTable } from "./tenant-table.js";

const place = "tenants";

export function TenantsPage() {
  const { page } = useApp().router.place.value;
  const path = pathIn(page.slice(place.length));
  return path === "" ? <Tenants /> : <Tenant key={path} path={path} />;
}

/** Empty for the list of all, and for an address that can't be decoded. */
function pathIn(address: string): string {
  try {
    return address.split("/").map(decodeURIComponent).join("/");
  } catch {
    return "";
  }
}

const rowsMax = 100;
const everyMs = 10_000;

function useClosest(search: string) {
  const query = `limit=${rowsMax}&order=use&scope=user_path&search=${encodeURIComponent(search)}`;
  const rules = useListPoll<RuleList>(`/admin/rate-limits?${query}`, { everyMs });
  const budgets = useListPoll<BudgetList>(`/admin/budgets?${query}`, { everyMs });
  // A list that is switched off has a problem, and no items.
  const isReady = [rules, budgets].every(
    ({ polled }) => polled.body !== null || polled.problem !== null,
  );
  const closest = closestLimits(
    {
      rules: rules.polled.body?.rate_limits ?? [],
      budgets: budgets.polled.body?.budgets ?? [],
    },
    2 * rowsMax,
  );
  return {
    polled: { body: isReady ? closest : null, heardMs: 0, problem: null },
    refresh() {
      rules.refresh();
      budgets.refresh();
    },
  };
}

function Tenants() {
  const { router, session } = useApp();
  const { query } = router.place.value;
  const root = rootOf(session.session.value);
  const under = query.get("under") ?? root;
  return (
    <>
      <PageHead title={shellTexts.pages.tenants}>
        {under === root ? texts.about : <a href={`${base}${place}`}>{texts.all}</a>}
      </PageHead>
      <div class="stack">
        <div class="filters">
          <SearchFilter label={texts.search} />
          <FilterSelect
            name="view"
            label={texts.view}
            options={[
              ["", texts.tree],
              ["flat", texts.flat],
            ]}
          />
          <DaysFilter />
        </div>
        <TenantTable under={under} />
      </div>
    </>
  );
}

const eventsMax = 10;

function Tenant({ path }: { readonly path: string }) {
  const at = encodeURIComponent(path);
  const limits = useClosest(path);
  const days = daysAsked(useApp().router.place.value.query);
  const usage = useListPoll<UsageSummary>(`/admin/usage?user_path=${at}&by=model&${days}`, {
    everyMs: 60_000,
  });
  const byDay = useListPoll<UsageSummary>(`/admin/usage?user_path=${at}&by=day&${days}`, {
    everyMs: 60_000,
  });
  const keys = useListPoll<KeyPage>(`/admin/auth-keys?limit=${rowsMax}&search=${at}`, {
    everyMs: 60_000,
  });
  const failed = useListPoll<RequestPage>(`/admin/requests?limit=${rowsMax}&search=${at}`);
  const isOf = (own: string | null | undefined): boolean => own != null && isPathWithin(own, path);
  return (
    <>
      <PageHead
        title={path}
        actions={
          <>
            <a class="button" href={hrefOf("explain", { path })}>
              {shellTexts.pages.explain}
            </a>
            <a class="button" href={hrefOf("requests", { tab: "recent", path })}>
              {shellTexts.pages.requests}
            </a>
          </>
        }
      >
        <a href={`${base}${place}`}>{texts.all}</a>
      </PageHead>
      <div class="stack">
        <div class="filters">
          <DaysFilter />
        </div>
        <WhenReady polled={usage.polled} onRetry={usage.refresh}>
          {({ usage: sums, groups }) => (
            <>
              <UsageSums usage={sums} />
              {byDay.polled.body !== null && (
                <UsageDays usage={byDay.polled.body.usage} groups={byDay.polled.body.groups} />
              )}
              {groups.length > 0 && (
                <Card title={texts.models}>
                  <Table
                    caption={texts.models}
                    rows={groups.slice(0, eventsMax)}
                    keyOf={({ key }) => key}
                    columns={[
                      {
                        key: "model",
                        head: texts.columnsOfModel.model,
                        kind: "lead",
                        cell: ({ key }) => <span class="wrap">{key}</span>,
                      },
                      {
                        key: "requests",
                        head: texts.columnsOfModel.requests,
                        kind: "number",
                        cell: ({ requests }) => formatCount(requests),
                      },
                      {
                        key: "tokens",
                        head: texts.columnsOfModel.tokens,
                        kind: "number",
                        cell: ({ total_tokens }) => formatShort(total_tokens),
                      },
                      {
                        key: "cost",
                        head: texts.columnsOfModel.cost,
                        kind: "number",
                        cell: ({ total_cost }) => formatMoney(total_cost),
                      },
                    ]}
                  />
                </Card>
              )}
            </>
          )}
        </WhenReady>
        <Card title={texts.limits}>
          <WhenReady polled={limits.polled} onRetry={limits.refresh}>
            {(all) => {
              const own = all.filter(({ subject }) => isOf(subject));
              return own.length === 0 ? (
                <p class="card-body soft">{texts.noLimits}</p>
              ) : (
                <ul class="lines">
                  {own.map((limit) => (
                    <LimitLine key={limit.kind + itemKey(limit)} limit={limit} />
                  ))}
                </ul>
              );
            }}
          </WhenReady>
        </Card>
        <Card
          title={texts.events}
          note={<a href={hrefOf("requests", { tab: "failed", search: path })}>{texts.allEvents}</a>}
        >
          <WhenReady polled={failed.polled} onRetry={failed.refresh}>
            {({ requests }) => {
              const own = requests.filter(({ user_path }) => isOf(user_path)).slice(0, eventsMax);
              return own.length === 0 ? (
                <p class="card-body soft">{texts.noEvents}</p>
              ) : (
                <ul class="lines">
                  {own.map(({ request_id, time, kind, status, error_message, note }) => (
                    <li key={`${time} ${request_id}`}>
                      <div>
                        <a href={`${base}requests?id=${encodeURIComponent(request_id)}`}>
                          <code>{request_id}</code>
                        </a>
                        <div class="soft small wrap">{error_message ?? note ?? kind}</div>
                      </div>
                      <div class="refusal-end">
                        <span class={`badge ${kind === "failed" ? "bad" : "warn"}`}>{status}</span>
                        <span class="soft small nowrap">{formatMoment(time)}</span>
                      </div>
                    </li>
                  ))}
                </ul>
              );
            }}
          </WhenReady>
        </Card>
        <Card title={texts.keys}>
          <WhenReady polled={keys.polled} onRetry={keys.refresh}>
            {({ auth_keys }) => {
              const own = auth_keys.filter(({ user_path }) => isOf(user_path));
              return own.length === 0 ? (
                <p class="card-body soft">{texts.noKeys}</p>
              ) : (
                <ul class="lines">
                  {own.map(({ id, name, status }) => (
                    <li key={id}>
                      <div>
                        <span class="strong">{name ?? id}</span>
                        <div class="soft small">{id}</div>
                      </div>
                      <span class={status === "active" ? "badge good" : "badge"}>{status}</span>
                    </li>
                  ))}
                </ul>
              );
            }}
          </WhenReady>
        </Card>
      </div>
    </>
  );
}
