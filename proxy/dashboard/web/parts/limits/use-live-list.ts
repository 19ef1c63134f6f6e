/** Hooks for pages of rules and budgets that are updated while they are shown. */
import { useEffect, useMemo } from "preact/hooks";
import type { BudgetPage } from "../../../../../shared/api/budget-item.js";
import type { LiveLists } from "../../../../../shared/api/live-event.js";
import type { RulePage } from "../../../../../shared/api/rule-item.js";
import type { Follower } from "../../data/live-feed.js";
import { LiveList } from "../../data/live-list.js";
import { itemsAfter } from "../../logic/list-page.js";
import { useApp } from "../app.js";
import { type ListPoll, useRowsOfLastAnswer } from "../use-poll.js";

/** `query`: the filters, as for GET /admin/rate-limits; null to request nothing. */
export function useRules(query: string | null): ListPoll<RulePage> {
  const { client } = useApp();
  const reader = useMemo(
    () =>
      new LiveList<RulePage, LiveLists["rules"]>(
        (signal) => client.get(`/admin/rate-limits?${query}`, signal),
        (before, { whole, ...page }) => ({
          ...page,
          rate_limits: itemsAfter(before?.rate_limits ?? [], whole, page.rate_limits),
        }),
      ),
    [client, query],
  );
  useFollower(
    useMemo(() => (query === null ? null : { list: "rules", query, reader }), [query, reader]),
  );
  return useRowsOfLastAnswer(reader.poll);
}

/** As `useRules`, for GET /admin/budgets. */
export function useBudgets(query: string | null): ListPoll<BudgetPage> {
  const { client } = useApp();
  const reader = useMemo(
    () =>
      new LiveList<BudgetPage, LiveLists["budgets"]>(
        (signal) => client.get(`/admin/budgets?${query}`, signal),
        (before, { whole, ...page }) => ({
          ...page,
          budgets: itemsAfter(before?.budgets ?? [], whole, page.budgets),
        }),
      ),
    [client, query],
  );
  useFollower(
    useMemo(() => (query === null ? null : { list: "budgets", query, reader }), [query, reader]),
  );
  return useRowsOfLastAnswer(reader.poll);
}

interface PolledReader {
  readonly reader: { readonly poll: { start(): () => void } };
}

function useFollower(follower: (Follower & PolledReader) | null) {
  const { live } = useApp();
  useEffect(() => {
    if (follower === null) return;
    const stop = follower.reader.poll.start();
    const leave = live.follow(follower);
    return () => {
      leave();
      stop();
    };
  }, [live, follower]);
}
