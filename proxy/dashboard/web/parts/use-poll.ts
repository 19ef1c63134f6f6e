/** A question to the gateway for as long as a part of a page is shown. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Answer, GatewayClient } from "../data/gateway-client.js";
import { Poll, type Polled } from "../data/poll.js";
import { useApp } from "./app.js";

/** Asks anew when the path changes. `everyMs` 0: once. */
export function usePoll<T>(path: string, everyMs: number): Poll<T> {
  const { client } = useApp();
  const poll = useMemo(
    () => new Poll<T>((signal) => client.get(path, signal), everyMs),
    [client, path, everyMs],
  );
  useEffect(() => poll.start(), [poll]);
  return poll;
}

/** A question in several requests. `ask` must stay the same. */
export function usePolled<T>(
  ask: (client: GatewayClient, signal: AbortSignal) => Promise<Answer<T>>,
  everyMs: number,
): Poll<T> {
  const { client } = useApp();
  const poll = useMemo(
    () => new Poll<T>((signal) => ask(client, signal), everyMs),
    [client, ask, everyMs],
  );
  useEffect(() => poll.start(), [poll]);
  return poll;
}

const listEveryMs = 5_000;

export interface ListPoll<T> {
  readonly polled: Polled<T>;
  refresh(): void;
}

/** As `usePoll`, but the rows stay until those of another filter or page have come. */
export function useListPoll<T>(path: string, everyMs = listEveryMs): ListPoll<T> {
  const poll = usePoll<T>(path, everyMs);
  const before = useRef<T | null>(null);
  const polled = poll.state.value;
  if (polled.body !== null) before.current = polled.body;
  return {
    polled: { ...polled, body: polled.body ?? (polled.problem === null ? before.current : null) },
    refresh: () => poll.refresh(),
  };
}
