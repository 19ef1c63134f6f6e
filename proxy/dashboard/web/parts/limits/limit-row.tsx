/** The parts of a row that rules and budgets share: the subject with its marks, and the buttons. */

import type { RaiseItem } from "../../../../../shared/api/raise-item.js";
import { calendarWords } from "../../../../../shared/domain/budget-calendar.js";
import { type ChildShares, textOfShares } from "../../../../../shared/domain/child-shares.js";
import { holdWords } from "../../../../../shared/domain/hold.js";
import { type LoopRule, loopsWords } from "../../../../../shared/domain/loop-rule.js";
import { exhaustedWords, type OnExhausted } from "../../../../../shared/domain/on-exhausted.js";
import { declaredPlace } from "../../../../../shared/domain/rule.js";
import { textOfWhen, type WhenField } from "../../../../../shared/domain/rule-hours.js";
import { formatCount, formatDuration, formatMoment } from "../../logic/numbers.js";
import type { TreeRow } from "../../logic/subject-tree.js";
import { isOfSessions, isTemplate } from "../../logic/used-share.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { raiseTexts } from "../../texts/raise-texts.js";
import { ChangeButton, useIsAboveOwnPath, useMay } from "../change-button.js";
import { Icon, type IconName } from "../icon.js";

export interface LimitItem {
  readonly subject: string;
  readonly per_child: boolean;
  readonly period_label: string;
  readonly template?: string;
  readonly models?: readonly string[];
  readonly when?: WhenField;
  readonly would_refuse?: number;
  readonly last_would_refuse_at?: string;
  readonly host_only?: boolean;
  readonly unpriced?: string;
  readonly on_exhausted?: OnExhausted;
  readonly hold?: "hard";
  readonly shares?: ChildShares;
  readonly loops?: LoopRule | undefined;
  readonly time_zone?: string;
  readonly anchor_day?: number;
  readonly rollover?: number;
  readonly raises?: readonly RaiseItem[];
  readonly inert?: string;
  readonly source: string;
  readonly declared_at?: string;
  readonly declared_line?: number;
  readonly overrides?: { readonly declared_at?: string };
}

/**
 * The subject of a row. On a desk the tree shows the last part of the path; screen readers, and
 * phones, whose rows are cards, get the whole path.
 */
export function LimitSubject({ item, depth, label, isContinued }: TreeRow<LimitItem>) {
  const exhausted = exhaustedWords(item.on_exhausted);
  const hold = holdWords(item.hold);
  const children = isTemplate(item) && item.per_child && <span class="soft">/*</span>;
  return (
    <span class="subject">
      <span
        class={isContinued ? "path in-tree continued" : "path in-tree"}
        style={{ paddingLeft: `${depth * 18}px` }}
        title={item.subject}
        aria-hidden="true"
      >
        {depth > 0 && <span class="path-branch" />}
        <span>
          {label}
          {children}
        </span>
      </span>
      <span class="path whole">
        <span>
          {item.subject}
          {children}
        </span>
      </span>
      {isTemplate(item) && item.per_child && <span class="badge">{limitsTexts.perChild}</span>}
      {isTemplate(item) && isOfSessions(item) && (
        <span class="badge">{limitsTexts.perSession}</span>
      )}
      {item.template !== undefined && (
        <span class="badge">{limitsTexts.childOf(item.template)}</span>
      )}
      {item.models !== undefined && <span class="badge">{limitsTexts.onModels(item.models)}</span>}
      {item.when !== undefined && <span class="badge">{textOfWhen(item.when)}</span>}
      {item.would_refuse !== undefined && <ShadowBadge item={item} count={item.would_refuse} />}
      {item.host_only === true && (
        <span class="badge" title={limitsTexts.hostOnlyTitle}>
          {limitsTexts.hostOnly}
        </span>
      )}
      {item.unpriced !== undefined && (
        <span class="badge">{limitsTexts.unpriced(item.unpriced)}</span>
      )}
      {exhausted !== null && <span class="badge">{exhausted}</span>}
      {hold !== null && <span class="badge">{hold}</span>}
      {item.shares !== undefined && (
        <span class="badge" title={textOfShares(item.shares)}>
          {limitsTexts.shared}
        </span>
      )}
      {item.loops !== undefined && <span class="badge">{loopsWords(item.loops)}</span>}
      {calendarWords({ ...item }).map((words) => (
        <span class="badge" key={words}>
          {words}
        </span>
      ))}
      {item.raises?.map(({ subject, until, by, reason }) => (
        <span
          key={subject}
          class="badge"
          title={raiseTexts.present(subject, formatMoment(until), by, reason)}
        >
          {raiseTexts.badge(formatMoment(until))}
        </span>
      ))}
      {item.overrides !== undefined && (
        <span class="badge" title={limitsTexts.overrides(item.overrides.declared_at ?? null)}>
          {limitsTexts.notConfig}
          <span class="visually-hidden">
            : {limitsTexts.overrides(item.overrides.declared_at ?? null)}
          </span>
        </span>
      )}
      {item.inert !== undefined && (
        <span class="badge warn" title={item.inert}>
          <Icon name="alert" />
          {limitsTexts.inert}
          <span class="visually-hidden">: {item.inert}</span>
        </span>
      )}
    </span>
  );
}

function ShadowBadge({ item, count }: { readonly item: LimitItem; readonly count: number }) {
  const { last_would_refuse_at: last } = item;
  const lastText = last === undefined ? null : limitsTexts.lastRefused(formatMoment(last));
  return (
    <span class={count === 0 ? "badge" : "badge warn"} title={lastText ?? ""}>
      {limitsTexts.shadow(formatCount(count))}
      {lastText !== null && <span class="visually-hidden">: {lastText}</span>}
    </span>
  );
}

/** The name of a period, as in sentences; in seconds or larger units if it has none. */
export function periodText(
  item: { readonly period_label: string; readonly period_seconds: number },
  words: Readonly<Record<string, string>>,
): string {
  const length = formatDuration(item.period_seconds);
  return item.period_label.startsWith("rolling ")
    ? `rolling ${length}`
    : (words[item.period_label] ?? length);
}

/** The name of a limit or budget in a list or a sentence. */
export function limitName(
  item: Parameters<typeof periodText>[0] & Pick<LimitItem, "subject" | "models">,
  words: Parameters<typeof periodText>[1],
): string {
  const on = item.models === undefined ? [] : [limitsTexts.onModels(item.models)];
  return [item.subject, periodText(item, words), ...on].join(" · ");
}

/** Whether a limit can be changed here: not one of the configuration or a template's child. */
export function useIsChangeable(): (item: LimitItem) => boolean {
  const isAboveOwnPath = useIsAboveOwnPath();
  return ({ source, template, subject }) =>
    source !== "config" && template === undefined && !isAboveOwnPath(subject);
}

interface LimitActionsProps {
  readonly item: LimitItem;
  /** The path of the API's list, to which changes are sent. */
  readonly path: string;
  readonly words: {
    readonly edit: (name: string) => string;
    readonly reset: (name: string) => string;
    readonly remove: (name: string) => string;
    readonly children: (name: string) => string;
  };
  /** Null if the row offers no list of children. */
  readonly onChildren: (() => void) | null;
  readonly onRaise: () => void;
  readonly onEdit: () => void;
  readonly onReset: () => void;
  readonly onRemove: () => void;
}

/**
 * The buttons of a row. A limit of the configuration has a lock instead, because the file is the
 * source. A child has none, because its template is changed.
 */
export function LimitActions({ item, path, words, ...on }: LimitActionsProps) {
  const { subject } = item;
  const may = useMay();
  const isAboveOwnPath = useIsAboveOwnPath();
  if (item.template !== undefined) return null;
  const button = (icon: IconName, needs: string, text: string, onClick: () => void) => (
    <ChangeButton needs={needs} look="ghost square" words={text} onClick={onClick}>
      <Icon name={icon} />
    </ChangeButton>
  );
  return (
    <span class="row-actions">
      {on.onChildren !== null && (
        <button
          type="button"
          class="button ghost square"
          title={words.children(subject)}
          aria-label={words.children(subject)}
          onClick={on.onChildren}
        >
          <Icon name="children" />
        </button>
      )}
      {!isAboveOwnPath(subject) && (
        <>
          {button("raise", `POST ${path}/raise`, raiseTexts.button(subject), on.onRaise)}
          {item.source === "config" ? (
            may(`PUT ${path}`) && (
              <LockedMark declaredAt={item.declared_at} line={item.declared_line} />
            )
          ) : (
            <>
              {button("edit", `PUT ${path}`, words.edit(subject), on.onEdit)}
              {button("reset", `POST ${path}/reset-one`, words.reset(subject), on.onReset)}
              {button("trash", `DELETE ${path}`, words.remove(subject), on.onRemove)}
            </>
          )}
        </>
      )}
    </span>
  );
}

/** A lock with the place in the configuration where the limit can be changed. */
function LockedMark({
  declaredAt,
  line,
}: {
  readonly declaredAt: string | undefined;
  readonly line: number | undefined;
}) {
  const place = declaredAt === undefined ? null : declaredPlace(declaredAt, line);
  return (
    <span class="locked" title={`${limitsTexts.locked}${place === null ? "" : `: ${declaredAt}`}`}>
      <Icon name="lock" />
      <span>
        {place !== null && <span class="visually-hidden">{limitsTexts.lockedIn}</span>}
        {place?.file ?? limitsTexts.configured}
        {place !== null && <code class="declared-at">{place.within}</code>}
      </span>
    </span>
  );
}
