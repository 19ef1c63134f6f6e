/** The bodies of errors (docs/reference/http-api.md, "Errors"). */
import type { ErrorType } from "../error-code.js";

/** An error of /admin. All six fields are always present. */
export interface AdminError {
  readonly code: string | null;
  readonly message: string;
  /** The invalid field or parameter. */
  readonly param: string | null;
  readonly provider: string | null;
  readonly status_code: number;
  readonly type: ErrorType;
}
