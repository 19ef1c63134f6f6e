/** Fields of forms: a label, a control, a hint, and the error that is tied to it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.js";

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Null if nothing is wrong. */
  readonly error?: string | null;
}

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly kind?: "text" | "password" | "number" | "time";
  /** Fixed-width letters, for paths and names. */
  readonly isMono?: boolean;
  readonly placeholder?: string;
  /** Gets the focus when it appears. */
  readonly autoFocus?: boolean;
  readonly suggestions?: readonly string[];
  /** The value that a password manager may fill in. */
  readonly autoComplete?: string;
}

export function TextField(props: TextFieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  // Within a dialog, the dialog sets the focus when it opens.
  useEffect(() => {
    if (props.autoFocus === true) input.current?.focus();
  }, []);
  const { label, hint, error = null, value, onInput, kind = "text", isMono = false } = props;
  const { suggestions } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={isMono ? "input mono" : "input"}
        {...(kind === "password" || kind === "time"
          ? { type: kind }
          : { type: "text" as const, list: suggestions && `${id}-list` })}
        inputMode={kind === "number" ? "decimal" : "text"}
        autocomplete={props.autoComplete ?? "off"}
        autocapitalize="off"
        spellcheck={false}
        placeholder={props.placeholder ?? ""}
        ref={input}
        data-first={props.autoFocus === true}
        value={value}
        aria-invalid={error !== null}
        aria-describedby={`${id}-note`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {suggestions !== undefined && (
        <datalist id={`${id}-list`}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
      <FieldNote id={`${id}-note`} error={error} hint={hint} />
    </div>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly value: string;
  /** Values with their words. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
}

export function SelectField({ label, hint, error = null, ...rest }: SelectFieldProps) {
  const id = useId();
  const { value, options, onChoose } = rest;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="input"
        value={value}
        aria-invalid={error !== null}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
      <FieldNote id={`${id}-note`} error={error} hint={hint} />
    </div>
  );
}

function FieldNote({
  id,
  error,
  hint,
}: {
  readonly id: string;
  readonly error: string | null;
  readonly hint: ComponentChildren;
}) {
  return (
    <span id={id} class={error === null ? "hint" : "error"}>
      {error ?? hint}
    </span>
  );
}

/** A choice among a few values, all of them visible. */
export function Choices({ label, value, options, onChoose }: SelectFieldProps) {
  const name = useId();
  return (
    <fieldset class="field">
      <legend class="label">{label}</legend>
      <div class="choices">
        {options.map(([each, text]) => (
          <label class="choice" key={each}>
            <input
              type="radio"
              name={name}
              value={each}
              checked={each === value}
              onChange={() => onChoose(each)}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

export function CheckField({
  label,
  hint,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span class="soft small"> {hint}</span>}
      </span>
    </label>
  );
}

/** The search field of a list; the key `/` focuses it. */
export function SearchField({
  label,
  value,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}) {
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        data-filter="true"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}
