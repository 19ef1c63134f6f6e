/** A limit or budget in one line: its subject, its period, and its used share. */
import { textOfWhen } from "../../../../../shared/domain/rule-hours.js";
import { hrefOf, tenantHref } from "../../data/router.js";
import type { ClosestLimit } from "../../logic/closest-limits.js";
import { formatMoment, formatMoney } from "../../logic/numbers.js";
import { formatOf } from "../../logic/used-share.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { overviewTexts } from "../../texts/overview-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { tenantsTexts } from "../../texts/tenants-texts.js";
import { Meter } from "../meter.js";
import { periodText } from "./limit-row.js";

/** A limit as a line, which links to the tenant for a template's child, else to the list. */
export function LimitLine({ limit }: { readonly limit: ClosestLimit }) {
  const { kind, scope, subject, template, models, when, used, cap, exhausts_at } = limit;
  const isBudget = kind === "budget";
  const list = hrefOf(isBudget ? "budgets" : "limits", {
    scope: scope === "user_path" ? null : scope,
    search: subject,
  });
  const unitText = isBudget ? overviewTexts.closest.budget : shellTexts.units[kind];
  const words = isBudget ? budgetsTexts.periods : limitsTexts.periods;
  return (
    <li>
      <div>
        <a href={template === undefined ? list : tenantHref(subject)}>
          <code>{subject}</code>
        </a>
        <div class="soft small">
          {models !== undefined && `${limitsTexts.onModels(models)} · `}
          {when !== undefined && `${textOfWhen(when)} · `}
          {periodText(limit, words)}
          {kind !== "concurrent" && ` · ${unitText}`}
          {exhausts_at !== null &&
            used < cap &&
            ` · ${tenantsTexts.spentAt(formatMoment(exhausts_at))}`}
        </div>
      </div>
      <Meter used={used} cap={cap} format={isBudget ? formatMoney : formatOf(kind)} />
    </li>
  );
}
