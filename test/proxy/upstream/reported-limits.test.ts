import t from "tap";
import {
  readReportedLimits,
  readReportedWait,
  readResetMs,
} from "../../../proxy/upstream/limit-reports.js";
import type { ReportedLimit } from "../../../shared/domain/upstream-limits.js";
import { limitHeaders } from "../../outside/limit-headers.js";

const nowMs = Date.parse("2026-03-12T09:00:00Z");

function inWords(limits: readonly ReportedLimit[]): readonly string[] {
  return limits.map(
    ({ name, limit, remaining, resetMs }) =>
      `${name} ${limit ?? "-"} ${remaining ?? "-"} ${resetMs ?? "-"}`,
  );
}

for (const { provider, headers, body, isRefusal, limits, waitMs } of limitHeaders)
  t.test(provider, async (t) => {
    for (const asBytes of [false, true]) {
      const raw = Object.entries(headers)
        .flat()
        .map((text) => (asBytes ? Buffer.from(text) : text));
      const read =
        isRefusal === true
          ? readReportedWait(raw, body === undefined ? "" : JSON.stringify(body), nowMs)
          : { limits: readReportedLimits(raw, nowMs), waitMs: undefined };
      t.same(inWords(read.limits), limits);
      t.equal(read.waitMs, waitMs);
    }
  });

t.test("the time until a reset is never negative, and what is no time is none", async (t) => {
  for (const [text, ms] of [
    ["2026-03-12T08:59:00Z", 0],
    ["0", 0],
    ["1773306001", 1000],
    ["59.5", 59_500],
    ["1d2h", 93_600_000],
    ["soon", null],
    ["", null],
    ["-5", null],
    ["1e9", null],
  ] as const)
    t.equal(readResetMs(text, nowMs), ms, text);
});

t.test("an answer without such headers has none, and one with too many is cut", async (t) => {
  const usual = ["content-type", "application/json", "x-request-id", "a", "retry-after", "1"];
  t.same(readReportedLimits(usual, nowMs), []);
  const many = Array.from({ length: 100 }, (_, i) => [`x-ratelimit-limit-a${i}`, "1"]).flat();
  t.equal(readReportedLimits(many, nowMs).length, 16);
  t.same(readReportedWait([], "<html>", nowMs), { limits: [], waitMs: null });
});
