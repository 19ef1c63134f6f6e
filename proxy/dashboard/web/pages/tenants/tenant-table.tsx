/** Tenants as a tree that folds, or as a list in the order that the reader has chosen. */

import { useEffect, useMemo, useState } from "preact/hooks";
import {
  type TenantItem,
  type TenantList,
  type TenantSort,
  tenantSorts,
} from "../../../../../shared/api/tenant-item.js";
import { formatShare } from "../../../../../shared/text/percent.js";
import type { Answer } from "../../data/gateway-client.js";
import { Poll } from "../../data/poll.js";
import { hrefOf, tenantHref } from "../../data/router.js";
import { formatCount, formatMoney, formatShort, withCurrency } from "../../logic/numbers.js";
import { rangeParameters } from "../../logic/usage-range.js";
import { Ago } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { RunsOut } from "../../parts/limits/runs-out.js";
import { Card, Empty, WhenReady } from "../../parts/page.js";
import { type Column, Table, TableFoot } from "../../parts/table.js";
import { useRowsOfLastAnswer } from "../../parts/use-poll.js";
import { tenantsTexts as texts } from "../../texts/tenants-texts.js";

const rowsMax = 100;
const rowsBelowMax = 25;
/** A level with at most this many rows is open at first. */
const openedMax = 5;
const everyMs = 10_000;
/** The polling interval for a range with times, whose sums are made from records. */
const recordsEveryMs = 60_000;

interface TenantRow extends TenantItem {
  readonly depth: number;
  readonly isOpen: boolean;
  /** Whether rows below it aren't shown. */
  readonly hasMore: boolean;
}

interface Rows {
  readonly rows: readonly TenantRow[];
  readonly more: boolean;
  readonly serverTime: string;
}

interface TenantTableProps {
  /** The path whose tenants are shown. */
  readonly under: string;
}

export function TenantTable({ under }: TenantTableProps) {
  const { client, router } = useApp();
  const { query } = router.place.value;
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const search = query.get("search") ?? "";
  const sort = tenantSorts.find((candidate) => candidate === query.get("sort")) ?? "used";
  const isFlat = search !== "" || query.get("view") === "flat";
  const range = String(rangeParameters(query, Date.now()));
  const poll = useMemo(() => {
    const ask = (path: string, limit: number, signal: AbortSignal) => {
      const parameters = new URLSearchParams(range);
      parameters.set("under", path);
      parameters.set("sort", sort);
      parameters.set("limit", String(limit));
      parameters.set("flat", String(isFlat));
      if (search !== "") parameters.set("search", search);
      return client.get<TenantList>(`/admin/tenants?${parameters}`, signal);
    };
    const times = { everyMs: range.includes("start=") ? recordsEveryMs : everyMs };
    return new Poll((signal) => readTree(ask, { under, toggled }, signal), times);
  }, [client, under, sort, isFlat, search, range, toggled]);
  useEffect(() => poll.start(), [poll]);
  const { polled, refresh } = useRowsOfLastAnswer<Rows>(poll);
  const toggle = ({ user_path, isOpen }: TenantRow): void =>
    setToggled(new Map([...toggled, [user_path, !isOpen]]));
  const choose = (by: string): void => router.setQuery({ sort: by === "used" ? null : by });
  return (
    <Card>
      <WhenReady polled={polled} onRetry={refresh}>
        {({ rows, more, serverTime }) =>
          rows.length === 0 ? (
            <Empty icon="children" title={(search === "" ? texts.none : texts.unmatched).title}>
              {(search === "" ? texts.none : texts.unmatched).text}
            </Empty>
          ) : (
            <>
              <Table
                caption={texts.caption}
                rows={rows}
                keyOf={({ user_path }) => user_path}
                columns={columnsOf({ now: serverTime, under, isFlat, toggle })}
                isCompact
                sorting={{ by: sort, isDescending: isDescending(sort), choose }}
              />
              <TableFoot>
                <span>{more ? texts.first(rowsMax) : texts.shown(rows.length)}</span>
                <span>{texts.sums}</span>
              </TableFoot>
            </>
          )
        }
      </WhenReady>
    </Card>
  );
}

function isDescending(sort: TenantSort): boolean {
  return sort !== "path" && sort !== "runs_out";
}

type AskLevel = (path: string, limit: number, signal: AbortSignal) => Promise<Answer<TenantList>>;

interface Tree {
  readonly under: string;
  /** The paths that the reader has opened (true) or closed. */
  readonly toggled: ReadonlyMap<string, boolean>;
}

/** The rows of the open levels, each below its parent. */
async function readTree(
  ask: AskLevel,
  { under, toggled }: Tree,
  signal: AbortSignal,
): Promise<Answer<Rows>> {
  const first = await ask(under, rowsMax, signal);
  if (!first.ok) return first;
  const { tenants, more, server_time } = first.body;
  const rows: TenantRow[] = [];
  const add = async (items: readonly TenantItem[], depth: number): Promise<void> => {
    for (const item of items) {
      const isUsed = (item.nearest?.used_ratio ?? 0) > 0 || (item.usage?.requests ?? 0) > 0;
      const opensItself = depth === 0 && items.length <= openedMax && isUsed;
      const isOpen = item.has_children && (toggled.get(item.user_path) ?? opensItself);
      const below = isOpen ? await ask(item.user_path, rowsBelowMax, signal) : null;
      const hasMore = below?.ok === true && below.body.more;
      rows.push({ ...item, depth, isOpen, hasMore });
      if (below?.ok === true) await add(below.body.tenants, depth + 1);
    }
  };
  await add(tenants, 0);
  return { ok: true, body: { rows, more, serverTime: server_time } };
}

interface ColumnsOf {
  readonly now: string;
  readonly under: string;
  readonly isFlat: boolean;
  toggle(row: TenantRow): void;
}

function columnsOf({ now, under, isFlat, toggle }: ColumnsOf): readonly Column<TenantRow>[] {
  const heads = texts.columns;
  return [
    {
      key: "path",
      head: heads.path,
      kind: "lead",
      sort: "path",
      cell: (row) => (
        <span class="tree-cell" style={{ paddingLeft: `${row.depth * 20}px` }}>
          {!isFlat && <Fold row={row} toggle={toggle} />}
          <span class="subject">
            <a class="path" href={tenantHref(row.user_path)} title={row.user_path}>
              {row.depth === 0 && under === "/" ? row.user_path : nameOf(row.user_path, isFlat)}
            </a>
            {row.hasMore && (
              <a class="small" href={hrefOf("tenants", { under: row.user_path })}>
                {texts.furtherOnes(row.user_path)}
              </a>
            )}
          </span>
        </span>
      ),
    },
    {
      key: "brief",
      head: heads.used,
      isBrief: true,
      cell: ({ nearest }) => (nearest === null ? null : <UsedBadge ratio={nearest.used_ratio} />),
    },
    {
      key: "spend",
      head: heads.spend,
      kind: "number",
      sort: "spend",
      cell: ({ usage }) =>
        usage === null ? null : (
          <span
            title={
              usage.unpriced_requests > 0
                ? texts.unpriced(formatCount(usage.unpriced_requests))
                : texts.tokens(formatShort(usage.total_tokens))
            }
          >
            {formatMoney(usage.total_cost)}
          </span>
        ),
    },
    {
      key: "used",
      head: heads.used,
      sort: "used",
      cell: ({ nearest }) =>
        nearest === null ? null : (
          <span class="nowrap">
            <UsedBadge ratio={nearest.used_ratio} />{" "}
            <span class="soft small">{texts.limitName(nearest.period_label, nearest.kind)}</span>
          </span>
        ),
    },
    {
      key: "runsOut",
      head: heads.runsOut,
      sort: "runs_out",
      cell: ({ runs_out }) => (runs_out === null ? null : <RunsOut limit={runs_out} now={now} />),
    },
    {
      key: "refusals",
      head: heads.refusals,
      kind: "number",
      sort: "refusals",
      cell: ({ user_path, refusals }) => (
        <EventCount kind="refused" path={user_path} count={refusals} />
      ),
    },
    {
      key: "failures",
      head: heads.failures,
      kind: "number",
      sort: "failures",
      cell: ({ user_path, failures }) => (
        <EventCount kind="failed" path={user_path} count={failures} />
      ),
    },
    {
      key: "error",
      head: heads.error,
      sort: "errors",
      cell: ({ last_error: error }) =>
        error === null ? null : (
          <a
            href={hrefOf("requests", { id: error.request_id })}
            title={withCurrency(error.message)}
          >
            <Ago moment={error.at} now={now} />
          </a>
        ),
    },
    {
      key: "keys",
      head: heads.keys,
      kind: "number",
      sort: "keys",
      cell: ({ user_path, keys }) =>
        keys === 0 ? null : <a href={hrefOf("keys", { search: user_path })}>{formatCount(keys)}</a>,
    },
  ];
}

/** In a tree, the part below its parent. */
function nameOf(path: string, isFlat: boolean): string {
  return isFlat ? path : path.slice(path.lastIndexOf("/") + 1);
}

function UsedBadge({ ratio }: { readonly ratio: number }) {
  const look = ratio >= 1 ? "bad" : ratio >= 0.8 ? "warn" : "";
  return <span class={`badge ${look}`}>{formatShare(ratio)}</span>;
}

interface FoldProps {
  readonly row: TenantRow;
  toggle(row: TenantRow): void;
}

function Fold({ row, toggle }: FoldProps) {
  if (!row.has_children) return <span class="fold" />;
  return (
    <button
      type="button"
      class="fold"
      aria-expanded={row.isOpen}
      aria-label={texts.fold(row.user_path)}
      onClick={() => toggle(row)}
    >
      <Icon name="forward" />
    </button>
  );
}

interface EventCountProps {
  readonly kind: "refused" | "failed";
  readonly path: string;
  readonly count: number;
}

function EventCount({ kind, path, count }: EventCountProps) {
  if (count === 0) return <span class="soft">0</span>;
  return (
    <a href={hrefOf("requests", { tab: "failed", kind, search: path })}>{formatCount(count)}</a>
  );
}
