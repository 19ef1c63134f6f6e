/** Why a statement failed, in words, and whether the failure is temporary. Pure. */
import { systemReason } from "../../../shared/text/system-reason.js";
import { SinkError } from "../follow/sink.js";
import { followersTable, recordsTable } from "./record-table.js";

/**
 * Classes of SQLSTATE that are temporary: connections, rollbacks, lack of resources, locks, a
 * server that starts or stops.
 */
const passingClasses = ["08", "40", "53", "55", "57", "58"];
/** A read-only server, as after a failover. */
const readOnly = "25006";
/** Faults of the network. */
const passingCodes = /^E(?:CONN|PIPE|HOST|NET|TIMEDOUT|NOTFOUND|AI_AGAIN|NOENT)/;
/** Errors that the client library detects have no code. */
const passingMessages = /^(?:Connection terminated|Query read timeout|timeout expired|Client )/;

const authorities = "name its authorities: sslrootcert=FILE in the address";

/** What to do about permanent failures. */
const advice: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: authorities,
  SELF_SIGNED_CERT_IN_CHAIN: authorities,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: authorities,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: authorities,
  "42P01": `make the tables with --create-table, or by docs/examples/usage-records.sql`,
  "42703": `the tables are of an earlier release: run it once with --create-table`,
  "42501": `the user needs SELECT and INSERT on ${recordsTable}, SELECT, INSERT and UPDATE on ${followersTable}, and to make partitions it has to own ${recordsTable}`,
};

/** `at`: the server, without a password. */
export function postgresFailure(at: string, error: unknown): SinkError {
  const { code = "", message = String(error) } = error as { code?: string; message?: string };
  const isState = /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code);
  const isPassing = isState
    ? passingClasses.includes(code.slice(0, 2)) || code === readOnly
    : passingCodes.test(code) || (code === "" && passingMessages.test(message));
  const hint = advice[code];
  const what = isState ? `answers: ${message}` : `can't be reached: ${systemReason(error)}`;
  return new SinkError(
    `${at} ${what}${code === "" ? "" : ` (${code})`}${hint === undefined ? "" : `: ${hint}`}`,
    { isPassing, cause: error },
  );
}
