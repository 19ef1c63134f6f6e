/** The children of a template with their use, highest first. */
import { useState } from "preact/hooks";
import { textOfWhen, type WhenField } from "../../../../../shared/domain/rule-hours.js";
import { formatCount } from "../../logic/numbers.js";
import { isOfSessions } from "../../logic/used-share.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { Dialog } from "../dialog.js";
import { SearchField } from "../field.js";
import { Empty, WhenReady } from "../page.js";
import { type Column, CutText, Table } from "../table.js";
import { useListPoll } from "../use-poll.js";

const texts = limitsTexts.childList;
const rowsMax = 50;

interface ListedChildren<Child> {
  readonly children: readonly Child[];
  readonly total: number;
  /** Absent if the host doesn't share limits, or each host counts the rule alone. */
  readonly other_hosts?: number;
}

interface ChildrenDialogProps<Child> {
  readonly template: {
    readonly scope: string;
    readonly subject: string;
    readonly period_label: string;
    readonly period_seconds: number;
    readonly models?: readonly string[];
    readonly when?: WhenField;
    readonly mode?: string | undefined;
  };
  /** The path of the API's list; the children's list is below it. */
  readonly path: string;
  /** The columns after the child's name. */
  readonly columns: readonly Column<Child>[];
  readonly onClose: () => void;
}

interface NamedChild {
  readonly subject: string;
  readonly session?: string;
}

export function ChildrenDialog<Child extends NamedChild>({
  template,
  path,
  columns,
  onClose,
}: ChildrenDialogProps<Child>) {
  const [search, setSearch] = useState("");
  const parameters = new URLSearchParams({
    scope: template.scope,
    subject: template.subject,
    period: String(template.period_seconds),
    limit: String(rowsMax),
    ...(template.models === undefined ? {} : { models: template.models.join(",") }),
    ...(template.when === undefined ? {} : { when: textOfWhen(template.when) }),
    ...(template.mode === undefined ? {} : { mode: template.mode }),
    ...(search === "" ? {} : { search }),
  });
  const news = ({ admitted, settled }: { admitted: number; settled: number }): number =>
    admitted + settled;
  const children = useListPoll<ListedChildren<Child>>(`${path}/children?${parameters}`, { news });
  const name: Column<Child> = {
    key: "child",
    head: isOfSessions(template) ? texts.session : texts.child,
    kind: "lead",
    cell: ({ subject, session }) => (
      <span class="two-lines">
        <span class="path">{subject}</span>
        {session !== undefined && <CutText look="soft small" text={session} />}
      </span>
    ),
  };
  const title = isOfSessions(template) ? texts.titleOfSessions : texts.title;
  return (
    <Dialog title={title(template.subject)} look="wide" onClose={onClose}>
      <div class="form">
        <SearchField label={limitsTexts.search} value={search} onInput={setSearch} />
        <WhenReady polled={children.polled} onRetry={() => children.refresh()}>
          {({ children: rows, total, other_hosts: others = 0 }) =>
            rows.length === 0 ? (
              <Empty icon="children" title={texts.empty} />
            ) : (
              <>
                <p class="soft small">{texts.about(formatCount(total))}</p>
                {others > 0 && <p class="soft small">{texts.otherHosts(others)}</p>}
                <Table
                  caption={texts.caption}
                  columns={[name, ...columns]}
                  rows={rows}
                  keyOf={({ subject, session = "" }) => `${subject} ${session}`}
                />
              </>
            )
          }
        </WhenReady>
      </div>
    </Dialog>
  );
}
