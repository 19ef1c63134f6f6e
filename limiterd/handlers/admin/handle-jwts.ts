/**
 * The admin operations on denied JWTs. Each change is committed and sent to every proxy before it
 * is answered.
 */

import type { DeniedJwt, DeniedJwtPage } from "../../../shared/api/denied-jwt.js";
import { deniedJwtsMax, deniedJwtsPerPage, periodSecondsMax } from "../../../shared/bounds.js";
import { isCount, isObject, show } from "../../../shared/checked.js";
import { parseJwtDenial, parseJwtName } from "../../../shared/domain/jwt-denial.js";
import { invalid, plainFailure } from "../../../shared/error-code.js";
import { formatMillis, formatSeconds } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { StoredDenial } from "../../keys/jwt-denials.js";
import type { DaemonState } from "../../state.js";
import { denialDefinition, denialDeletion } from "../definitions/apply-credentials.js";
import {
  type AdminPorts,
  type AdminRequest,
  checkedValue,
  failOperation,
  makeChange,
} from "./admin-operation.js";

type JwtOp = Extract<AdminOp, `jwts.${string}`>;

/**
 * The bodies: `jwts.list` {after?: the `next` of the previous page}; `jwts.deny` {jwt: what PUT
 * /admin/denied-jwts takes, expires_in_seconds?}; `jwts.allow`: what DELETE takes.
 */
export function handleJwts(
  state: DaemonState,
  { op, body }: AdminRequest<JwtOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  switch (op) {
    case "jwts.list":
      return list(state, body, nowMs, ports);
    case "jwts.deny":
      return deny(state, body, nowMs, ports);
    case "jwts.allow":
      return allow(state, body, nowMs, ports);
  }
}

function list({ denials }: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const after = (isObject(body) ? body["after"] : null) ?? 0;
  if (!isCount(after))
    return ports.fail(invalid("after must be the next of the previous page", "after"));
  const page = [...denials.all()].slice(after, after + deniedJwtsPerPage);
  const next = after + page.length;
  const answer: DeniedJwtPage = {
    denied_jwts: page.map(denialItem),
    next: next < denials.size ? next : null,
    server_time: formatMillis(nowMs),
  };
  ports.answer(answer);
}

function deny(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const fields = isObject(body) ? body : {};
  const denial = checkedValue(parseJwtDenial(fields["jwt"], nowMs), ports);
  if (denial === null) return;
  const seconds = fields["expires_in_seconds"] ?? null;
  if (seconds !== null && !(isCount(seconds, 1) && seconds <= periodSecondsMax))
    return ports.fail(
      invalid(
        `expires_in_seconds must be an integer from 1 to ${periodSecondsMax}, not ${show(seconds)}`,
        "expires_in_seconds",
      ),
    );
  const { denials } = state;
  const expiresAtMs = seconds === null ? denial.expiresAtMs : nowMs + seconds * 1000;
  const stored = { ...denial, expiresAtMs, deniedAtMs: nowMs };
  makeChange(state, nowMs, ports, () =>
    denials.size >= deniedJwtsMax && !denials.has(denial)
      ? failOperation(
          ports,
          invalid(`no more JWTs can be denied: there are ${denials.size}, the most allowed`),
        )
      : { definitions: [denialDefinition(stored)], answer: () => denialItem(stored) },
  );
}

function allow(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const name = checkedValue(parseJwtName(body), ports);
  if (name === null) return;
  makeChange(state, nowMs, ports, () =>
    state.denials.has(name)
      ? { definitions: [denialDeletion(name)], answer: () => ({ status: "ok" }) }
      : failOperation(ports, {
          ...plainFailure(404, "not_found_error", `no JWT with this ${name.claim} is denied`),
          param: name.claim,
        }),
  );
}

function denialItem({ claim, value, issuer, deniedAtMs, expiresAtMs }: StoredDenial): DeniedJwt {
  return {
    jti: claim === "jti" ? value : null,
    sub: claim === "sub" ? value : null,
    issuer,
    denied_at: formatSeconds(deniedAtMs),
    expires_at: expiresAtMs === null ? null : formatSeconds(expiresAtMs),
  };
}
