/** A line with the progress of long work; short work shows none. */
import { formatPercent } from "../../shared/text/percent.js";
import { formatDuration } from "../text/duration.js";

export interface ProgressLine {
  /** `ratio`: the finished share, from 0 to 1; `done`: in words, such as `58,000 records`. */
  show(ratio: number, done: string): void;
  /** Removes the line, if any. */
  clear(): void;
}

interface ProgressOptions {
  /** Replaces the line; an empty text removes it. */
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

/** Starts measuring: the work begins now. */
export function createProgressLine({ draw, monoMs, unicode }: ProgressOptions): ProgressLine {
  const startedMs = monoMs();
  let drawnMs: number | null = null;
  return {
    show(ratio, done) {
      const now = monoMs();
      const elapsedMs = now - startedMs;
      if (elapsedMs < momentMs || (drawnMs !== null && now - drawnMs < redrawMs)) return;
      drawnMs = now;
      draw(progressText({ ratio, done, elapsedMs, unicode }));
    },
    clear() {
      if (drawnMs !== null) draw("");
      drawnMs = null;
    },
  };
}

/**
 * `███████─────  29%  58,000 records, 3s left`; without the time left while too little is done to
 * estimate it. At most 70 columns: the line must not wrap.
 */
export function progressText({
  ratio,
  done: words,
  elapsedMs,
  unicode,
}: {
  readonly ratio: number;
  readonly done: string;
  readonly elapsedMs: number;
  readonly unicode: boolean;
}): string {
  const done = Math.min(1, Math.max(0, ratio));
  const filled = Math.floor(done * barColumns);
  const [full, empty] = unicode ? ["█", "─"] : ["#", "-"];
  const remaining =
    done < 0.01 || done === 1
      ? ""
      : `, ${formatDuration((elapsedMs * (1 - done)) / done / 1000)} left`;
  const bar = full.repeat(filled) + empty.repeat(barColumns - filled);
  const percent = formatPercent(Math.floor(done * 100) / 100).padStart(4);
  return `${bar} ${percent}  ${words}${remaining}`;
}
