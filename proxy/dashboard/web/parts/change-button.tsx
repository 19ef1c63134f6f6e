/**
 * A button that changes something, or opens the dialog that does: there only for those who may, and
 * off while the daemon is away.
 */
import type { ComponentChildren } from "preact";
import { rootOf } from "../data/session.js";
import { useApp } from "./app.js";

interface ChangeButtonProps {
  /** The request that it leads to, as a session lists those that it may send. */
  readonly needs: string;
  readonly look?: string;
  /** What it is called, if it shows only a picture. */
  readonly words?: string;
  readonly isBusy?: boolean;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

export function ChangeButton({ needs, look = "", words, isBusy, ...rest }: ChangeButtonProps) {
  const may = useMay();
  const isAway = useIsAway();
  if (!may(needs)) return null;
  return (
    <button
      type="button"
      class={`button ${look}`}
      title={words}
      aria-label={words}
      {...rest}
      {...offWhile(isAway || isBusy === true)}
    />
  );
}

/**
 * What makes a button unusable for a while. `disabled` would take the focus from it, and the
 * keyboard would begin at the top of the page.
 */
export function offWhile(isOff: boolean) {
  if (!isOff) return {};
  return { "aria-disabled": true, onClick: (event: Event) => event.preventDefault() } as const;
}

/** Whether who is signed in may send a request such as `PUT /admin/budgets`. */
export function useMay(): (change: string) => boolean {
  const who = useApp().session.session.value;
  return (change) => who !== null && "may" in who && who.may.includes(change);
}

/** Whether a limit stands above the role of who is signed in: on the role's own path. */
export function useIsAboveOwnPath(): (subject: string) => boolean {
  const root = rootOf(useApp().session.session.value);
  return (subject) => root !== "/" && subject === root;
}

/** Whether no change is possible now. */
export function useIsAway(): boolean {
  return useApp().connection.state.value !== "ok";
}
