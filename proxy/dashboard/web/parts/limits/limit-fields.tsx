/** The fields that the dialogs of rules and budgets share: subject and period. */

import type { ExhaustedDraft, SaveEffect } from "../../logic/limit-draft.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { CheckField, Choices, SelectField, TextField } from "../field.js";
import { Icon } from "../icon.js";

interface SubjectDraft {
  readonly scope: string;
  readonly subject: string;
  readonly perChild: boolean;
}

interface SubjectFieldsProps {
  readonly draft: SubjectDraft;
  readonly onChange: (part: Partial<SubjectDraft>) => void;
  readonly error: string | null;
  /** Scopes with their words. */
  readonly scopes: Readonly<Record<string, string>>;
  readonly words: {
    readonly scope: string;
    /** The label of the subject, by scope; the next field likewise. */
    readonly subject: Readonly<Record<string, string>>;
    readonly subjectHint: Readonly<Record<string, string>>;
    readonly perChild: string;
  };
}

export function SubjectFields({ draft, onChange, error, scopes, words }: SubjectFieldsProps) {
  const { scope } = draft;
  return (
    <>
      <Choices
        label={words.scope}
        value={scope}
        options={Object.entries(scopes)}
        onChoose={(chosen) => onChange({ scope: chosen })}
      />
      <TextField
        label={words.subject[scope]!}
        hint={words.subjectHint[scope]}
        error={error}
        isMono
        autoFocus
        placeholder={scope === "user_path" ? "/team/app" : ""}
        value={draft.subject}
        onInput={(subject) => onChange({ subject })}
      />
      {scope === "user_path" && (
        <CheckField
          label={words.perChild}
          checked={draft.perChild}
          onChange={(perChild) => onChange({ perChild })}
        />
      )}
    </>
  );
}

interface ModelsFieldProps {
  readonly draft: { readonly scope: string; readonly models?: string };
  readonly onChange: (part: { readonly models: string }) => void;
  readonly error: string | null;
}

/** The models that a limit on a user path applies to. */
export function ModelsField({ draft, onChange, error }: ModelsFieldProps) {
  const { scope, models = "" } = draft;
  if (scope !== "user_path") return null;
  const { models: label, modelsHint: hint, allModels } = limitsTexts.dialog;
  return (
    <TextField
      label={label}
      hint={hint}
      error={error}
      isMono
      placeholder={allModels}
      value={models}
      onInput={(text) => onChange({ models: text })}
    />
  );
}

interface ExhaustedFieldsProps {
  readonly draft: ExhaustedDraft;
  readonly onChange: (part: Partial<ExhaustedDraft>) => void;
  readonly error: string | null;
}

/** What happens when the limit is exhausted. */
export function ExhaustedFields({ draft, onChange, error }: ExhaustedFieldsProps) {
  const { whenExhausted, exhaustedChoices, useModel } = limitsTexts.dialog;
  const isOther = draft.onExhausted === "use";
  return (
    <div class="form-row">
      <SelectField
        label={whenExhausted}
        value={draft.onExhausted}
        error={isOther ? null : error}
        options={Object.entries(exhaustedChoices)}
        onChoose={(chosen) => onChange({ onExhausted: chosen as ExhaustedDraft["onExhausted"] })}
      />
      {isOther && (
        <TextField
          label={useModel}
          isMono
          error={error}
          value={draft.useModel}
          onInput={(text) => onChange({ useModel: text })}
        />
      )}
    </div>
  );
}

interface PeriodDraft {
  /** A period's label, or `other` for `seconds`. */
  readonly period: string;
  readonly seconds: string;
}

interface PeriodFieldsProps {
  readonly draft: PeriodDraft;
  readonly onChange: (part: Partial<PeriodDraft>) => void;
  readonly error: string | null;
  readonly periods: readonly string[];
  /** The words for periods, `other` among them. */
  readonly periodWords: Readonly<Record<string, string>>;
  readonly words: { readonly period: string; readonly seconds: string };
  /** An example of seconds. */
  readonly example: string;
}

export function PeriodFields({ draft, onChange, error, periods, ...rest }: PeriodFieldsProps) {
  const { periodWords, words, example } = rest;
  const isOther = draft.period === "other";
  return (
    <>
      <SelectField
        label={words.period}
        value={draft.period}
        error={isOther ? null : error}
        options={[...periods, "other"].map((name) => [name, periodWords[name]!])}
        onChoose={(period) => onChange({ period })}
      />
      {isOther && (
        <TextField
          label={words.seconds}
          kind="number"
          placeholder={example}
          error={error}
          value={draft.seconds}
          onInput={(seconds) => onChange({ seconds })}
        />
      )}
    </>
  );
}

export function SaveNotice({
  effect,
  words,
}: {
  readonly effect: SaveEffect;
  readonly words: Readonly<Record<SaveEffect, string>>;
}) {
  return (
    <p class={effect === "moves" ? "notice warn" : "notice"} aria-live="polite">
      <Icon name={effect === "moves" ? "reset" : "info"} />
      <span>{words[effect]}</span>
    </p>
  );
}
