/** Destinations of alerts, as GET /admin/alerts lists and POST /admin/alerts/test tests them. */
import type { TimedAnswer } from "./list-page.js";

interface Destination {
  /** The host of the destination's URL, whose path may be a secret. */
  readonly host: string;
  readonly format: "json" | "slack";
}

export interface AlertDestinationItem extends Destination {
  readonly at: readonly number[];
  readonly forecast: boolean;
  readonly limits: "budgets" | "all";
  /** Alerts that aren't delivered yet. */
  readonly waiting: number;
  readonly oldest_at: string | null;
  /** Why the last attempt failed; null if it succeeded. */
  readonly failing: string | null;
  readonly last_delivered_at: string | null;
}

export interface AlertDestinationList extends TimedAnswer {
  readonly alerts: readonly AlertDestinationItem[];
}

export interface AlertTestResult extends Destination {
  readonly delivered: boolean;
  /** Null if it was delivered. */
  readonly reason: string | null;
}

export interface AlertTestResults extends TimedAnswer {
  readonly results: readonly AlertTestResult[];
}
