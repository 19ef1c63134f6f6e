/**
 * Moves the focus when the element that has it disappears. Browsers would move it to the top of the
 * page.
 */
import { useLayoutEffect, useRef } from "preact/hooks";

const places = "a[href], button:not(:disabled), input:not(:disabled)";

/** Focuses the first row of the page, or its heading. */
export function focusContent(): void {
  const row = document.querySelector<HTMLElement>(`main tbody :is(${places})`);
  (row ?? document.querySelector<HTMLElement>("main h1"))?.focus({ preventScroll: true });
}

/** As `focusContent`, unless a list has moved the focus in the same render already. */
export function focusContentIfNone(): void {
  if (document.activeElement === document.body) focusContent();
}

/** The row that has the focus, or had it when a dialog was opened. */
interface FocusedRow {
  readonly key: string;
  /** The row's position in the list. */
  readonly rowIndex: number;
  /** The position of the focused element in the row. */
  readonly place: number;
}

/**
 * Keeps the focus in a list: if the focused row is deleted, the next row gets it; if the row moves,
 * it keeps the focus, which browsers would remove. `keys`: those of the rows, in order.
 */
export function useRowFocus(keys: readonly string[]) {
  const body = useRef<HTMLTableSectionElement>(null);
  const focused = useRef<FocusedRow | null>(null);
  const before = document.activeElement;
  const hadFocus = body.current?.contains(before) === true;
  useLayoutEffect(() => {
    const was = focused.current;
    if (hadFocus && document.activeElement === document.body && before instanceof HTMLElement)
      before.focus({ preventScroll: true });
    if (was === null || keys.includes(was.key)) return;
    focused.current = null;
    afterDialog(() => focusRow(body.current, was));
  });
  useLayoutEffect(
    () => () => {
      if (focused.current !== null) afterDialog(focusContent);
    },
    [],
  );
  return {
    ref: body,
    onFocusIn({ target }: FocusEvent): void {
      const row = target instanceof Element ? target.closest("tr") : null;
      const key = row === null ? undefined : keys[row.sectionRowIndex];
      if (row === null || key === undefined) return;
      const place = [...row.querySelectorAll(places)].indexOf(target as Element);
      focused.current = { key, rowIndex: row.sectionRowIndex, place };
    },
    onFocusOut({ relatedTarget: next }: FocusEvent): void {
      if (next instanceof Element && next.closest("dialog") === null) focused.current = null;
    },
  };
}

function focusRow(body: HTMLTableSectionElement | null, { rowIndex, place }: FocusedRow): void {
  const row = body?.rows[Math.min(rowIndex, body.rows.length - 1)];
  const elements = row === undefined ? [] : [...row.querySelectorAll<HTMLElement>(places)];
  const next = elements[place] ?? elements.at(-1);
  if (next === undefined) focusContent();
  else next.focus({ preventScroll: true });
}

const leftAttribute = "left";

/** Waits for the end of a dialog, which keeps the focus while it is open. */
function afterDialog(move: () => void): void {
  const dialog = document.querySelector("dialog[open]");
  const onLeft = (event: Event): void => {
    event.preventDefault();
    move();
  };
  if (dialog === null) move();
  else dialog.addEventListener(leftAttribute, onLeft, { once: true });
}

/**
 * Moves the focus after a dialog has closed; returns whether it moved it. The dialog's `close`
 * event would come too late, when something else has the focus.
 */
export function leaveDialog(dialog: HTMLDialogElement): boolean {
  return !dialog.dispatchEvent(new Event(leftAttribute, { cancelable: true }));
}
