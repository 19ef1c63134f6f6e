/**
 * What `sluice limits test` prints of one rule. Pure; fields that a newer daemon adds aren't shown.
 */

import { isObject } from "../../shared/checked.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { roundedUpUsd } from "../../shared/domain/money.js";
import { periodLabel, type RuleKey } from "../../shared/domain/rule.js";
import { formatPercent } from "../../shared/text/percent.js";
import { formatCount } from "../text/number-text.js";
import { renderFields } from "../text/table.js";
import { capWords } from "./rule-table.js";

type Fields = Readonly<Record<string, unknown>>;

/** Said below every back-test: records hold what ran. */
export const backTestLimits =
  "Judged by what is recorded, for each rule alone: budgets, other rules, requests that were refused then, and what clients would have sent again, aren't in it.";

export function renderBackTest(rule: RuleKey, report: Fields): string {
  const { requests, refused } = report;
  const head = `${periodLabel(rule.periodSeconds)} rule on ${rule.scope} ${subjectWithModels(rule)}`;
  const judgedText = `${countOf(requests)} that began ${cellText(report["start"])} to ${cellText(report["end"])}`;
  const isRefusing = typeof refused === "number" && refused > 0;
  const fields: (readonly [string, string])[] = [
    ["requests", judgedText],
    ["refused", isRefusing ? refusedText(report) : countOf(refused)],
  ];
  const { went_on: wentOn } = report;
  if (typeof wentOn === "number") fields.push(["went on", `${countOf(wentOn)} when exhausted`]);
  if (isRefusing)
    fields.push(
      ["first", cellText(report["first_refused_at"])],
      ["last", cellText(report["last_refused_at"])],
      ["paths", pathsText(report["paths"])],
    );
  const caps = capsText(report["lowest_caps"]);
  if (caps !== "") fields.push(["refuses nothing from", caps]);
  return [`${head}:`, renderFields(fields), ...notes(report)].join("\n");
}

/** `31 (2.4%): by requests 20, by tokens 11`. */
function refusedText({ requests, refused, refused_for: why }: Fields): string {
  const share =
    typeof requests === "number" && typeof refused === "number" ? refused / requests : 0;
  const parts = Object.entries(isObject(why) ? why : {}).flatMap(([dimension, count]) =>
    typeof count === "number" && count > 0
      ? [`by ${dimension.replace("_", " ")} ${formatCount(count)}`]
      : [],
  );
  return `${countOf(refused)} (${share < 0.001 ? "<0.1%" : formatPercent(share, 1)}): ${parts.join(", ")}`;
}

function pathsText(paths: unknown): string {
  return (Array.isArray(paths) ? paths : [])
    .filter(isObject)
    .map(({ user_path: path, refused }) => `${cellText(path)} ${countOf(refused)}`)
    .join(", ");
}

function capsText(caps: unknown): string {
  const { max_cost: cost, ...others } = isObject(caps) ? caps : {};
  const shown = typeof cost === "number" ? { ...others, max_cost: roundedUpUsd(cost) } : others;
  return capWords(shown, formatCount).join(", ");
}

function notes({ start, oldest_record_at: oldest, late, inert }: Fields): string[] {
  const from = typeof start === "string" ? Date.parse(start) : 0;
  return [
    ...(oldest === null ? ["nothing is recorded yet"] : []),
    ...(typeof oldest === "string" && Date.parse(oldest) > from
      ? [`records begin ${oldest}: before that it isn't known`]
      : []),
    ...(typeof late === "number" && late > 0
      ? [`${formatCount(late)} more were recorded too late to be judged, and are counted alone`]
      : []),
    ...(typeof inert === "string" ? [`inert: ${inert}`] : []),
  ];
}

function countOf(value: unknown): string {
  return typeof value === "number" ? formatCount(value) : "-";
}

function cellText(value: unknown): string {
  return typeof value === "string" ? value : "-";
}
