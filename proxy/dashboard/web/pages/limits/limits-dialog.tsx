/** The dialogs of the page of limits: one is open at a time. */
import type { ChildItem, RuleItem } from "../../../../../shared/api/rule-item.js";
import { formatCount } from "../../logic/numbers.js";
import { newRule, ruleBody, ruleDraftOf } from "../../logic/rule-draft.js";
import { usesOverTime } from "../../logic/used-share.js";
import { CapMeters } from "../../parts/limits/cap-meters.js";
import { ChildrenDialog } from "../../parts/limits/children-dialog.js";
import { ConfirmLimits, ConfirmResetAll } from "../../parts/limits/confirm-limit.js";
import { RaiseDialog } from "../../parts/limits/raise-dialog.js";
import { Meter } from "../../parts/meter.js";
import type { Column } from "../../parts/table.js";
import { limitsTexts as texts } from "../../texts/limits-texts.js";
import { RuleDialog } from "./rule-dialog.js";

const listPath = "/admin/rate-limits";

export type OpenDialog =
  | { readonly kind: "add"; readonly scope: RuleItem["scope"] }
  | { readonly kind: "edit"; readonly rule: RuleItem }
  | { readonly kind: "raise"; readonly rule: RuleItem }
  | { readonly kind: "reset" | "remove"; readonly rules: readonly RuleItem[] }
  | { readonly kind: "children"; readonly rule: RuleItem }
  | { readonly kind: "reset-all" };

interface LimitsDialogProps {
  readonly dialog: OpenDialog;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function LimitsDialog({ dialog, onClose, onChanged }: LimitsDialogProps) {
  const callbacks = { onClose, onDone: onChanged };
  switch (dialog.kind) {
    case "add":
      return <RuleDialog initial={newRule(dialog.scope, "")} original={null} {...callbacks} />;
    case "edit":
      return (
        <RuleDialog initial={ruleDraftOf(dialog.rule)} original={dialog.rule} {...callbacks} />
      );
    case "raise":
      return <RaiseDialog item={dialog.rule} keyField="limit_key" path={listPath} {...callbacks} />;
    case "children":
      return <RuleChildren rule={dialog.rule} onClose={onClose} />;
    case "reset-all":
      return <ConfirmResetAll path={listPath} words={texts.confirmAll} {...callbacks} />;
    case "reset":
    case "remove":
      return (
        <ConfirmLimits
          kind={dialog.kind}
          items={dialog.rules}
          bodyOf={(rule) => ruleBody(ruleDraftOf(rule), null)}
          keyField="limit_key"
          path={listPath}
          periods={texts.periods}
          words={dialog.kind === "reset" ? texts.confirmReset : texts.confirmDelete}
          {...callbacks}
        />
      );
  }
}

function RuleChildren({
  rule,
  onClose,
}: {
  readonly rule: RuleItem;
  readonly onClose: () => void;
}) {
  return (
    <ChildrenDialog
      template={rule}
      path="/admin/rate-limits"
      columns={columnsOf(rule)}
      onClose={onClose}
    />
  );
}

function columnsOf(rule: RuleItem): Column<ChildItem>[] {
  const { max_requests, period_seconds } = rule;
  const columns: Column<ChildItem>[] = [];
  if (max_requests !== undefined)
    columns.push({
      key: "requests",
      head: texts.columns.requests,
      cell: ({ requests_used, in_flight }) => (
        <Meter
          used={period_seconds === 0 ? in_flight : requests_used}
          cap={max_requests}
          format={formatCount}
        />
      ),
    });
  if (usesOverTime(rule).length > 0)
    columns.push({
      key: "tokens",
      head: texts.columns.tokens,
      cell: (child) => <CapMeters uses={usesOverTime({ ...rule, ...child })} />,
    });
  return columns;
}
