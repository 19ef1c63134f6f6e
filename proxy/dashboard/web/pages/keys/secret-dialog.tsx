/** Shows a new secret, this once. */
import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.js";
import { Icon } from "../../parts/icon.js";
import { keysTexts } from "../../texts/keys-texts.js";

const texts = keysTexts.secret;

interface SecretDialogProps {
  readonly value: string;
  /** What the gateway says beside it. */
  readonly notice: string | null;
  readonly onClose: () => void;
}

export function SecretDialog({ value, notice, onClose }: SecretDialogProps) {
  const [state, setState] = useState<"new" | "copied" | "failed">("new");
  const copy = (): void => {
    // Absent where the page came over plain HTTP from another host.
    const copying = navigator.clipboard?.writeText(value) ?? Promise.reject(new Error());
    copying.then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <div class="form">
        <p>{texts.text}</p>
        <code class="secret">{value}</code>
        {notice !== null && (
          <p class="notice warn">
            <Icon name="alert" />
            {notice}
          </p>
        )}
        <p class="soft small" role="status">
          {state === "failed" ? texts.copyFailed : ""}
        </p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {texts.done}
          </button>
          <button type="button" class="button primary" onClick={copy}>
            <Icon name={state === "copied" ? "check" : "copy"} />
            {state === "copied" ? texts.copied : texts.copy}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
