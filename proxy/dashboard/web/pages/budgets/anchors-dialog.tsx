/** When daily, weekly and monthly budgets reset. */
import { useState } from "preact/hooks";
import type { BudgetSettings } from "../../../../../shared/api/budget-item.js";
import { FailureText } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { SelectField, TextField } from "../../parts/field.js";
import { WhenReady } from "../../parts/page.js";
import { useChange } from "../../parts/use-change.js";
import { usePoll } from "../../parts/use-poll.js";
import { budgetsTexts } from "../../texts/budgets-texts.js";

const texts = budgetsTexts.anchorsDialog;
const path = "/admin/budgets/settings";

interface AnchorsDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function AnchorsDialog(props: AnchorsDialogProps) {
  const settings = usePoll<BudgetSettings>(path, 0);
  return (
    <Dialog title={texts.title} onClose={props.onClose}>
      <WhenReady polled={settings.state.value} onRetry={() => settings.refresh()}>
        {(initial) => <AnchorsForm initial={initial} {...props} />}
      </WhenReady>
    </Dialog>
  );
}

/** The numbers of the gateway's body. */
type Anchors = Omit<BudgetSettings, "server_time">;

function AnchorsForm({
  initial: { server_time: _, ...initial },
  onClose,
  onDone,
}: AnchorsDialogProps & { readonly initial: BudgetSettings }) {
  const { isBusy, problem, run } = useChange();
  const [anchors, setAnchors] = useState<Anchors>(initial);
  const save = async (): Promise<void> => {
    if (!(await run({ method: "PUT", path, body: anchors, done: texts.saved }))) return;
    onDone();
    onClose();
  };
  const time = (kind: "daily" | "weekly" | "monthly") => ({
    value: `${twoDigits(anchors[`${kind}_reset_hour`])}:${twoDigits(anchors[`${kind}_reset_minute`])}`,
    kind: "time" as const,
    onInput(value: string) {
      const [hour, minute] = value.split(":").map(Number);
      if (hour === undefined || minute === undefined) return;
      setAnchors({ ...anchors, [`${kind}_reset_hour`]: hour, [`${kind}_reset_minute`]: minute });
    },
  });
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <p class="soft">{texts.about}</p>
      <TextField
        label={texts.timeZone}
        placeholder="Europe/Berlin"
        value={anchors.time_zone ?? "UTC"}
        onInput={(time_zone) => setAnchors({ ...anchors, time_zone })}
      />
      <TextField label={texts.daily} {...time("daily")} />
      <div class="form-row">
        <SelectField
          label={texts.weekday}
          value={String(anchors.weekly_reset_weekday)}
          options={texts.weekdays.map((name, day) => [String(day), name])}
          onChoose={(day) => setAnchors({ ...anchors, weekly_reset_weekday: Number(day) })}
        />
        <TextField label={texts.weekly} {...time("weekly")} />
      </div>
      <div class="form-row">
        <SelectField
          label={texts.monthDay}
          hint={anchors.monthly_reset_day > 28 ? texts.monthDayHint : undefined}
          value={String(anchors.monthly_reset_day)}
          options={Array.from({ length: 31 }, (_, i) => [String(i + 1), String(i + 1)])}
          onChoose={(day) => setAnchors({ ...anchors, monthly_reset_day: Number(day) })}
        />
        <TextField label={texts.monthly} {...time("monthly")} />
      </div>
      {problem !== null && <FailureText>{problem.message}</FailureText>}
      <DialogFoot onCancel={onClose} submit={texts.save} busy={isBusy} />
    </form>
  );
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
