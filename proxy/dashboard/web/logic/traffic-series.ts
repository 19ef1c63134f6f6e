/** The history of requests as lines of a chart. Pure. */
import type { RequestKind, TrafficReport } from "../../../../shared/api/request-item.js";

interface TrafficSeries {
  readonly times: readonly number[];
  readonly answered: readonly number[];
  /** Failed, refused and denied. */
  readonly others: readonly number[];
}

const notAnswered: readonly RequestKind[] = ["failed", "refused", "denied", "invalid", "canceled"];

/** Requests per minute or hour; 0 at times in which nothing happened. */
export function trafficSeries({
  start,
  end,
  step_seconds,
  points,
}: Pick<TrafficReport, "start" | "end" | "step_seconds" | "points">): TrafficSeries {
  const stepMs = step_seconds * 1000;
  const known = new Map(points.map((point) => [Date.parse(point.time), point.requests]));
  const times: number[] = [];
  const answered: number[] = [];
  const others: number[] = [];
  const startMs = Date.parse(start);
  for (let ms = startMs - (startMs % stepMs); ms < Date.parse(end); ms += stepMs) {
    const requests = known.get(ms);
    times.push(ms);
    answered.push(requests?.answered ?? 0);
    others.push(
      requests === undefined ? 0 : notAnswered.reduce((sum, kind) => sum + requests[kind], 0),
    );
  }
  return { times, answered, others };
}
