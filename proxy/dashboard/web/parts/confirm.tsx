/** Asks before an action, naming what it changes; for a large one, the user must type a word. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Problem } from "../data/gateway-client.js";
import { shellTexts } from "../texts/shell-texts.js";
import { useApp } from "./app.js";
import { Dialog, DialogFoot } from "./dialog.js";
import { TextField } from "./field.js";
import { Icon } from "./icon.js";
import { type ChangeRequest, useUndo } from "./use-change.js";

interface ConfirmProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** The names of the changed items, if there are several. */
  readonly names?: readonly string[];
  readonly submit: string;
  /** The word that must be typed. */
  readonly word?: string;
  /** The requests, sent one after the other. */
  readonly changes: readonly ChangeRequest[];
  /** The notice that is shown after them. */
  readonly done: string;
  /** The requests that undo the changes, and the notice after them. */
  readonly undo?: { readonly changes: readonly ChangeRequest[]; readonly done: string };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function Confirm(props: ConfirmProps) {
  const { title, children, names = [], submit, word, onClose } = props;
  const { client, toasts } = useApp();
  const undone = useUndo();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  // A retry after a problem skips the changes that were made.
  const [madeCount, setMade] = useState(0);
  const [typed, setTyped] = useState("");
  const confirm = async (): Promise<void> => {
    const { changes, done, undo, onDone } = props;
    setBusy(true);
    for (let index = madeCount; index < changes.length; index++) {
      const { method, path, body } = changes[index]!;
      const answer = await client.change(method, path, body);
      setMade(answer.ok ? index + 1 : index);
      if (answer.ok) continue;
      setBusy(false);
      setProblem(answer.problem);
      return onDone();
    }
    toasts.done(done, undo && (() => void undone(undo, onDone)));
    onDone();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void confirm();
        }}
      >
        <div>{children}</div>
        {names.length > 1 && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
          <ul class="named" tabIndex={0} aria-label={title}>
            {names.map((name, index) => (
              <li key={name} class={index < madeCount ? "soft" : ""}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        )}
        {word !== undefined && (
          <TextField
            label={shellTexts.typeWord(word)}
            value={typed}
            onInput={setTyped}
            isMono
            autoFocus
          />
        )}
        {problem !== null && (
          <FailureText>
            {names.length > 1 ? `${names[madeCount]}: ${problem.message}` : problem.message}
          </FailureText>
        )}
        <DialogFoot
          onCancel={onClose}
          submit={submit}
          isDangerous
          busy={isBusy || (word !== undefined && typed.trim() !== word)}
        />
      </form>
    </Dialog>
  );
}

/** Why an action failed, above its buttons. */
export function FailureText({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="notice bad" role="alert">
      <Icon name="alert" />
      <span>{children}</span>
    </p>
  );
}
