/** The tenants of templates, the fullest first; and one tenant on one screen. */
import type { BudgetList } from "../../../../../shared/api/budget-item.js";
import type { KeyPage } from "../../../../../shared/api/key-item.js";
import type { RequestPage } from "../../../../../shared/api/request-item.js";
import type { RuleList } from "../../../../../shared/api/rule-item.js";
import type { UsageSummary } from "../../../../../shared/api/usage-report.js";
import { isPathWithin } from "../../../../../shared/domain/user-path.js";
import { base } from "../../data/router.js";
import { closestLimits } from "../../logic/closest-limits.js";
import { itemKey } from "../../logic/list-page.js";
import { formatCount, formatMoney, formatShort, formatTime } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { LimitLine } from "../../parts/limits/limit-line.js";
import { SearchFilter } from "../../parts/lists/filters.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { Table } from "../../parts/table.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { tenantsTexts as texts } from "../../texts/tenants-texts.js";

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
  const search = useApp().router.place.value.query.get("search") ?? "";
  const { polled, refresh } = useClosest(search);
  return (
    <>
      <PageHead title={shellTexts.pages.tenants}>{texts.about}</PageHead>
      <div class="stack">
        <div class="filters">
          <SearchFilter label={texts.search} />
        </div>
        <Card>
          <WhenReady polled={polled} onRetry={refresh}>
            {(all) => {
              const children = all.filter(({ template }) => template !== undefined);
              return children.length === 0 ? (
                <Empty icon="children" title={texts.none.title}>
                  {texts.none.text}
                </Empty>
              ) : (
                <ul class="lines">
                  {children.slice(0, rowsMax).map((limit) => (
                    <LimitLine key={limit.kind + itemKey(limit)} limit={limit} />
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

const eventsMax = 10;

function Tenant({ path }: { readonly path: string }) {
  const at = encodeURIComponent(path);
  const limits = useClosest(path);
  const usage = useListPoll<UsageSummary>(`/admin/usage?user_path=${at}&by=model&days=30`, {
    everyMs: 60_000,
  });
  const keys = useListPoll<KeyPage>(`/admin/auth-keys?limit=${rowsMax}&search=${at}`, {
    everyMs: 60_000,
  });
  const failed = useListPoll<RequestPage>(`/admin/requests?limit=${rowsMax}&search=${at}`);
  const isOf = (own: string | null | undefined): boolean => own != null && isPathWithin(own, path);
  return (
    <>
      <PageHead title={path}>
        <a href={`${base}${place}`}>{texts.all}</a>
      </PageHead>
      <div class="stack">
        <WhenReady polled={usage.polled} onRetry={usage.refresh}>
          {({ usage: sums, groups }) => (
            <>
              <UsageSums usage={sums} />
              {groups.length > 0 && (
                <Card title={texts.models} note={texts.days}>
                  <Table
                    caption={texts.models}
                    rows={groups.slice(0, eventsMax)}
                    keyOf={({ key }) => key}
                    columns={[
                      {
                        key: "model",
                        head: texts.columns.model,
                        kind: "lead",
                        cell: ({ key }) => <span class="wrap">{key}</span>,
                      },
                      {
                        key: "requests",
                        head: texts.columns.requests,
                        kind: "number",
                        cell: ({ requests }) => formatCount(requests),
                      },
                      {
                        key: "tokens",
                        head: texts.columns.tokens,
                        kind: "number",
                        cell: ({ total_tokens }) => formatShort(total_tokens),
                      },
                      {
                        key: "cost",
                        head: texts.columns.cost,
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
        <Card title={texts.events}>
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
                        <span class="soft small nowrap">{formatTime(time)}</span>
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
