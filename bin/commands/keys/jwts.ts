/** `sluice jwts …`: denies valid JWTs, allows them again, lists them. */
import type { Command } from "commander";
import { parseJwtName } from "../../../shared/domain/jwt-denial.js";
import { append } from "../../../shared/long-lists.js";
import { expiryProblem, readExpiry } from "../../keys/key-flags.js";
import { type ParsedArguments, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption, tableView } from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";
import { type Column, renderTable, type TableView } from "../../text/table.js";

interface JwtFlags extends CommandFlags {
  readonly jti?: string;
  readonly sub?: string;
  readonly issuer?: string;
  readonly expires?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Adds `jwts` to the program. */
export function addJwts(program: Command, session: Session): void {
  const jwts = program.command("jwts").description("deny valid JWTs, and allow them again");
  const denialCommand = (name: string, description: string): Command =>
    jwts
      .command(name)
      .description(description)
      .option("--jti <id>", "the token with this jti")
      .option("--sub <subject>", "all tokens of this subject")
      .option("--issuer <iss>", "only of this issuer");
  denialCommand(
    "deny",
    "refuse a token, or all tokens of a subject, in every proxy from the next request on",
  )
    .option("--expires <when>", "when the denial ends, such as 12h or 2030-01-31T12:00:00Z")
    .addOption(jsonOption("print the response of PUT /admin/denied-jwts"))
    .action((_options, command: Command) => denyJwt(session, command.optsWithGlobals<JwtFlags>()));
  denialCommand("allow", "end a denial")
    .addOption(jsonOption("print the answer as an object"))
    .action((_options, command: Command) => allowJwt(session, command.optsWithGlobals<JwtFlags>()));
  jwts
    .command("list")
    .description("list the denials")
    .addOption(jsonOption("print the response of GET /admin/denied-jwts"))
    .action(async (_options, command: Command) => {
      const flags = command.optsWithGlobals<CommandFlags>();
      const denied = await withDaemon(session, flags, listDenied);
      session.terminal.out(
        flags.json === true
          ? JSON.stringify({ denied_jwts: denied })
          : renderDeniedJwts(denied, tableView(session, flags)),
      );
    });
}

async function denyJwt(session: Session, flags: JwtFlags): Promise<void> {
  const denial = jwtDenialFromFlags(flags);
  if (!denial.ok) throw usageFailure(denial.problems);
  const denied = await withDaemon(
    session,
    flags,
    async (client) => bodyOrThrow(await client.call("jwts.deny", denial.value)) as DeniedJwt,
  );
  session.terminal.out(
    flags.json === true
      ? JSON.stringify(denied)
      : renderDeniedJwts([denied], tableView(session, flags)),
  );
}

async function allowJwt(session: Session, flags: JwtFlags): Promise<void> {
  const name = jwtNameFromFlags(flags);
  if (!name.ok) throw usageFailure(name.problems);
  const done = await withDaemon(session, flags, async (client) =>
    bodyOrThrow(await client.call("jwts.allow", name.value)),
  );
  session.terminal.out(flags.json === true ? JSON.stringify(done) : "allowed again");
}

async function listDenied(client: AdminClient): Promise<readonly DeniedJwt[]> {
  const denied: DeniedJwt[] = [];
  let after: number | null = null;
  do {
    const page = bodyOrThrow(await client.call("jwts.list", { after })) as {
      readonly denied_jwts: readonly DeniedJwt[];
      readonly next: number | null;
    };
    append(denied, page.denied_jwts);
    after = page.next;
  } while (after !== null);
  return denied;
}

/** The body of DELETE /admin/denied-jwts. */
function jwtNameFromFlags({ jti, sub, issuer }: JwtFlags): ParsedArguments<Fields> {
  const name = {
    ...(jti === undefined ? {} : { jti }),
    ...(sub === undefined ? {} : { sub }),
    ...(issuer === undefined ? {} : { issuer }),
  };
  const checked = parseJwtName(name);
  if (checked.ok) return { ok: true, value: name };
  const { message, param } = checked.failure;
  if (jti === undefined && sub === undefined)
    return { ok: false, problems: [{ message: "--jti or --sub is required", param: "--jti" }] };
  if (jti !== undefined && sub !== undefined)
    return {
      ok: false,
      problems: [{ message: "--jti can't be combined with --sub", param: "--sub" }],
    };
  return {
    ok: false,
    problems: [{ message: `--${message}`, param: param === null ? null : `--${param}` }],
  };
}

/** `jwt` is the body of PUT /admin/denied-jwts; the daemon's clock counts `expires_in_seconds`. */
function jwtDenialFromFlags(flags: JwtFlags): ParsedArguments<Fields> {
  const name = jwtNameFromFlags(flags);
  const expiry = flags.expires === undefined ? {} : readExpiry(flags.expires);
  if (expiry === null)
    return {
      ok: false,
      problems: [...(name.ok ? [] : name.problems), expiryProblem(flags.expires)],
    };
  if (!name.ok) return name;
  const jwt = { ...name.value, ...(expiry.at === undefined ? {} : { expires_at: expiry.at }) };
  return { ok: true, value: { jwt, expires_in_seconds: expiry.inSeconds ?? null } };
}

/** A denied JWT as the admin API lists it, with the names of the API. */
type DeniedJwt = Readonly<Record<string, unknown>>;

const columns: readonly Column<DeniedJwt>[] = [
  { title: "CLAIM", align: "left", text: ({ jti }) => (typeof jti === "string" ? "jti" : "sub") },
  { title: "VALUE", align: "left", text: ({ jti, sub }) => cellText(jti ?? sub, "-") },
  { title: "ISSUER", align: "left", text: ({ issuer }) => cellText(issuer, "(any)") },
  { title: "DENIED", align: "left", text: ({ denied_at: time }) => cellText(time, "-") },
  { title: "UNTIL", align: "left", text: ({ expires_at: time }) => cellText(time, "forever") },
];

/** The table of `jwts list`; one sentence when there is nothing to show. */
function renderDeniedJwts(denied: readonly DeniedJwt[], view: TableView): string {
  return denied.length === 0 ? "no JWT is denied" : renderTable(columns, denied, view);
}

function cellText(value: unknown, without: string): string {
  return typeof value === "string" ? value : without;
}
