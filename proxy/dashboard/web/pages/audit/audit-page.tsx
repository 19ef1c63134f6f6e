/** The audit log: which changes were made, when, by whom, from where, before and after. */
import type { AuditEntry, AuditPage as Entries } from "../../../../../shared/api/audit-entry.js";
import { hrefOf } from "../../data/router.js";
import { changeText } from "../../logic/audit-change.js";
import { listPath } from "../../logic/list-page.js";
import { When } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { TextFilter } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import { PageHead } from "../../parts/page.js";
import { type Column, CutText } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { auditTexts as texts } from "../../texts/audit-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";

const address = "/admin/audit";
const filters = ["who", "subject", "operation"] as const;
/** The query's parameters; a link may also name a time range. */
const names = [...filters, "from", "to"];

export function AuditPage() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<Entries>(listPath(address, query, names));
  const file = new URLSearchParams({ format: "ndjson" });
  for (const name of names) if (query.has(name)) file.set(name, query.get(name) ?? "");
  return (
    <>
      <PageHead title={shellTexts.pages.audit}>{texts.about}</PageHead>
      <div class="stack">
        <div class="filters">
          {filters.map((name) => (
            <TextFilter key={name} name={name} label={texts.columns[name]} />
          ))}
          <a class="button" href={`${address}?${file}`} download>
            <Icon name="download" />
            {texts.file}
          </a>
        </div>
        <ListCard
          list={list}
          rowsOf={(page) => page.entries}
          caption={texts.caption}
          columns={columns}
          isCompact
          keyOf={({ id }) => id}
          icon="table"
          none={names.some((name) => query.has(name)) ? texts.unmatched : texts.none}
        />
      </div>
    </>
  );
}

const columns: readonly Column<AuditEntry>[] = [
  {
    key: "subject",
    head: texts.columns.subject,
    sortBy: ({ subject }) => subject,
    kind: "lead",
    cell: ({ subject, operation }) => (
      <span class="two-lines">
        {/* On a path is what most are. */}
        <CutText look="long" text={subject.replace(" on user_path ", " ")} />
        <code class="small">{operation}</code>
      </span>
    ),
  },
  {
    key: "brief",
    head: texts.columns.time,
    isBrief: true,
    cell: ({ time }) => <When at={time} isBrief />,
  },
  {
    key: "who",
    head: texts.columns.who,
    sortBy: ({ who }) => who,
    cell: ({ who, from }) => (
      <span class="two-lines">
        <CutText text={who} />
        <CutText look="soft small" text={from} />
      </span>
    ),
  },
  {
    key: "change",
    head: texts.columns.change,
    kind: "rest",
    cell: ({ before, after }) => {
      const text = changeText(before, after);
      return text === "" ? null : <CutText text={text} title={texts.whole(before, after)} />;
    },
  },
  {
    key: "time",
    head: texts.columns.time,
    sortBy: ({ time }) => time,
    cell: ({ time, request_id }) => (
      <span class="two-lines">
        <When at={time} />
        {request_id !== null && (
          <a class="small nowrap" href={hrefOf("requests", { id: request_id })}>
            {texts.request}
          </a>
        )}
      </span>
    ),
  },
];
