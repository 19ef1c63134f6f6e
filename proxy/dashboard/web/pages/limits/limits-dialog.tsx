/** What the page of limits opens over itself: one dialog at a time. */
import type { RuleItem } from "../../../../../shared/api/rule-item.js";
import { newRule, ruleDraftOf } from "../../logic/rule-draft.js";
import { ConfirmOne, ConfirmResetAll } from "../../parts/limits/confirm-limit.js";
import { limitsTexts as texts } from "../../texts/limits-texts.js";
import { RuleChildren } from "./rule-children.js";
import { RuleDialog } from "./rule-dialog.js";

const listPath = "/admin/rate-limits";

export type OpenDialog =
  | { readonly kind: "add"; readonly scope: RuleItem["scope"] }
  | { readonly kind: "edit"; readonly rule: RuleItem }
  | { readonly kind: "reset"; readonly rule: RuleItem }
  | { readonly kind: "remove"; readonly rule: RuleItem }
  | { readonly kind: "children"; readonly rule: RuleItem }
  | { readonly kind: "reset-all" };

interface LimitsDialogProps {
  readonly dialog: OpenDialog;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function LimitsDialog({ dialog, onClose, onChanged }: LimitsDialogProps) {
  const ends = { onClose, onDone: onChanged };
  switch (dialog.kind) {
    case "add":
      return <RuleDialog first={newRule(dialog.scope, "")} original={null} {...ends} />;
    case "edit":
      return <RuleDialog first={ruleDraftOf(dialog.rule)} original={dialog.rule} {...ends} />;
    case "children":
      return <RuleChildren rule={dialog.rule} onClose={onClose} />;
    case "reset-all":
      return <ConfirmResetAll path={listPath} words={texts.confirmAll} {...ends} />;
    case "reset":
    case "remove":
      return (
        <ConfirmOne
          kind={dialog.kind}
          item={dialog.rule}
          keyField="limit_key"
          path={listPath}
          periods={texts.periods}
          words={dialog.kind === "reset" ? texts.confirmReset : texts.confirmDelete}
          {...ends}
        />
      );
  }
}
