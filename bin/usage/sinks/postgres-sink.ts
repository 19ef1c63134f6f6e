/**
 * Writes followed records to PostgreSQL; the only file that imports the client library, which is
 * loaded if this destination is chosen. Records and cursor are written in one transaction that
 * locks the follower's row: each record is stored once, whatever fails in between, and of two
 * followers with one name the second detects that the first has moved on.
 */
import { readFileSync } from "node:fs";
import type { Client, QueryResultRow } from "pg";
import { systemReason } from "../../../shared/text/system-reason.js";
import type { Destination } from "../follow/destination.js";
import { type Batch, type Sink, SinkError, type SinkPlace } from "../follow/sink.js";
import {
  followersTable,
  insertRecords,
  partitionsOf,
  recordsTable,
  rowsText,
  tableStatements,
} from "./record-table.js";

interface PostgresOptions {
  readonly destination: Extract<Destination, { readonly kind: "postgres" }>;
  readonly follower: string;
  /** Null if the server requires none, or the address, PGPASSWORD or ~/.pgpass has it. */
  readonly password: string | null;
  readonly createsTables: boolean;
}

const connectMs = 10_000;
/** How long a server may be silent, in ms; a batch of a thousand records takes milliseconds. */
const answerMs = 60_000;
/** No partition can hold the record. */
const noPartition = "23514";
/** An arbitrary lock number: one follower at a time creates tables. */
const tableLock = 7_588_223_401;

/** One connection, replaced after each failure. */
export function postgresSink(options: PostgresOptions): Sink {
  const { destination, follower, createsTables } = options;
  let client: Client | null = null;
  let storeId = "";
  const close = (): void => {
    // Not awaited: a server that is gone never confirms it.
    client?.end().catch(() => {});
    client = null;
  };
  async function run<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      client ??= await connect(options);
      return await work(client);
    } catch (error) {
      close();
      throw error instanceof SinkError ? error : postgresFailure(destination.displayUrl, error);
    }
  }
  return {
    open(storeIds) {
      storeId = storeIds[0]!;
      return run(async (connected) => {
        if (createsTables) await makeTables(connected, tableStatements);
        return await placeIn(connected, follower, storeIds);
      });
    },
    take: (batch) =>
      run(async (connected) => {
        const write = (): Promise<"taken" | "moved"> =>
          transaction(connected, () => writeBatch(connected, batch, { follower, storeId }));
        try {
          return await write();
        } catch (error) {
          if ((error as { readonly code?: string }).code !== noPartition) throw error;
          await makePartitions(connected, batch);
          return await write();
        }
      }),
    async close() {
      close();
    },
  };
}

async function connect({ destination, password }: PostgresOptions): Promise<Client> {
  const { url, tls, caFile } = destination;
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    // The URL overrides the other options, even with an empty password.
    connectionString: withPassword(url, password),
    application_name: "sluice usage follow",
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    ssl:
      tls === "none"
        ? false
        : {
            rejectUnauthorized: tls === "checked",
            ...(caFile === null ? {} : { ca: readAuthorities(caFile) }),
          },
  });
  // The next query fails and has the reason.
  client.on("error", () => {});
  await client.connect();
  return client;
}

function withPassword(address: string, password: string | null): string {
  if (password === null) return address;
  const url = new URL(address);
  url.password = encodeURIComponent(password);
  return url.href;
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SinkError(`sslrootcert ${file} can't be read: ${systemReason(error)}`, {
      isPassing: false,
      cause: error,
    });
  }
}

/** After a failure the connection may be in any state: its owner closes it. */
async function transaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query("begin");
  try {
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

async function rowsOf<Row extends QueryResultRow>(
  client: Client,
  sql: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  return (await client.query<Row>(sql, [...values])).rows;
}

function makeTables(client: Client, statements: readonly string[]): Promise<void> {
  return transaction(client, async () => {
    await client.query("select pg_advisory_xact_lock($1)", [tableLock]);
    for (const statement of statements) await client.query(statement);
  });
}

/** The cursor of this follower and store, or of the store that this one continues. */
async function placeIn(
  client: Client,
  follower: string,
  storeIds: readonly string[],
): Promise<SinkPlace> {
  const rows = await rowsOf<{ readonly store_id: string; readonly cursor: string | null }>(
    client,
    `select store_id::text as store_id, cursor from ${followersTable}
     where follower = $1 and store_id::text = any($2)`,
    [follower, storeIds],
  );
  const storedRow = storeIds
    .map((id) => rows.find((row) => row.store_id === id))
    .find((row) => row !== undefined);
  if (storedRow?.store_id === storeIds[0])
    return { cursor: storedRow?.cursor ?? null, repeat: null };
  await client.query(
    `insert into ${followersTable} (follower, store_id, host, cursor) values ($1, $2, '', $3)
     on conflict do nothing`,
    [follower, storeIds[0]!, storedRow?.cursor ?? null],
  );
  // A follower that started at the same time may have been first.
  const [row] = await rowsOf<{ readonly cursor: string | null }>(client, selectCursor, [
    follower,
    storeIds[0]!,
  ]);
  return { cursor: row?.cursor ?? null, repeat: null };
}

const selectCursor = `select cursor from ${followersTable} where follower = $1 and store_id = $2`;

async function writeBatch(
  client: Client,
  batch: Batch,
  { follower, storeId }: { readonly follower: string; readonly storeId: string },
): Promise<"taken" | "moved"> {
  const [row] = await rowsOf<{ readonly cursor: string | null }>(
    client,
    `${selectCursor} for update`,
    [follower, storeId],
  );
  if (row === undefined || row.cursor !== batch.after) return "moved";
  if (batch.records.length > 0) await client.query(insertRecords, [rowsText(batch)]);
  await client.query(
    `update ${followersTable} set cursor = $3, host = $4, records = records + $5,
     missed_commits = missed_commits + $6, handed_on_at = now()
     where follower = $1 and store_id = $2`,
    [follower, storeId, batch.next, batch.host, batch.records.length, batch.missedCommits],
  );
  return "taken";
}

async function makePartitions(client: Client, { records }: Batch): Promise<void> {
  for (const { name, statements } of partitionsOf(records))
    await transaction(client, async () => {
      await client.query("select pg_advisory_xact_lock($1)", [tableLock]);
      const [there] = await rowsOf<{ readonly name: string | null }>(
        client,
        "select to_regclass($1)::text as name",
        [name],
      );
      if (there?.name != null) return;
      for (const statement of statements) await client.query(statement);
    });
}

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

/** Why a statement failed, in words. `server`: the server, without a password. */
export function postgresFailure(server: string, error: unknown): SinkError {
  const { code = "", message = String(error) } = error as { code?: string; message?: string };
  const isState = /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code);
  const isPassing = isState
    ? passingClasses.includes(code.slice(0, 2)) || code === readOnly
    : passingCodes.test(code) || (code === "" && passingMessages.test(message));
  const hint = advice[code];
  const problem = isState ? `answers: ${message}` : `can't be reached: ${systemReason(error)}`;
  return new SinkError(
    `${server} ${problem}${code === "" ? "" : ` (${code})`}${hint === undefined ? "" : `: ${hint}`}`,
    { isPassing, cause: error },
  );
}
