/**
 * The common parts of a rule and a budget being edited in a dialog: scope, subject and period, the
 * effect of saving on the counters, and the field of an error. Pure.
 */

import type { ExhaustedField } from "../../../../shared/domain/on-exhausted.js";
import {
  hoursOf,
  textOfWhen,
  type WhenField,
  whenOfText,
} from "../../../../shared/domain/rule-hours.js";

/** What happens when a limit is exhausted. */
export interface ExhaustedDraft {
  /** Empty: requests are refused. */
  readonly onExhausted: "" | "warn" | "use";
  /** The model that serves instead, as typed. */
  readonly useModel: string;
}

export const refusesWhenExhausted: ExhaustedDraft = { onExhausted: "", useModel: "" };

export function exhaustedDraftOf({ on_exhausted: onExhausted }: ExhaustedField): ExhaustedDraft {
  return typeof onExhausted === "object"
    ? { onExhausted: "use", useModel: onExhausted.use }
    : { onExhausted: onExhausted ?? "", useModel: "" };
}

/** The field must not be absent: an absent field would keep the value of `original`. */
export function exhaustedBody(
  { onExhausted, useModel }: ExhaustedDraft,
  original: ExhaustedField | null,
): Record<string, unknown> {
  if (onExhausted === "use") return { on_exhausted: { use: useModel.trim() } };
  if (onExhausted === "warn") return { on_exhausted: onExhausted };
  return original?.on_exhausted === undefined ? {} : { on_exhausted: "refuse" };
}

export interface KeyDraft {
  readonly scope: string;
  readonly subject: string;
  /** A named period, or `other`. */
  readonly period: string;
  /** The seconds, as typed, of a period without a name. */
  readonly seconds: string;
  readonly perChild: boolean;
  /** As typed, separated by commas; empty for all models. */
  readonly models?: string;
  /** The hours of a rule, as typed; empty for always. */
  readonly when?: string;
  /** Whether it is a shadow rule. */
  readonly shadow?: boolean;
  /** Whether it is a hard cap. */
  readonly hard?: boolean;
}

/** The key of an existing rule or budget. */
export interface KeyItem {
  readonly scope: string;
  readonly subject: string;
  readonly period_label: string;
  readonly period_seconds: number;
  readonly per_child: boolean;
  readonly models?: readonly string[];
  readonly when?: WhenField;
  readonly mode?: "shadow" | undefined;
  readonly hold?: "hard";
}

/** The named period of a rule or a budget, or `other`. */
export function keyDraftOf(item: KeyItem, periods: readonly string[]): KeyDraft {
  const isNamed = periods.includes(item.period_label);
  return {
    scope: item.scope,
    subject: item.subject,
    period: isNamed ? item.period_label : "other",
    seconds: isNamed ? "" : String(item.period_seconds),
    perChild: item.per_child,
    models: (item.models ?? []).join(", "),
    when: item.when === undefined ? "" : textOfWhen(item.when),
    shadow: item.mode === "shadow",
    ...(item.hold === "hard" ? { hard: true } : {}),
  };
}

/** What a dialog sends, or the gateway's name of the field that is empty or no number. */
export type DraftBody =
  | { readonly ok: true; readonly body: Record<string, unknown> }
  | { readonly ok: false; readonly field: string };

/** The gateway would apply an empty path to all traffic. */
export const noSubject: DraftBody = { ok: false, field: "subject" };

/** The key fields of the body. `periodField`: `limit_key` or `budget_key`. */
export function keyBody(draft: KeyDraft, periodField: string): Record<string, unknown> {
  return {
    scope: draft.scope,
    subject: draft.subject.trim(),
    [periodField]: { period: draft.period === "other" ? draft.seconds.trim() : draft.period },
    ...(draft.perChild && draft.scope === "user_path" ? { per_child: true } : {}),
    ...(modelsOf(draft).length === 0 ? {} : { models: modelsOf(draft) }),
    ...(hasHours(draft) ? { when: whenOfText(draft.when!) } : {}),
    ...(draft.shadow === true ? { mode: "shadow" } : {}),
  };
}

/** The field `hold` of a body. An absent field would keep its value. */
export function holdBody(
  { hard = false }: KeyDraft,
  original: Pick<KeyItem, "hold"> | null,
): Record<string, unknown> {
  if (hard) return { hold: "hard" };
  return original?.hold === "hard" ? { hold: "soft" } : {};
}

/** The key fields of a body about an existing rule or budget. */
export function itemKey(item: KeyItem, periodField: string): Record<string, unknown> {
  return {
    scope: item.scope,
    subject: item.subject,
    [periodField]: { period_seconds: item.period_seconds },
    ...(item.models === undefined ? {} : { models: item.models }),
    ...(item.when === undefined ? {} : { when: item.when }),
    ...(item.mode === undefined ? {} : { mode: item.mode }),
  };
}

function hasHours({ when = "" }: KeyDraft): boolean {
  return when.trim() !== "";
}

/** The models in the form that a body has; none for other scopes than user paths. */
function modelsOf({ scope, models = "" }: KeyDraft): readonly string[] {
  if (scope !== "user_path") return [];
  return models
    .split(",")
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== "");
}

/**
 * The effect of saving. `keeps`: only values change, and the counters continue. `moves`: a new rule
 * or budget replaces the one being edited, and its counters start at 0. `makes`: it is new.
 */
export type SaveEffect = "makes" | "keeps" | "moves";

export function saveEffect(draft: KeyDraft, original: KeyItem | null): SaveEffect {
  if (original === null) return "makes";
  const isSameSubject =
    draft.scope === "user_path"
      ? plainPath(draft.subject) === original.subject
      : draft.subject.trim() === original.subject;
  const isSamePeriod =
    draft.period === "other"
      ? Number(draft.seconds) === original.period_seconds
      : draft.period === original.period_label;
  const hasSameModels = setText(modelsOf(draft)) === setText(original.models ?? []);
  const hasSameHours =
    hoursOf(hasHours(draft) ? whenOfText(draft.when!) : null) === hoursOf(original.when);
  // Enforcing a shadow rule keeps its counters.
  const keepsMode = original.mode === "shadow" || draft.shadow !== true;
  const isSameKey =
    draft.scope === original.scope &&
    isSameSubject &&
    isSamePeriod &&
    hasSameModels &&
    hasSameHours &&
    keepsMode;
  return isSameKey && draft.perChild === original.per_child ? "keeps" : "moves";
}

/** A text that is equal for the same patterns in any order and case. */
function setText(patterns: readonly string[]): string {
  return [...new Set(patterns.map((pattern) => pattern.toLowerCase()))].sort().join();
}

/** The path as the gateway normalizes it: one leading slash, none doubled, none at the end. */
export function plainPath(path: string): string {
  const segments = path.split("/").map((segment) => segment.trim());
  return `/${segments.filter((segment) => segment !== "").join("/")}`;
}

/** Whether the keys differ in more than `per_child`, which can be changed in place. */
export function isElsewhere(draft: KeyDraft, original: KeyItem): boolean {
  const isOtherMode = (original.mode === "shadow") !== (draft.shadow === true);
  return (
    isOtherMode || saveEffect({ ...draft, perChild: original.per_child }, original) === "moves"
  );
}

/** Parses a number with separators; null if it isn't one. */
export function parseAmount(text: string): number | null {
  const plain = text.replace(/[\s,_$]/g, "");
  return /^(?:\d+(?:\.\d*)?|\.\d+)$/.test(plain) ? Number(plain) : null;
}

/** The dialog's field for the gateway's field name; null if it has none. */
export function fieldOf(param: string | null): string | null {
  if (param === null) return null;
  if (param === "user_path" || param === "subject" || param === "scope") return "subject";
  if (/^(?:limit_key|budget_key)/.test(param)) return "period";
  if (param.startsWith("models")) return "models";
  if (/^when\b/.test(param)) return "when";
  if (param.startsWith("on_exhausted")) return "on_exhausted";
  if (param.startsWith("token_weights")) return "token_weights";
  if (param.startsWith("shares")) return "shares";
  if (param.startsWith("loops")) return "loops";
  return param.startsWith("replaces") ? null : param;
}
