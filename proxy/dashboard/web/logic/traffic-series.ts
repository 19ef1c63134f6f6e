/** The history of requests as lines of a chart. Pure. */
import type { RequestKind, TrafficReport } from "../../../../shared/api/request-item.js";

interface TrafficSeries {
  readonly stepSeconds: number;
  /** In ms. */
  readonly times: readonly number[];
  readonly answered: readonly number[];
  readonly unanswered: readonly number[];
}

const unansweredKinds: readonly RequestKind[] = [
  "failed",
  "refused",
  "denied",
  "invalid",
  "canceled",
];
/** More bars would be too narrow to point at. */
const barsMax = 120;
/** The lengths of a step, in seconds. */
const steps = [60, 300, 900, 3_600, 7_200, 21_600, 86_400];

/** The requests in each step. The steps are the shortest that fit into `barsMax` bars. */
export function trafficSeries({
  start,
  end,
  step_seconds,
  points,
}: Pick<TrafficReport, "start" | "end" | "step_seconds" | "points">): TrafficSeries {
  const [startMs, endMs] = [Date.parse(start), Date.parse(end)];
  const stepSeconds =
    steps.find(
      (seconds) => seconds >= step_seconds && endMs - startMs <= barsMax * seconds * 1000,
    ) ?? steps.at(-1)!;
  const stepMs = stepSeconds * 1000;
  const firstMs = startMs - (startMs % stepMs);
  const count = Math.max(0, Math.ceil((endMs - firstMs) / stepMs));
  const answered = new Array<number>(count).fill(0);
  const unanswered = new Array<number>(count).fill(0);
  for (const { time, requests } of points) {
    const step = Math.floor((Date.parse(time) - firstMs) / stepMs);
    if (step < 0 || step >= count) continue;
    answered[step]! += requests.answered;
    for (const kind of unansweredKinds) unanswered[step]! += requests[kind];
  }
  const times = answered.map((_, step) => firstMs + step * stepMs);
  return { stepSeconds, times, answered, unanswered };
}
