/** Makes or changes a budget, and says before saving what happens to what was spent. */
import { useState } from "preact/hooks";
import type { BudgetItem } from "../../../../../shared/api/budget-item.js";
import { type BudgetDraft, budgetBody, budgetPeriods } from "../../logic/budget-draft.js";
import { fieldOf, saveEffect } from "../../logic/limit-draft.js";
import { Failed } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/field.js";
import {
  ModelsField,
  PeriodFields,
  SaveNotice,
  SubjectFields,
} from "../../parts/limits/limit-fields.js";
import { useChange } from "../../parts/use-change.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";

const texts = budgetsTexts.dialog;

interface BudgetDialogProps {
  readonly first: BudgetDraft;
  /** Null if a new one is made. */
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
        <SubjectFields
          draft={draft}
          onChange={change}
          error={errorOf("subject")}
          scopes={budgetsTexts.tabs}
          words={texts}
        />
        <ModelsField draft={draft} onChange={change} error={errorOf("models")} />
        <AmountAndPeriod draft={draft} onChange={change} errorOf={errorOf} />
        <SelectField
          label={texts.unpriced}
          value={draft.unpriced}
          options={Object.entries(texts.unpricedChoices)}
          onChoose={(chosen) => change({ unpriced: chosen as BudgetDraft["unpriced"] })}
        />
        {problem !== null &&
          !isNotNumber &&
          !["subject", "models", "period", "amount"].includes(wrong ?? "") && (
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
      <PeriodFields
        draft={draft}
        onChange={onChange}
        error={errorOf("period")}
        periods={budgetPeriods}
        periodWords={budgetsTexts.periods}
        words={texts}
        example="3600"
      />
    </div>
  );
}
