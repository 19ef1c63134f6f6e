/** How old what is shown is, and how long until something happens, in words that go on. */
import { formatDuration, formatMoment, secondsBetween } from "../logic/numbers.js";
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

/** How long ago `moment` was when the answer was made: by the daemon's clock, not the browser's. */
export function Ago({ moment, now }: { readonly moment: string | null; readonly now: string }) {
  if (moment === null) return <span class="soft">{shellTexts.never}</span>;
  const seconds = Math.max(0, secondsBetween(moment, now));
  return (
    <time class="nowrap" dateTime={moment} title={formatMoment(moment)}>
      {shellTexts.age(formatDuration(seconds))}
    </time>
  );
}
