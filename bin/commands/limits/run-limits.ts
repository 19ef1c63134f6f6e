/** `list`, `set`, `delete` and `reset` for rules and budgets. */

import type { UpstreamTargetPage } from "../../../shared/api/upstream-item.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { isObject } from "../../../shared/checked.js";
import { subjectWithModels } from "../../../shared/domain/limited-models.js";
import { textOfWhen, type WhenField } from "../../../shared/domain/rule-hours.js";
import { childPath, isPathWithin } from "../../../shared/domain/user-path.js";
import { failure } from "../../../shared/error-code.js";
import { escapeControls } from "../../../shared/logging/escape-controls.js";
import { append } from "../../../shared/long-lists.js";
import {
  type KeyFlags,
  keyBody,
  keyFromFlags,
  type SetFlags,
  writesFromFlags,
} from "../../limits/limit-flags.js";
import type { LimitKind } from "../../limits/limit-kind.js";
import {
  filterLimits,
  isOfSessions,
  keyOfItem,
  type LimitList,
  type ListedLimit,
  type ListFilter,
  limitOf,
  limitsOn,
  listBody,
  listLimits,
} from "../../limits/list-limits.js";
import { isTemplate } from "../../limits/rule-table.js";
import { renderUpstream } from "../../live/upstream-table.js";
import { watchDaemon } from "../../live/watch-daemon.js";
import { type ArgumentProblem, refusal, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, pathFromFlag, tableView } from "../../session/command-flags.js";
import { confirm } from "../../session/confirm.js";
import { bodyOrThrow, unreadableAnswer } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";
import { readDuration } from "../../text/duration.js";

export interface ListFlags {
  readonly scope?: string;
  readonly path?: string;
  readonly for?: string;
  readonly sort?: string;
  /** True if given without a value. */
  readonly children?: string | true;
  readonly watch?: string | true;
  readonly upstream?: true;
}

export interface ResetFlags extends KeyFlags {
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** Prints the providers' own limits; with `--json` the API's object. */
async function showUpstream(session: Session, flags: CommandFlags): Promise<void> {
  const answer = await withDaemon(session, flags, (client) =>
    client.call("upstream-limits.list", null),
  );
  const page = bodyOrThrow(answer) as UpstreamTargetPage;
  session.terminal.out(
    flags.json === true
      ? JSON.stringify(page)
      : renderUpstream(page.upstream_limits, tableView(session, flags)),
  );
}

/** Prints the rules or budgets; with `--json` the API's object. */
export async function showLimits<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  flags: CommandFlags & ListFlags,
): Promise<void> {
  if (flags.upstream === true) return showUpstream(session, flags);
  const filter = filterFromFlags(kind, flags);
  const { children, everyMs, sortsByUse } = listOptions(flags);
  const { terminal } = session;
  const renderList = async (client: AdminClient): Promise<string> => {
    const all = filterLimits(await listLimits(client, kind, sortsByUse), filter);
    const path = filter.caller ?? filter.path;
    const onThePath = path === null ? all : await onPath(client, kind, all, path);
    const list = children === 0 ? onThePath : await withChildren(client, kind, onThePath, children);
    if (flags.json === true) return listBody(list, kind);
    return withNote(kind.render(list, tableView(session, flags)), list);
  };
  if (everyMs === null) return terminal.out(await withDaemon(session, flags, renderList));
  await watchDaemon(session, flags, {
    everyMs,
    async refresh(client) {
      const text = escapeControls(await renderList(client));
      // At a terminal each output replaces the one before.
      await terminal.write(terminal.columns === null ? `${text}\n` : `${clearScreen}${text}\n`);
    },
  });
}

/** Each template, followed by up to `count` of its most used children, which have its cap. */
async function withChildren<S extends string>(
  client: AdminClient,
  kind: LimitKind<S>,
  list: LimitList,
  count: number,
): Promise<LimitList> {
  const items: ListedLimit[] = [];
  let otherHosts = 0;
  for (const item of list.items) {
    items.push(item);
    if (!isTemplate(item)) continue;
    const children = await childrenOf(client, kind, item, { limit: count });
    otherHosts = Math.max(otherHosts, children.otherHosts);
    append(items, children.children);
  }
  return { ...list, items, otherHosts };
}

/**
 * The rules or budgets that apply to a caller with this path; for a template, its child on the
 * path.
 */
export async function limitsOnPath<S extends string>(
  client: AdminClient,
  kind: LimitKind<S>,
  path: string,
): Promise<LimitList> {
  const all = filterLimits(await listLimits(client, kind), {
    scope: null,
    path: null,
    caller: path,
  });
  return onPath(client, kind, all, path);
}

/** Each template above the path with the counts of the child that the path is in. */
async function onPath<S extends string>(
  client: AdminClient,
  kind: LimitKind<S>,
  list: LimitList,
  path: string,
): Promise<LimitList> {
  const items: ListedLimit[] = [];
  for (const item of list.items) {
    const template = String(item["subject"]);
    if (!isTemplate(item) || isOfSessions(item) || isPathWithin(template, path)) {
      items.push(item);
      continue;
    }
    const [name = ""] = path.slice(template === "/" ? 1 : template.length + 1).split("/");
    const subject = childPath(template, name);
    const { children } = await childrenOf(client, kind, item, { search: name });
    const onSubject = children.find((child) => child["subject"] === subject);
    const unused = { ...item, subject, template };
    items.push(onSubject ?? { ...unused, ...(await enqueuedOf(client, kind, unused)) });
  }
  return { ...list, items };
}

/** The enqueued tokens of a child that has submitted nothing but batches: it has no counter. */
async function enqueuedOf<S extends string>(
  client: AdminClient,
  { list, items: name }: LimitKind<S>,
  child: ListedLimit,
): Promise<object> {
  if (child["max_enqueued_tokens"] === undefined) return {};
  const answer = bodyOrThrow(await client.call(list, { user_path: child["subject"] }));
  const items = isObject(answer) ? answer[name] : null;
  if (!Array.isArray(items)) throw unreadableAnswer(`list of ${name}`);
  const key = JSON.stringify(keyOfItem(child));
  const match = items.find((item) => isObject(item) && JSON.stringify(keyOfItem(item)) === key);
  const { enqueued_tokens_used: used, enqueued_tokens_remaining: remaining } = match ?? {};
  return used === undefined
    ? {}
    : { enqueued_tokens_used: used, enqueued_tokens_remaining: remaining };
}

/** The most used children of a template, with the template's fields. */
async function childrenOf<S extends string>(
  client: AdminClient,
  { list: listOp, flags }: LimitKind<S>,
  item: ListedLimit,
  query: { readonly limit?: number; readonly search?: string },
): Promise<{ readonly children: readonly ListedLimit[]; readonly otherHosts: number }> {
  const op = listOp === "budgets.list" ? "budgets.children" : "rate-limits.children";
  const { subject, when } = item;
  // A query has the hours as one text.
  const hours = when === undefined ? {} : { when: textOfWhen(when as WhenField) };
  const answer = bodyOrThrow(await client.call(op, { ...keyOfItem(item), ...hours, ...query }));
  const { children = null, other_hosts: otherHosts } = isObject(answer) ? answer : {};
  if (!Array.isArray(children) || !children.every(isObject))
    throw unreadableAnswer(`children of ${flags.grammar.plural}`);
  return {
    children: children.map((child) => ({ ...item, ...child, template: subject })),
    otherHosts: typeof otherHosts === "number" ? otherHosts : 0,
  };
}

/** The note below a table that may not list all children. */
function withNote(table: string, { otherHosts = 0 }: LimitList): string {
  if (otherHosts === 0) return table;
  return `${table}\n\nChildren that requests on this host have met; ${otherHosts === 1 ? "another host" : `${otherHosts} other hosts`} may have met more.`;
}

/** Moves the cursor home and clears the screen below it. */
const clearScreen = "\u001b[H\u001b[J";

const childrenDefault = 10;
const watchDefaultMs = 2_000;

/**
 * How many children of each template are shown, in which order, and how often the list is printed
 * (null: once).
 */
function listOptions({ children, watch, sort }: ListFlags): {
  readonly children: number;
  readonly sortsByUse: boolean;
  readonly everyMs: number | null;
} {
  const problems: ArgumentProblem[] = [];
  const count = children === true ? childrenDefault : Number(children ?? 0);
  if (children !== undefined && !(Number.isInteger(count) && count >= 1 && count <= itemsPerPage))
    problems.push({
      message: `--children must be an integer from 1 to ${itemsPerPage}, not ${JSON.stringify(children)}`,
      param: "--children",
    });
  if (sort !== undefined && sort !== "name" && sort !== "used")
    problems.push({
      message: `--sort must be name or used, not ${JSON.stringify(sort)}`,
      param: "--sort",
    });
  const seconds = typeof watch === "string" ? readDuration(watch) : null;
  if (typeof watch === "string" && seconds === null)
    problems.push({
      message: `--watch must be a length of time such as 5s (s, m, h, d or w), not ${JSON.stringify(watch)}`,
      param: "--watch",
    });
  if (problems.length > 0) throw usageFailure(problems);
  const everyMs = seconds === null ? watchDefaultMs : seconds * 1000;
  return {
    children: count,
    sortsByUse: sort === "used",
    everyMs: watch === undefined ? null : everyMs,
  };
}

function filterFromFlags<S extends string>(
  { flags: { grammar } }: LimitKind<S>,
  flags: ListFlags,
): ListFilter {
  const problems: ArgumentProblem[] = [];
  const scope =
    flags.scope === undefined
      ? null
      : grammar.scopes.find((candidate) => candidate === flags.scope?.trim().toLowerCase());
  if (scope === undefined)
    problems.push({
      message: `--scope must be ${grammar.scopesExpected}, not ${JSON.stringify(flags.scope)}`,
      param: "--scope",
    });
  const pathOf = (flag: "path" | "for"): string | null => {
    const { [flag]: text } = flags;
    if (text === undefined) return null;
    const path = pathFromFlag(text, `--${flag}`);
    if (!path.ok) append(problems, path.problems);
    if (typeof scope === "string" && scope !== "user_path")
      problems.push({
        message: `--${flag} is for user-path ${grammar.plural} and can't be combined with --scope ${scope}`,
        param: `--${flag}`,
      });
    return path.ok ? path.value : null;
  };
  const [path, caller] = [pathOf("path"), pathOf("for")];
  if (problems.length > 0) throw usageFailure(problems);
  return { scope: scope ?? null, path, caller };
}

/** Writes the limits in the flags, after checking all of them, and prints the subject's limits. */
export async function setLimits<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  subject: string,
  flags: CommandFlags & SetFlags,
): Promise<void> {
  const writes = writesFromFlags(kind.flags, subject, flags);
  if (!writes.ok) throw usageFailure(writes.problems);
  const list = await withDaemon(session, flags, async (client) => {
    const written: string[] = [];
    for (const { body, key } of writes.value) {
      bodyOrThrow(
        await client.call(kind.ops.put, body),
        written.length > 0 ? ` (written before it: ${written.join(", ")})` : "",
      );
      written.push(kind.periodLabel(key.periodSeconds));
    }
    return listLimits(client, kind);
  });
  const { scope, subject: normalized } = writes.value[0]!.key;
  session.terminal.out(
    flags.json === true
      ? listBody(list, kind)
      : kind.render(
          limitsOn(list, { scope, subject: kind.effectiveSubject(scope, normalized) }),
          tableView(session, flags),
        ),
  );
}

/** Removes a rule or a budget; an unknown one ends with exit code 3. */
export async function deleteLimit<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  subject: string,
  flags: CommandFlags & KeyFlags,
): Promise<void> {
  const key = keyFromFlags(kind.flags, subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, periodSeconds } = key.value;
  const list = await withDaemon(session, flags, async (client) => {
    bodyOrThrow(await client.call(kind.ops.delete, keyBody(kind.flags.grammar, key.value)));
    return flags.json === true ? listLimits(client, kind) : null;
  });
  session.terminal.out(
    list !== null
      ? listBody(list, kind)
      : `deleted: ${scope} ${subjectWithModels(key.value)} ${kind.periodLabel(periodSeconds)}`,
  );
}

/** Resets the named rule or budget, or all after a confirmation. */
export async function resetLimits<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  subject: string | undefined,
  flags: CommandFlags & ResetFlags,
): Promise<void> {
  const { singular, subjects } = kind;
  const hasKeyFlags =
    subject !== undefined ||
    flags.scope !== undefined ||
    flags.period !== undefined ||
    flags.periodSeconds !== undefined ||
    flags.models !== undefined;
  if (flags.all === true && hasKeyFlags)
    throw usageFailure([
      {
        message: `--all resets every ${singular}: give neither a subject nor --scope nor --period beside it`,
        param: "--all",
      },
    ]);
  if (flags.all === true) return resetAll(kind, session, flags);
  if (subject === undefined)
    throw usageFailure([
      {
        message: `subject is required: the ${singular}'s ${subjects}; or --all for every ${singular}`,
        param: "subject",
      },
    ]);
  const key = keyFromFlags(kind.flags, subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normalized, periodSeconds } = key.value;
  const list = await withDaemon(session, flags, async (client) => {
    bodyOrThrow(await client.call(kind.ops.resetOne, keyBody(kind.flags.grammar, key.value)));
    return listLimits(client, kind);
  });
  const limit = limitOf(list, { ...key.value, subject: kind.effectiveSubject(scope, normalized) });
  // The API accepts an unknown key; a person who typed it needs to know that it is misspelt.
  if (limit.items.length === 0)
    throw refusal(
      failure(
        kind.notFound,
        `no ${kind.periodLabel(periodSeconds)} ${singular} on ${scope} ${subjectWithModels(key.value)}: nothing was reset`,
        "subject",
      ),
    );
  session.terminal.out(
    flags.json === true ? listBody(list, kind) : kind.render(limit, tableView(session, flags)),
  );
}

async function resetAll<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  flags: CommandFlags & ResetFlags,
): Promise<void> {
  if (flags.yes !== true) {
    const { ask } = session.terminal;
    if (ask === null)
      throw usageFailure([
        {
          message: `--yes is required to reset all ${kind.flags.grammar.plural} without a terminal`,
          param: "--yes",
        },
      ]);
    await confirm(ask, kind.resetQuestion, "nothing was reset");
  }
  const list = await withDaemon(session, flags, async (client) => {
    bodyOrThrow(await client.call(kind.ops.resetAll, { confirmation: "reset" }));
    return flags.json === true ? listLimits(client, kind) : null;
  });
  session.terminal.out(list !== null ? listBody(list, kind) : kind.resetDone);
}
