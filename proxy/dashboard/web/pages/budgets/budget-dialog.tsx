/** The dialog that creates or changes a budget. It says what saving does to the recorded spend. */
import { useState } from "preact/hooks";
import type { BudgetItem } from "../../../../../shared/api/budget-item.js";
import {
  type BudgetDraft,
  budgetBody,
  budgetEffect,
  budgetPeriods,
} from "../../logic/budget-draft.js";
import { fieldOf } from "../../logic/limit-draft.js";
import { FailureText } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { CheckField, SelectField, TextField } from "../../parts/field.js";
import {
  ExhaustedFields,
  ModelsField,
  PeriodFields,
  SaveNotice,
  SubjectFields,
} from "../../parts/limits/limit-fields.js";
import { useChange } from "../../parts/use-change.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";

const texts = budgetsTexts.dialog;

/** The fields that show their own errors. */
const shownFields: ReadonlySet<string> = new Set([
  ...["subject", "models", "period", "amount"],
  ...["time_zone", "anchor_day", "rollover", "on_exhausted"],
]);

interface BudgetDialogProps {
  readonly initial: BudgetDraft;
  /** Null for a new budget. */
  readonly original: BudgetItem | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function BudgetDialog({ initial, original, onClose, onDone }: BudgetDialogProps) {
  const { isBusy, problem, run } = useChange();
  const [draft, setDraft] = useState(initial);
  const [unsendable, setUnsendable] = useState<string | null>(null);
  const change = (part: Partial<BudgetDraft>): void => setDraft({ ...draft, ...part });
  const wrong = unsendable ?? (problem === null ? null : fieldOf(problem.field));
  const errorOf = (field: string): string | null => {
    if (wrong !== field) return null;
    if (unsendable === null) return problem!.message;
    if (field === "subject") return texts.noSubject[draft.scope]!;
    return field === "rollover" ? texts.notPercent : texts.notNumber;
  };
  const save = async (): Promise<void> => {
    const body = budgetBody(draft, original);
    setUnsendable(body.ok ? null : body.field);
    if (!body.ok) return;
    const done = texts.saved(draft.subject.trim());
    if (!(await run({ method: "PUT", path: "/admin/budgets", body: body.body, done }))) return;
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
        <CalendarPart draft={draft} onChange={change} errorOf={errorOf} />
        <ExhaustedFields draft={draft} onChange={change} error={errorOf("on_exhausted")} />
        {problem !== null && unsendable === null && !shownFields.has(wrong ?? "") && (
          <FailureText>{problem.message}</FailureText>
        )}
        <SaveNotice effect={budgetEffect(draft, original)} words={texts.effects} />
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

/** The fields for the days, months and lengths of the budget's period. */
function CalendarPart({
  draft,
  onChange,
  errorOf,
}: PartProps & { readonly errorOf: (field: string) => string | null }) {
  return (
    <>
      <CheckField
        label={texts.hard}
        checked={draft.hard === true}
        onChange={(hard) => onChange({ hard })}
      />
      <CheckField
        label={texts.rolling}
        checked={draft.rolling}
        onChange={(isRolling) => onChange({ rolling: isRolling })}
      />
      <div class="form-row">
        <TextField
          label={texts.timeZone}
          placeholder="Europe/Berlin"
          error={errorOf("time_zone")}
          value={draft.timeZone}
          onInput={(timeZone) => onChange({ timeZone })}
        />
        <TextField
          label={texts.anchorDay}
          kind="number"
          placeholder="1"
          error={errorOf("anchor_day")}
          value={draft.anchorDay}
          onInput={(anchorDay) => onChange({ anchorDay })}
        />
        <TextField
          label={texts.rollover}
          kind="number"
          placeholder="0"
          error={errorOf("rollover")}
          value={draft.rollover}
          onInput={(rollover) => onChange({ rollover })}
        />
      </div>
    </>
  );
}
