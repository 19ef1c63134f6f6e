/** The dialog that creates or changes a rule. It says what saving does to the counters. */
import { useState } from "preact/hooks";
import type { RuleItem } from "../../../../../shared/api/rule-item.js";
import { fieldOf, saveEffect } from "../../logic/limit-draft.js";
import {
  capsBatches,
  type RuleDraft,
  ruleBody,
  rulePeriods,
  typedWords,
} from "../../logic/rule-draft.js";
import { useApp } from "../../parts/app.js";
import { FailureText } from "../../parts/confirm.js";
import { Dialog, DialogFoot } from "../../parts/dialog.js";
import { CheckField, TextField } from "../../parts/field.js";
import {
  ExhaustedFields,
  ModelsField,
  PeriodFields,
  SaveNotice,
  SubjectFields,
} from "../../parts/limits/limit-fields.js";
import { useChange } from "../../parts/use-change.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { BackTest } from "./back-test.js";

const texts = limitsTexts.dialog;

const capFields = [
  "max_requests",
  "max_tokens",
  "max_input_tokens",
  "max_output_tokens",
  "max_cost",
  "max_tool_calls",
  "max_enqueued_tokens",
  "loops",
] as const;

interface RuleDialogProps {
  readonly initial: RuleDraft;
  /** Null for a new rule. */
  readonly original: RuleItem | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RuleDialog({ initial, original, onClose, onDone }: RuleDialogProps) {
  const { isBusy, problem, run } = useChange();
  const [draft, setDraft] = useState(initial);
  const [unreadField, setUnreadField] = useState<string | null>(null);
  const change = (part: Partial<RuleDraft>): void => setDraft({ ...draft, ...part });
  const wrongField = unreadField ?? (problem === null ? null : fieldOf(problem.field));
  const errorOf = (field: string): string | null => {
    if (wrongField !== field) return null;
    const form = texts.forms[field];
    if (unreadField === null)
      return form === undefined ? problem!.message : `${typedWords(problem!.message)}. ${form}`;
    if (form !== undefined) return texts.notRead(form);
    return field === "subject" ? texts.noSubject[draft.scope]! : texts.notNumber;
  };
  const save = async (): Promise<void> => {
    const body = ruleBody(draft, original);
    setUnreadField(body.ok ? null : body.field);
    if (!body.ok) return;
    const done = texts.saved(draft.subject.trim());
    if (!(await run({ method: "PUT", path: "/admin/rate-limits", body: body.body, done }))) return;
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
          scopes={limitsTexts.tabs}
          words={texts}
        />
        <ModelsField draft={draft} onChange={change} error={errorOf("models")} />
        <Period draft={draft} onChange={change} error={errorOf("period")} />
        <Caps draft={draft} onChange={change} errorOf={errorOf} />
        <TextField
          label={texts.when}
          hint={texts.forms["when"]}
          placeholder={texts.always}
          error={errorOf("when")}
          value={draft.when ?? ""}
          onInput={(when) => change({ when })}
        />
        {draft.shadow !== true && (
          <ExhaustedFields draft={draft} onChange={change} error={errorOf("on_exhausted")} />
        )}
        <CheckField
          label={texts.shadow}
          checked={draft.shadow === true}
          onChange={(shadow) => change({ shadow, onExhausted: "" })}
        />
        <CheckField
          label={texts.hard}
          checked={draft.hard === true}
          onChange={(hard) => change({ hard })}
        />
        <TextField
          label={texts.shares}
          hint={texts.forms["shares"]}
          error={errorOf("shares")}
          value={draft.shares}
          onInput={(shares) => change({ shares })}
        />
        <HostOnly draft={draft} onChange={change} />
        {problem !== null && unreadField === null && !hasField(wrongField) && (
          <FailureText>{problem.message}</FailureText>
        )}
        <BackTest body={testedBody(draft)} />
        <SaveNotice effect={saveEffect(draft, original)} words={texts.effects} />
        <DialogFoot onCancel={onClose} submit={texts.save} busy={isBusy} />
      </form>
    </Dialog>
  );
}

/** Null while a field is missing: saving reports which. */
function testedBody(draft: RuleDraft): Readonly<Record<string, unknown>> | null {
  const body = ruleBody(draft, null);
  if (!body.ok) return null;
  return capFields.some((field) => body.body[field] !== undefined) ? body.body : null;
}

function hasField(name: string | null): boolean {
  return (
    name !== null &&
    (/^(?:subject|models|when|period|token_weights|shares|on_exhausted)$/.test(name) ||
      capFields.some((field) => field === name))
  );
}

interface PartProps {
  readonly draft: RuleDraft;
  readonly onChange: (part: Partial<RuleDraft>) => void;
}

function Period({ draft, onChange, error }: PartProps & { readonly error: string | null }) {
  return (
    <div class="form-row">
      <PeriodFields
        draft={draft}
        onChange={onChange}
        error={error}
        periods={rulePeriods}
        periodWords={limitsTexts.periods}
        words={texts}
        example="300"
      />
    </div>
  );
}

/**
 * With a single host, `host_only` changes nothing: the field is shown only if the rule has it
 * already.
 */
function HostOnly({ draft, onChange }: PartProps) {
  const { status } = useApp().live.live.value;
  const isClustered = status !== null && status.cluster !== null;
  if (!isClustered && !draft.hostOnly) return null;
  return (
    <CheckField
      label={texts.hostOnly}
      checked={draft.hostOnly}
      onChange={(hostOnly) => onChange({ hostOnly })}
    />
  );
}

function Caps({
  draft,
  onChange,
  errorOf,
}: PartProps & { readonly errorOf: (field: string) => string | null }) {
  const isGauge = draft.period === "concurrent";
  return (
    <>
      <MainCaps draft={draft} onChange={onChange} errorOf={errorOf} />
      {!isGauge && <MeasureCaps draft={draft} onChange={onChange} errorOf={errorOf} />}
      {capsBatches(draft) && (
        <TextField
          label={texts.loops}
          hint={texts.forms["loops"]}
          error={errorOf("loops")}
          value={draft.loops}
          onInput={(loops) => onChange({ loops })}
        />
      )}
    </>
  );
}

const measureFields = [
  { key: "maxInputTokens", field: "max_input_tokens" },
  { key: "maxOutputTokens", field: "max_output_tokens" },
  { key: "maxCost", field: "max_cost" },
  { key: "maxToolCalls", field: "max_tool_calls" },
] as const;

function MeasureCaps({
  draft,
  onChange,
  errorOf,
}: PartProps & { readonly errorOf: (field: string) => string | null }) {
  return (
    <>
      <div class="form-row">
        {measureFields.map(({ key, field }) => (
          <TextField
            key={field}
            label={texts[key]}
            kind="number"
            placeholder={texts.noCap}
            error={errorOf(field)}
            value={draft[key]}
            onInput={(value) => onChange({ [key]: value })}
          />
        ))}
      </div>
      <TextField
        label={texts.tokenWeights}
        hint={texts.forms["token_weights"]}
        error={errorOf("token_weights")}
        value={draft.tokenWeights}
        onInput={(tokenWeights) => onChange({ tokenWeights })}
      />
    </>
  );
}

function MainCaps({
  draft,
  onChange,
  errorOf,
}: PartProps & { readonly errorOf: (field: string) => string | null }) {
  const isGauge = draft.period === "concurrent";
  const onBatches = capsBatches(draft);
  return (
    <div class="form-row">
      <TextField
        label={isGauge ? texts.maxAtOnce : texts.maxRequests}
        kind="number"
        placeholder={isGauge && !onBatches ? "" : texts.noCap}
        error={errorOf("max_requests")}
        value={draft.maxRequests}
        onInput={(maxRequests) => onChange({ maxRequests })}
      />
      {!isGauge && (
        <TextField
          label={texts.maxTokens}
          kind="number"
          placeholder={texts.noCap}
          error={errorOf("max_tokens")}
          value={draft.maxTokens}
          onInput={(maxTokens) => onChange({ maxTokens })}
        />
      )}
      {onBatches && (
        <TextField
          label={texts.maxEnqueuedTokens}
          kind="number"
          placeholder={texts.noCap}
          error={errorOf("max_enqueued_tokens")}
          value={draft.maxEnqueuedTokens}
          onInput={(maxEnqueuedTokens) => onChange({ maxEnqueuedTokens })}
        />
      )}
    </div>
  );
}
