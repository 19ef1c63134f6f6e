/**
 * An alert that the daemon sends to a proxy when a threshold was crossed, and that the proxy
 * delivers (docs/alerts.md). It contains names, numbers and times: never a key or a prompt.
 */
import type { BudgetForecast } from "../api/budget-item.js";
import { bad, type Checked, good, isObject } from "../checked.js";

const alertTypes = ["budget.threshold", "budget.forecast", "rate_limit.threshold"] as const;
type AlertType = (typeof alertTypes)[number];

export interface Alert {
  /** The same each time it is sent, and on each host that notices the same crossing. */
  readonly id: string;
  readonly type: AlertType;
  readonly created_at: string;
  readonly scope: string;
  /** For a template, the child's path. */
  readonly subject: string;
  /** The template's path; present for a child. */
  readonly template?: string;
  readonly models?: readonly string[];
  /** Of a budget of the last hours or days, whose period has no end. */
  readonly rolling?: boolean;
  readonly period_label: string;
  readonly period_seconds: number;
  readonly period_start: string;
  readonly period_end: string;
  /** Present for an alert at a threshold: 0.8 is 80%. */
  readonly threshold?: number;
  /** Used share of the limit at that time; not clamped. */
  readonly usage_ratio: number;
  /** US dollars, of a budget. */
  readonly amount?: number;
  readonly spent?: number;
  readonly forecast?: BudgetForecast;
  /** The counted quantity of a rate limit; absent for a budget. */
  readonly dimension?: string;
  readonly limit?: number;
  readonly used?: number;
}

/** Whether a value has what a message needs; the daemon wrote it. */
export function isAlert(value: unknown): value is Alert {
  return (
    isObject(value) &&
    typeof value["id"] === "string" &&
    alertTypes.some((type) => type === value["type"]) &&
    ["created_at", "scope", "subject", "period_label", "period_start", "period_end"].every(
      (name) => typeof value[name] === "string",
    ) &&
    typeof value["usage_ratio"] === "number"
  );
}

/** Null if nothing is due, or for what no daemon writes. */
export function readDueAlert(body: unknown): Alert | null {
  const alert = isObject(body) ? body["alert"] : null;
  return isAlert(alert) ? alert : null;
}

/** The body of `alerts.due`: the id of a configured destination. */
export function parseDestination(body: unknown): Checked<string> {
  const destination = isObject(body) ? body["destination"] : undefined;
  return typeof destination === "string"
    ? good(destination)
    : bad("destination must be the id of a destination", "destination");
}

/** The body of `alerts.report`: the result of an attempt to deliver. */
interface AlertReport {
  readonly destination: string;
  readonly id: string;
  /** Why it wasn't delivered; null if it was. */
  readonly reason: string | null;
}

const reasonCharsMax = 300;

export function parseAlertReport(body: unknown): Checked<AlertReport> {
  const { destination, id, reason } = isObject(body) ? body : {};
  return typeof destination === "string" &&
    typeof id === "string" &&
    (reason === null || typeof reason === "string")
    ? good({ destination, id, reason: reason?.slice(0, reasonCharsMax) ?? null })
    : bad("a report must have destination, id and reason", "id");
}
