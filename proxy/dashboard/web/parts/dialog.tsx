/**
 * A dialog over the page: the browser's own, which keeps the focus inside, closes on Escape and
 * restores the focus.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { shellTexts } from "../texts/shell-texts.js";
import { offWhile, useIsAway } from "./change-button.js";
import { Icon } from "./icon.js";
import { focusContentIfNone, leaveDialog } from "./lists/keep-focus.js";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** `wide`: for tables; `drawer`: at the side, for the navigation on a phone. */
  readonly look?: "plain" | "wide" | "drawer";
  readonly children: ComponentChildren;
}

/** The dialog is open while it is rendered. */
export function Dialog({ title, onClose, look = "plain", children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const opened = dialog.current;
    opened?.showModal();
    opened?.querySelector<HTMLElement>("[data-first=true]")?.focus();
    return () => {
      opened?.close();
      const isMoved = opened !== null && leaveDialog(opened);
      if (!(before instanceof HTMLElement)) return;
      if (before.isConnected) before.focus();
      else if (!isMoved) queueMicrotask(focusContentIfNone);
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${look}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button
          type="button"
          class="button ghost square"
          aria-label={shellTexts.close}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** The buttons at a form's end: cancel, and the action, which needs the daemon. */
export function DialogFoot({
  onCancel,
  submit,
  isDangerous = false,
  busy,
}: {
  readonly onCancel: () => void;
  readonly submit: string;
  readonly isDangerous?: boolean;
  readonly busy: boolean;
}) {
  const isAway = useIsAway();
  return (
    <div class="dialog-foot">
      <button type="button" class="button" onClick={onCancel}>
        {shellTexts.cancel}
      </button>
      <button
        type="submit"
        class={isDangerous ? "button primary danger" : "button primary"}
        {...offWhile(busy || isAway)}
      >
        {submit}
      </button>
    </div>
  );
}
