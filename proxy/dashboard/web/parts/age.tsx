/** How old what is shown is, and how long until something happens, in words that go on. */
import { formatDuration, secondsBetween } from "../logic/numbers.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";

/** `heardMs`: by the clock of the pages; 0 is never. */
export function Age({ heardMs }: { readonly heardMs: number }) {
  const { clock } = useApp();
  if (heardMs === 0) return null;
  return <>{shellTexts.age(formatDuration((clock.nowMs.value - heardMs) / 1000))}</>;
}

/** Until `to`, as seen from `from`, which is when the answer of `heardMs` was made. */
export function Countdown({
  from,
  to,
  heardMs,
}: {
  readonly from: string;
  readonly to: string;
  readonly heardMs: number;
}) {
  const { clock } = useApp();
  const passed = Math.max(0, clock.nowMs.value - heardMs) / 1000;
  return <>{formatDuration(secondsBetween(from, to) - passed)}</>;
}
