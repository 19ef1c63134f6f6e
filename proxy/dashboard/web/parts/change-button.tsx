/**
 * A button that changes something, or opens the dialog that does. It is hidden from users who may
 * not make the change, and disabled while the daemon is away.
 */
import type { ComponentChildren } from "preact";
import { rootOf } from "../data/session.js";
import { useApp } from "./app.js";

interface ChangeButtonProps {
  /** The request that it sends, as a session lists the allowed ones. */
  readonly needs: string;
  readonly look?: string;
  /** The button's label if it shows only an icon. */
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
 * The attributes of a button that can't be used for a while. `disabled` would remove the focus, and
 * the keyboard would start at the top of the page again.
 */
export function offWhile(isOff: boolean) {
  if (!isOff) return {};
  return { "aria-disabled": true, onClick: (event: Event) => event.preventDefault() } as const;
}

/** Whether the signed-in user may send a request such as `PUT /admin/budgets`. */
export function useMay(): (change: string) => boolean {
  const who = useApp().session.session.value;
  return (change) => who !== null && "may" in who && who.may.includes(change);
}

/** Whether a limit is above the signed-in user's role: on the path of the role itself. */
export function useIsAboveOwnPath(): (subject: string) => boolean {
  const root = rootOf(useApp().session.session.value);
  return (subject) => root !== "/" && subject === root;
}

/** Whether the daemon is away, so that no change is possible. */
export function useIsAway(): boolean {
  return useApp().connection.state.value !== "ok";
}
