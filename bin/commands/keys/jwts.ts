/** `sluice jwts …`: denies valid JWTs, allows them again, lists them. */
import type { Command } from "commander";
import { append } from "../../../shared/long-lists.js";
import { type JwtFlags, jwtDenialFromFlags, jwtNameFromFlags } from "../../keys/jwt-flags.js";
import { type DeniedJwt, renderDeniedJwts } from "../../keys/jwt-table.js";
import { usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { answered } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";

/** Adds `jwts` to the program. */
export function addJwts(program: Command, session: Session): void {
  const jwts = program.command("jwts").description("deny valid JWTs, and allow them again");
  const named = (name: string, description: string): Command =>
    jwts
      .command(name)
      .description(description)
      .option("--jti <id>", "the token with this jti")
      .option("--sub <subject>", "all tokens of this subject")
      .option("--issuer <iss>", "only of this issuer");
  named(
    "deny",
    "refuse a token, or all tokens of a subject, in every proxy from the next request on",
  )
    .option("--expires <when>", "when the denial ends, such as 12h or 2030-01-31T12:00:00Z")
    .addOption(jsonOption("print the response of PUT /admin/denied-jwts"))
    .action((_options, command: Command) =>
      denyJwt(session, command.optsWithGlobals<CommandFlags & JwtFlags>()),
    );
  named("allow", "end a denial")
    .addOption(jsonOption("print the answer as an object"))
    .action((_options, command: Command) =>
      allowJwt(session, command.optsWithGlobals<CommandFlags & JwtFlags>()),
    );
  jwts
    .command("list")
    .description("list the denials")
    .addOption(jsonOption("print the response of GET /admin/denied-jwts"))
    .action(async (_options, command: Command) => {
      const flags = command.optsWithGlobals<CommandFlags>();
      const denied = await withDaemon(session, flags, listDenied);
      session.terminal.out(
        flags.json === true ? JSON.stringify({ denied_jwts: denied }) : renderDeniedJwts(denied),
      );
    });
}

async function denyJwt(session: Session, flags: CommandFlags & JwtFlags): Promise<void> {
  const denial = jwtDenialFromFlags(flags);
  if (!denial.ok) throw usageFailure(denial.problems);
  const denied = await withDaemon(
    session,
    flags,
    async (client) => answered(await client.call("jwts.deny", denial.value)) as DeniedJwt,
  );
  session.terminal.out(flags.json === true ? JSON.stringify(denied) : renderDeniedJwts([denied]));
}

async function allowJwt(session: Session, flags: CommandFlags & JwtFlags): Promise<void> {
  const name = jwtNameFromFlags(flags);
  if (!name.ok) throw usageFailure(name.problems);
  const done = await withDaemon(session, flags, async (client) =>
    answered(await client.call("jwts.allow", name.value)),
  );
  session.terminal.out(flags.json === true ? JSON.stringify(done) : "allowed again");
}

async function listDenied(client: AdminClient): Promise<readonly DeniedJwt[]> {
  const denied: DeniedJwt[] = [];
  let after: number | null = null;
  do {
    const page = answered(await client.call("jwts.list", { after })) as {
      readonly denied_jwts: readonly DeniedJwt[];
      readonly next: number | null;
    };
    append(denied, page.denied_jwts);
    after = page.next;
  } while (after !== null);
  return denied;
}
