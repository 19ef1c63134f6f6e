/** Asks before an action that can't be undone; for a large one, the user must type a word. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Method } from "../data/gateway-client.js";
import { shellTexts } from "../texts/shell-texts.js";
import { Dialog, DialogFoot } from "./dialog.js";
import { TextField } from "./field.js";
import { Icon } from "./icon.js";
import { useChange } from "./use-change.js";

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly submit: string;
  /** The word that must be typed. */
  readonly word?: string;
  readonly change: {
    readonly method: Method;
    readonly path: string;
    readonly body: unknown;
    readonly done: string;
  };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function Confirm({ title, children, submit, word, change, onDone, onClose }: ConfirmProps) {
  const { isBusy, problem, run } = useChange();
  const [typed, setTyped] = useState("");
  const confirm = async (): Promise<void> => {
    if (!(await run(change))) return;
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
        {word !== undefined && (
          <TextField
            label={shellTexts.typeWord(word)}
            value={typed}
            onInput={setTyped}
            mono
            autoFocus
          />
        )}
        {problem !== null && <Failed>{problem.message}</Failed>}
        <DialogFoot
          onCancel={onClose}
          submit={submit}
          danger
          busy={isBusy || (word !== undefined && typed.trim() !== word)}
        />
      </form>
    </Dialog>
  );
}

/** Why an action failed, above its buttons. */
export function Failed({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="notice bad" role="alert">
      <Icon name="alert" />
      <span>{children}</span>
    </p>
  );
}
