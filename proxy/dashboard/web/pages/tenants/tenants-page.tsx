/** The page of all tenants, and the page of one tenant. */
import type { BudgetList } from "../../../../../shared/api/budget-item.js";
import type { KeyPage } from "../../../../../shared/api/key-item.js";
import type { RequestPage } from "../../../../../shared/api/request-item.js";
import type { RuleList } from "../../../../../shared/api/rule-item.js";
import type { UsageGroup, UsageSummary } from "../../../../../shared/api/usage-report.js";
import { isPathWithin } from "../../../../../shared/domain/user-path.js";
import { base, hrefOf } from "../../data/router.js";
import { rootOf } from "../../data/session.js";
import { closestLimits } from "../../logic/closest-limits.js";
import { itemKey } from "../../logic/list-page.js";
import { formatCount, formatMoney, formatShort, withCurrency } from "../../logic/numbers.js";
import { rangeParameters, stepOf } from "../../logic/usage-range.js";
import { When } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { LimitLine } from "../../parts/limits/limit-line.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { DaysFilter } from "../../parts/lists/range-filter.js";
import { Card, PageHead, WhenReady } from "../../parts/page.js";
import { Table } from "../../parts/table.js";
import { UsageChart } from "../../parts/usage/usage-chart.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { tenantsTexts as texts } from "../../texts/tenants-texts.js";
import { TenantTable } from "./tenant-table.js";

const place = "tenants";

export function TenantsPage() {
  const { router, session } = useApp();
  const { page } = router.place.value;
  // At the dashboard's own address, a role for a subtree begins with its path.
  const path = page === "" ? rootOf(session.session.value) : pathIn(page.slice(place.length));
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
  // A list that is switched off has a problem and no items.
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
          <DaysFilter times />
        </div>
        <TenantTable under={under} />
      </div>
    </>
  );
}

const eventsMax = 3;
const modelsMax = 10;

function Tenant({ path }: { readonly path: string }) {
  const encodedPath = encodeURIComponent(path);
  const { query } = useApp().router.place.value;
  const parameters = `by=model&step=${stepOf(query)}&${rangeParameters(query, Date.now())}`;
  const usage = useListPoll<UsageSummary>(`/admin/usage?user_path=${encodedPath}&${parameters}`, {
    everyMs: 60_000,
  });
  const series = usage.polled.body?.series;
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
          <DaysFilter times />
        </div>
        <WhenReady polled={usage.polled} onRetry={usage.refresh}>
          {({ usage: sums }) => <UsageSums usage={sums} />}
        </WhenReady>
        <div class="halves">
          <div class="stack">
            <LimitsInUse path={path} />
            {series !== undefined && <UsageChart series={series} />}
            <KeysOf path={path} />
          </div>
          <div class="stack">
            <EventsOf path={path} kind="failed" />
            <EventsOf path={path} kind="refused" />
            {usage.polled.body !== null && usage.polled.body.groups.length > 0 && (
              <ModelsOf path={path} groups={usage.polled.body.groups} />
            )}
          </div>
        </div>
      </div>
    </>
  );
}

interface PartProps {
  readonly path: string;
}

/**
 * The rows whose path begins with the searched one, without rows that only contain it elsewhere.
 */
function ownOf<Row>(rows: readonly Row[], pathOf: (row: Row) => string | null, path: string) {
  return rows.filter((row) => isPathWithin(pathOf(row) ?? "/", path));
}

function ModelsOf({ path, groups }: PartProps & { readonly groups: readonly UsageGroup[] }) {
  return (
    <Card title={texts.models}>
      <Table
        caption={texts.models}
        rows={groups.slice(0, modelsMax)}
        keyOf={({ key }) => key}
        columns={[
          {
            key: "model",
            head: texts.columnsOfModel.model,
            kind: "lead",
            cell: ({ key }) => (
              <a class="wrap" href={hrefOf("requests", { tab: "recent", path, model: key })}>
                {key}
              </a>
            ),
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
  );
}

function LimitsInUse({ path }: PartProps) {
  const limits = useClosest(path);
  return (
    <Card title={texts.limits}>
      <WhenReady polled={limits.polled} onRetry={limits.refresh}>
        {(all) => {
          const tenantLimits = ownOf(all, ({ subject }) => subject, path);
          return tenantLimits.length === 0 ? (
            <p class="card-body soft">{texts.noLimits}</p>
          ) : (
            <ul class="lines">
              {tenantLimits.map((limit) => (
                <LimitLine key={limit.kind + itemKey(limit)} limit={limit} />
              ))}
            </ul>
          );
        }}
      </WhenReady>
    </Card>
  );
}

function EventsOf({ path, kind }: PartProps & { readonly kind: "failed" | "refused" }) {
  const parameters = new URLSearchParams({ limit: String(rowsMax), kind, search: path });
  const list = useListPoll<RequestPage>(`/admin/requests?${parameters}`);
  const words = texts.events[kind];
  return (
    <Card
      title={words.title}
      note={
        <a href={hrefOf("requests", { tab: "failed", kind, search: path })}>{texts.allEvents}</a>
      }
    >
      <WhenReady polled={list.polled} onRetry={list.refresh}>
        {({ requests }) => {
          const tenantRequests = ownOf(requests, ({ user_path }) => user_path, path).slice(
            0,
            eventsMax,
          );
          return tenantRequests.length === 0 ? (
            <p class="card-body soft">{words.none}</p>
          ) : (
            <ul class="lines">
              {tenantRequests.map(({ request_id, time, status, error_message, note }) => (
                <li key={`${time} ${request_id}`}>
                  <div>
                    <a href={`${base}requests?id=${encodeURIComponent(request_id)}`}>
                      <code>{request_id}</code>
                    </a>
                    <div class="soft small wrap">{withCurrency(error_message ?? note ?? kind)}</div>
                  </div>
                  <div class="refusal-end">
                    <span class={`badge ${kind === "failed" ? "bad" : "warn"}`}>{status}</span>
                    <span class="soft small">
                      <When at={time} />
                    </span>
                  </div>
                </li>
              ))}
            </ul>
          );
        }}
      </WhenReady>
    </Card>
  );
}

function KeysOf({ path }: PartProps) {
  const encodedPath = encodeURIComponent(path);
  const keys = useListPoll<KeyPage>(`/admin/auth-keys?limit=${rowsMax}&search=${encodedPath}`, {
    everyMs: 60_000,
  });
  return (
    <Card title={texts.keys}>
      <WhenReady polled={keys.polled} onRetry={keys.refresh}>
        {({ auth_keys }) => {
          const tenantKeys = ownOf(auth_keys, ({ user_path }) => user_path, path);
          return tenantKeys.length === 0 ? (
            <p class="card-body soft">{texts.noKeys}</p>
          ) : (
            <ul class="lines">
              {tenantKeys.map(({ id, name, status }) => (
                <li key={id}>
                  <div>
                    <a class="strong" href={hrefOf("keys", { search: id })}>
                      {name ?? id}
                    </a>
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
  );
}
