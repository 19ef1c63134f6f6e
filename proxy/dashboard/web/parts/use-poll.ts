/** A question to the gateway for as long as a part of a page is shown. */
import { useEffect, useMemo } from "preact/hooks";
import { Poll } from "../data/poll.js";
import { useApp } from "./app.js";

/** Asks anew when the path changes. `everyMs` 0: once. */
export function usePoll<T>(path: string, everyMs: number): Poll<T> {
  const { client } = useApp();
  const poll = useMemo(() => new Poll<T>(client, path, { everyMs }), [client, path, everyMs]);
  useEffect(() => poll.start(), [poll]);
  return poll;
}
