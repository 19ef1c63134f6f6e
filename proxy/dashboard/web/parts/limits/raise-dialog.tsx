/** Raises a rule or a budget for a time, and ends its raises early. */
import { useState } from "preact/hooks";
import type { RaiseItem } from "../../../../../shared/api/raise-item.js";
import { formatMoment } from "../../logic/numbers.js";
import {
  endBody,
  newRaise,
  type RaisableItem,
  raiseBody,
  raisedFields,
} from "../../logic/raise-draft.js";
import { raiseTexts as texts } from "../../texts/raise-texts.js";
import { FailureText } from "../confirm.js";
import { Dialog, DialogFoot } from "../dialog.js";
import { SelectField, TextField } from "../field.js";
import { useChange } from "../use-change.js";

interface RaiseDialogProps {
  readonly item: RaisableItem;
  /** The field of the body that names the period. */
  readonly keyField: string;
  /** The list's path; raises go to `raise` below it. */
  readonly path: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RaiseDialog({ item, keyField, path, onClose, onDone }: RaiseDialogProps) {
  const { isBusy, problem, run } = useChange();
  const [draft, setDraft] = useState(newRaise(item));
  const [isUnnamed, setUnnamed] = useState(false);
  const change = async (
    method: "POST" | "DELETE",
    body: Record<string, unknown>,
    done: string,
  ): Promise<void> => {
    if (!(await run({ method, path: `${path}/raise`, body, done }))) return;
    onDone();
    onClose();
  };
  return (
    <Dialog title={texts.title(item.subject)} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          const raise = raiseBody(item, draft, keyField);
          setUnnamed(!raise.ok);
          if (raise.ok) void change("POST", raise.body, texts.done(draft.subject));
        }}
      >
        {(item.raises ?? []).map((raise) => (
          <Present
            key={raise.subject}
            raise={raise}
            onEnd={() =>
              void change("DELETE", endBody(item, raise, keyField), texts.ended(raise.subject))
            }
          />
        ))}
        {item.per_child && (
          <TextField
            label={texts.subject}
            hint={texts.subjectHint}
            error={isUnnamed ? texts.noSubject : null}
            value={draft.subject}
            onInput={(subject) => setDraft({ ...draft, subject })}
            isMono
          />
        )}
        {raisedFields(item).map((field) => (
          <TextField
            key={field}
            label={texts.fields[field]}
            kind="number"
            value={draft.values[field] ?? ""}
            placeholder={String(item[field])}
            onInput={(text) => setDraft({ ...draft, values: { ...draft.values, [field]: text } })}
          />
        ))}
        <SelectField
          label={texts.time}
          value={draft.seconds}
          options={texts.times}
          onChoose={(seconds) => setDraft({ ...draft, seconds })}
        />
        <TextField
          label={texts.reason}
          value={draft.reason}
          onInput={(reason) => setDraft({ ...draft, reason })}
        />
        {problem !== null && <FailureText>{problem.message}</FailureText>}
        <DialogFoot onCancel={onClose} submit={texts.submit} busy={isBusy} />
      </form>
    </Dialog>
  );
}

function Present({ raise, onEnd }: { readonly raise: RaiseItem; readonly onEnd: () => void }) {
  return (
    <p class="soft">
      {texts.present(raise.subject, formatMoment(raise.until), raise.by, raise.reason)}{" "}
      <button type="button" class="button ghost" onClick={onEnd}>
        {texts.end}
      </button>
    </p>
  );
}
