/** The bodies of errors (docs/reference/http-api.md, "Errors"). */
import type { ErrorType } from "../error-code.js";

/** On /admin. All six are always present. */
export interface AdminError {
  readonly code: string | null;
  readonly message: string;
  /** The field or parameter that is wrong. */
  readonly param: string | null;
  readonly provider: string | null;
  readonly status_code: number;
  readonly type: ErrorType;
}
