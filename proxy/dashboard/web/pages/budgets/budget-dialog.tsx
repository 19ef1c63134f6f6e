/** Makes or changes a budget, and says before saving what happens to what was spent. */
import { useState } from "preact/hooks";
import type { BudgetItem } from "../../../../../shared/api/budget-item.js";
import { type BudgetDraft, budgetBody, budgetPeriods } from "../../logic/budget-draft.js";
import { fieldOf, saveEffect } from "../../logic/limit-draft.js";
import { Failed } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { CheckField, Choices, SelectField, TextField } from "../../parts/field.js";
import { SaveNotice } from "../../parts/limits/save-notice.js";
import { useChange } from "../../parts/use-change.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";

const texts = budgetsTexts.dialog;

interface BudgetDialogProps {
  readonly first: BudgetDraft;
  /** Null: a new one is made. */
  readonly original: BudgetItem | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function BudgetDialog({ first, original, onClose, onDone }: BudgetDialogProps) {
  const { isBusy, problem, run } = useChange();
  const [draft, setDraft] = useState(first);
  const [isNotNumber, setNotNumber] = useState(false);
  const change = (part: Partial<BudgetDraft>): void => setDraft({ ...draft, ...part });
  const wrong = problem === null ? null : fieldOf(problem.field);
  const errorOf = (field: string): string | null =>
    isNotNumber
      ? field === "amount"
        ? texts.notNumber
        : null
      : wrong === field
        ? problem!.message
        : null;
  const save = async (): Promise<void> => {
    const body = budgetBody(draft, original);
    setNotNumber(body === null);
    if (body === null) return;
    const done = texts.saved(draft.subject.trim() || "/");
    if (!(await run({ method: "PUT", path: "/admin/budgets", body, done }))) return;
    onDone();
    onClose();
  };
  return (
    <Dialog title={original === null ? texts.add : texts.edit} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Subject draft={draft} onChange={change} error={errorOf("subject")} />
        <AmountAndPeriod draft={draft} onChange={change} errorOf={errorOf} />
        {problem !== null &&
          !isNotNumber &&
          !["subject", "period", "amount"].includes(wrong ?? "") && (
            <Failed>{problem.message}</Failed>
          )}
        <SaveNotice effect={saveEffect(draft, original)} words={texts.effects} />
        <DialogFoot onCancel={onClose} submit={texts.save} busy={isBusy} />
      </form>
    </Dialog>
  );
}

interface PartProps {
  readonly draft: BudgetDraft;
  readonly onChange: (part: Partial<BudgetDraft>) => void;
}

function Subject({ draft, onChange, error }: PartProps & { readonly error: string | null }) {
  const { scope } = draft;
  return (
    <>
      <Choices
        label={texts.scope}
        value={scope}
        options={Object.entries(budgetsTexts.tabs)}
        onChoose={(chosen) => onChange({ scope: chosen })}
      />
      <TextField
        label={texts.subject[scope]!}
        hint={texts.subjectHint[scope]}
        error={error}
        mono
        autoFocus
        placeholder={scope === "user_path" ? "/team/app" : ""}
        value={draft.subject}
        onInput={(subject) => onChange({ subject })}
      />
      {scope === "user_path" && (
        <CheckField
          label={texts.perChild}
          checked={draft.perChild}
          onChange={(perChild) => onChange({ perChild })}
        />
      )}
    </>
  );
}

function AmountAndPeriod({
  draft,
  onChange,
  errorOf,
}: PartProps & { readonly errorOf: (field: string) => string | null }) {
  return (
    <div class="form-row">
      <TextField
        label={texts.amount}
        kind="number"
        placeholder="100.00"
        error={errorOf("amount")}
        value={draft.amount}
        onInput={(amount) => onChange({ amount })}
      />
      <SelectField
        label={texts.period}
        value={draft.period}
        error={draft.period === "other" ? null : errorOf("period")}
        options={[...budgetPeriods, "other"].map((each) => [each, budgetsTexts.periods[each]!])}
        onChoose={(period) => onChange({ period })}
      />
      {draft.period === "other" && (
        <TextField
          label={texts.seconds}
          kind="number"
          placeholder="3600"
          error={errorOf("period")}
          value={draft.seconds}
          onInput={(seconds) => onChange({ seconds })}
        />
      )}
    </div>
  );
}
