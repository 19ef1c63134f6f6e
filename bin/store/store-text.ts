/** The content of a store, for people and for programs. */
import type { StoreReport } from "../../limiterd/maintenance/store-report.js";
import { formatSeconds } from "../../shared/time.js";
import { formatBytes, formatCount } from "../text/number-text.js";
import { renderFields } from "../text/table.js";

export function storeText(report: StoreReport): string {
  const { firstRecordMs, lastRecordMs, problems } = report;
  const period =
    firstRecordMs === null || lastRecordMs === null
      ? ""
      : ` from ${formatSeconds(firstRecordMs)} to ${formatSeconds(lastRecordMs)}`;
  return renderFields([
    ["schema", String(report.schema)],
    ["size", `${formatBytes(report.bytes)}, ${formatCount(report.entries)} entries`],
    ["rules", formatCount(report.rules)],
    ["budgets", formatCount(report.budgets)],
    ["keys", formatCount(report.keys)],
    ["records", `${formatCount(report.records)}${period}`],
    [
      "sums compared",
      `of ${formatCount(report.daysCompared)} ${report.daysCompared === 1 ? "day" : "days"}`,
    ],
    ["damage", problems.length === 0 ? "none" : (problems[0] ?? "")],
    ...problems.slice(1).map((problem) => ["", problem] as const),
  ]);
}

/** The object that `--json` prints. */
export function storeBody(report: StoreReport): object {
  const { firstRecordMs, lastRecordMs, daysCompared, ...rest } = report;
  const moment = (ms: number | null): string | null => (ms === null ? null : formatSeconds(ms));
  return {
    ...rest,
    first_record_at: moment(firstRecordMs),
    last_record_at: moment(lastRecordMs),
    days_compared: daysCompared,
  };
}
