/** How old what is shown is, in words that go on by themselves. */
import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../data/numbers.js";
import { shellTexts } from "../texts/shell-texts.js";

/** The browser's monotonic clock, read every second while the part is shown. */
export function useNowMs(): number {
  const [nowMs, setNowMs] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}

/** `heardMs`: by the same clock; 0 is never. */
export function Age({ heardMs }: { readonly heardMs: number }) {
  const nowMs = useNowMs();
  if (heardMs === 0) return null;
  return <>{shellTexts.age(formatDuration(Math.max(0, nowMs - heardMs) / 1000))}</>;
}
