/** One line that tells how far long work is. It stays away from work that is done in a moment. */
import { formatDuration } from "../text/duration.js";
import { formatCount } from "../text/number-text.js";

export interface ProgressLine {
  /** `share` from 0 to 1. */
  show(share: number, records: number): void;
  /** Takes the line away; nothing happens if none is there. */
  clear(): void;
}

export interface ProgressOptions {
  /** Replaces the line that was shown; an empty text takes it away. */
  draw(text: string): void;
  monoMs(): number;
  /** Whether block characters can be shown. */
  readonly unicode: boolean;
}

/** Work shorter than this shows nothing. */
const momentMs = 500;
/** Between two redraws. */
const redrawMs = 100;
const barColumns = 24;

/** The work begins now. */
export function createProgressLine({ draw, monoMs, unicode }: ProgressOptions): ProgressLine {
  const startedMs = monoMs();
  let drawnMs: number | null = null;
  return {
    show(share, records) {
      const now = monoMs();
      const elapsedMs = now - startedMs;
      if (elapsedMs < momentMs || (drawnMs !== null && now - drawnMs < redrawMs)) return;
      drawnMs = now;
      draw(progressText({ share, records, elapsedMs, unicode }));
    },
    clear() {
      if (drawnMs !== null) draw("");
      drawnMs = null;
    },
  };
}

/**
 * `███████─────  29 %  58,000 records, 3s left`; without the time that is left while too little is
 * done to tell. At most 70 columns: it must not wrap.
 */
export function progressText({
  share,
  records,
  elapsedMs,
  unicode,
}: {
  readonly share: number;
  readonly records: number;
  readonly elapsedMs: number;
  readonly unicode: boolean;
}): string {
  const done = Math.min(1, Math.max(0, share));
  const filled = Math.floor(done * barColumns);
  const [full, empty] = unicode ? ["█", "─"] : ["#", "-"];
  const left =
    done < 0.01 || done === 1
      ? ""
      : `, ${formatDuration((elapsedMs * (1 - done)) / done / 1000)} left`;
  return `${full.repeat(filled)}${empty.repeat(barColumns - filled)} ${String(Math.floor(done * 100)).padStart(3)} %  ${formatCount(records)} records${left}`;
}
