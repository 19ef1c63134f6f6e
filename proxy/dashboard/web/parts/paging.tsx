/** Below a list: the number of rows on this page, their age, and links to the other pages. */
import type { ComponentChildren } from "preact";
import { hrefOf } from "../data/router.js";
import { formatCount } from "../logic/numbers.js";
import { shellTexts } from "../texts/shell-texts.js";
import { Age } from "./age.js";
import { useApp } from "./app.js";
import { TableFoot } from "./table.js";

interface PagingProps {
  readonly rows: number;
  /** The cursor of the next page, from the list; null on the last page. */
  readonly next: string | null;
  readonly heardMs: number;
  readonly children?: ComponentChildren;
}

/** The parameter `after` of the address has the cursor. */
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
