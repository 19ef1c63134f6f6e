/** The meaning of an unsuccessful answer for a batch. Pure. */
import { shortName } from "../../../shared/checked.js";
import { SinkError } from "../follow/sink.js";

interface FailedAnswer {
  /** The address, without a query. */
  readonly shown: string;
  readonly status: number;
  /** The header of that name. */
  readonly retryAfter: string | undefined;
  /** The beginning of the body. */
  readonly text: string;
}

/** Statuses below 500 after which a retry may succeed. */
const passing = [408, 409, 423, 425, 429];

export function answerFailure({ shown, status, retryAfter, text }: FailedAnswer): SinkError {
  const said = shortName(text.replaceAll(/\s+/g, " ").trim());
  return new SinkError(
    `${shown} answers ${status}${said === "" ? "" : `: ${said}`}${adviceFor(status)}`,
    {
      isPassing: status >= 500 || passing.includes(status),
      retryAfterMs: secondsOf(retryAfter),
    },
  );
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return ": give a valid token with --secret-file";
  if (status === 413) return ": send fewer records at once with --batch";
  return status >= 300 && status < 400 ? ": name the address that it leads to" : "";
}

/** A number of seconds; a date is ignored, since it depends on two clocks. */
function secondsOf(header: string | undefined): number | null {
  return /^\d{1,6}$/.test(header ?? "") ? Number(header) * 1000 : null;
}
