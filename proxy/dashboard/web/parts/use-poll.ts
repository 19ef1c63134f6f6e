/** Polls the gateway while a part of a page is shown. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { DaemonStatus } from "../../../../shared/api/gateway-status.js";
import { Poll, type PolledValue } from "../data/poll.js";
import { useApp } from "./app.js";

/** A count of the daemon's that changes when the list has changed. */
export type News = (status: DaemonStatus) => number;

/** Requests again when the path changes. `everyMs` 0: only once. */
export function usePoll<T>(path: string, everyMs: number, news?: News): Poll<T> {
  const { client } = useApp();
  const poll = useMemo(
    () => new Poll<T>((signal) => client.get(path, signal), { everyMs }),
    [client, path, everyMs],
  );
  useEffect(() => poll.start(), [poll]);
  useNews(poll, news);
  return poll;
}

function useNews<T>(poll: Poll<T>, news: News | undefined): void {
  const { live } = useApp();
  const { status } = live.live.value;
  const count = news === undefined || status === null ? null : news(status);
  const before = useRef(count);
  useEffect(() => {
    if (before.current !== null && count !== null && count !== before.current) poll.refreshSoon();
    before.current = count;
  }, [poll, count]);
}

const listEveryMs = 5_000;

export interface ListPoll<T> {
  readonly polled: PolledValue<T>;
  refresh(): void;
}

interface ListTimes {
  readonly everyMs?: number;
  readonly news?: News;
}

/** As `usePoll`, but keeps the rows until those of another filter or page have arrived. */
export function useListPoll<T>(path: string, times: ListTimes = {}): ListPoll<T> {
  return useRowsOfLastAnswer(usePoll<T>(path, times.everyMs ?? listEveryMs, times.news));
}

/** Keeps the rows of the previous filter or page until the new rows arrive. */
export function useRowsOfLastAnswer<T>(poll: Poll<T>): ListPoll<T> {
  const before = useRef<T | null>(null);
  const polled = poll.state.value;
  if (polled.body !== null) before.current = polled.body;
  return {
    polled: { ...polled, body: polled.body ?? (polled.problem === null ? before.current : null) },
    refresh: () => poll.refresh(),
  };
}
