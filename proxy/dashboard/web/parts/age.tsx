/** Ages and countdowns in words, updated as time passes. */
import {
  formatAge,
  formatDuration,
  formatMoment,
  formatWhen,
  secondsBetween,
} from "../logic/numbers.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";

/** `heardMs`: by the page's clock; 0 for never. */
export function Age({ heardMs }: { readonly heardMs: number }) {
  const { clock } = useApp();
  if (heardMs === 0) return null;
  return <>{shellTexts.age(formatDuration((clock.nowMs.value - heardMs) / 1000))}</>;
}

/** The time until `to`, counted from `from`, when the answer that arrived at `heardMs` was made. */
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

/** `isBrief`: without the year and the zone, for narrow places. */
export function When({ at, isBrief = false }: { readonly at: string; readonly isBrief?: boolean }) {
  const text = formatWhen(at, new Date().toISOString().slice(0, 10));
  return (
    <time class="nowrap" dateTime={at} title={formatMoment(at)}>
      {isBrief ? text.replace(/^\d{4}-| UTC$/g, "") : text}
    </time>
  );
}

/** The time since `moment` when the answer was made, by the daemon's clock, not the browser's. */
export function Ago({ moment, now }: { readonly moment: string | null; readonly now: string }) {
  if (moment === null) return <span class="soft">{shellTexts.never}</span>;
  const seconds = Math.max(0, secondsBetween(moment, now));
  return (
    <time class="nowrap" dateTime={moment} title={formatMoment(moment)}>
      {shellTexts.age(formatAge(seconds))}
    </time>
  );
}
