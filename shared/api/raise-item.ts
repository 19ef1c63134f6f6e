/** Raises as lists, explanations and GET /v1/usage show them (docs/limit-options.md). */
import type { CapFields } from "../domain/rule.js";

export interface RaiseItem
  extends Omit<CapFields, "token_weights" | "on_exhausted" | "hold" | "shares" | "loops"> {
  /** The subject of the rule or budget, or the path of the raised child of a template. */
  readonly subject: string;
  /** A budget's raised amount; absent, like a cap, where it isn't raised. */
  readonly amount?: number;
  readonly from: string;
  /** The raise applies before this moment. */
  readonly until: string;
  readonly by: string;
  readonly reason: string;
}

/** The raises that apply now; absent if there are none. */
export interface WithRaises {
  readonly raises?: readonly RaiseItem[];
}
