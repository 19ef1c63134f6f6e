/** A raise as lists, explanations and GET /v1/usage show it (docs/which-limit.md). */
export interface RaiseItem {
  /** The subject of the rule or budget, or the path of the raised child of a template. */
  readonly subject: string;
  /** The raised caps or amount; absent where it isn't raised. */
  readonly max_requests?: number;
  readonly max_tokens?: number;
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
