/** Below a list: how many rows this page of it has, how old they are, and the way to the others. */
import type { ComponentChildren } from "preact";
import { hrefOf } from "../data/router.js";
import { formatCount } from "../logic/numbers.js";
import { shellTexts } from "../texts/shell-texts.js";
import { Age } from "./age.js";
import { useApp } from "./app.js";
import { TableFoot } from "./table.js";

interface PagingProps {
  readonly rows: number;
  /** As the list gave it; null on the last page. */
  readonly next: string | null;
  readonly heardMs: number;
  readonly children?: ComponentChildren;
}

/** The cursor stands in the address as `after`. */
export function Paging({ rows, next, heardMs, children }: PagingProps) {
  const { router } = useApp();
  const { page, query } = router.place.value;
  const parameters = Object.fromEntries(query);
  const isPart = query.has("after") || next !== null;
  return (
    <TableFoot>
      <span>
        {shellTexts.paging.rows(formatCount(rows))} · <Age heardMs={heardMs} />
        {isPart && query.has("sort") && ` · ${shellTexts.paging.sortedHere}`}
      </span>
      {children !== undefined && <span>{children}</span>}
      {isPart && (
        <span class="paging">
          {query.has("after") && (
            <a class="button" href={hrefOf(page, { ...parameters, after: null })}>
              {shellTexts.paging.first}
            </a>
          )}
          {next !== null && (
            <a class="button" href={hrefOf(page, { ...parameters, after: next })}>
              {shellTexts.paging.next}
            </a>
          )}
        </span>
      )}
    </TableFoot>
  );
}
