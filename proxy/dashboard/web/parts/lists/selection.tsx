/** The selection of rows, and the bar below the table with the actions on all selected rows. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { shellTexts } from "../../texts/shell-texts.js";
import type { Selection } from "../table.js";
import { focusContent } from "./keep-focus.js";

interface Choosable<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly nameOf: Selection<Row>["nameOf"];
}

interface ChosenRows<Row> extends Selection<Row> {
  /** The selected rows of this page. */
  readonly rows: readonly Row[];
  clear(): void;
}

export function useSelection<Row>({ rows, keyOf, nameOf }: Choosable<Row>): ChosenRows<Row> {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  return {
    keys,
    nameOf,
    rows: rows.filter((row) => keys.has(keyOf(row)) && nameOf(row) !== null),
    choose(these, isChosen) {
      const next = new Set(keys);
      for (const row of these) {
        if (isChosen) next.add(keyOf(row));
        else next.delete(keyOf(row));
      }
      setKeys(next);
    },
    clear: () => setKeys(new Set()),
  };
}

interface SelectedBarProps {
  readonly selection: Pick<ChosenRows<unknown>, "rows" | "clear">;
  /** Buttons. */
  readonly children: ComponentChildren;
}

export function SelectedBar(props: SelectedBarProps) {
  return props.selection.rows.length === 0 ? null : <Bar {...props} />;
}

function Bar({ selection: { rows, clear }, children }: SelectedBarProps) {
  const bar = useRef<HTMLFieldSetElement>(null);
  useLayoutEffect(() => {
    const shown = bar.current;
    return () => {
      if (shown?.contains(document.activeElement)) focusContent();
    };
  }, []);
  return (
    <fieldset ref={bar} class="selected" aria-label={shellTexts.choose.bar}>
      <span class="strong" role="status">
        {shellTexts.choose.count(rows.length)}
      </span>
      {children}
      <button type="button" class="button ghost" onClick={clear}>
        {shellTexts.choose.none}
      </button>
    </fieldset>
  );
}
