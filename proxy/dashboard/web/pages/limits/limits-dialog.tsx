/** What the page of limits opens over itself: one dialog at a time. */
import type { RuleItem } from "../../../../../shared/api/rule-item.js";
import { itemKey } from "../../logic/limit-draft.js";
import { newRule, ruleDraftOf } from "../../logic/rule-draft.js";
import { Confirm } from "../../parts/confirm.js";
import { periodText } from "../../parts/limits/limit-row.js";
import { limitsTexts as texts } from "../../texts/limits-texts.js";
import { ChildrenDialog } from "./children-dialog.js";
import { RuleDialog } from "./rule-dialog.js";

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
      return <ChildrenDialog rule={dialog.rule} onClose={onClose} />;
    case "reset-all":
      return <ConfirmResetAll {...ends} />;
    case "reset":
    case "remove":
      return <ConfirmOne kind={dialog.kind} rule={dialog.rule} {...ends} />;
  }
}

interface Ends {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ConfirmResetAll(ends: Ends) {
  const words = texts.confirmAll;
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      word="reset"
      change={{
        method: "POST",
        path: "/admin/rate-limits/reset",
        body: { confirmation: "reset" },
        done: words.done,
      }}
      {...ends}
    >
      {words.text}
    </Confirm>
  );
}

function ConfirmOne({
  kind,
  rule,
  ...ends
}: Ends & { readonly kind: "reset" | "remove"; readonly rule: RuleItem }) {
  const words = kind === "reset" ? texts.confirmReset : texts.confirmDelete;
  return (
    <Confirm
      title={words.title}
      submit={words.submit}
      change={{
        method: kind === "reset" ? "POST" : "DELETE",
        path: kind === "reset" ? "/admin/rate-limits/reset-one" : "/admin/rate-limits",
        body: itemKey(rule, "limit_key"),
        done: words.done(rule.subject),
      }}
      {...ends}
    >
      {words.text(rule.subject, periodText(rule, texts.periods))}
    </Confirm>
  );
}
