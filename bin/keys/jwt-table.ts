/** The table of denied JWTs. Pure; they are the objects of the admin API. */
import { type Column, renderTable } from "../text/table.js";

/** A denied JWT as the admin API lists it, with the names of the API. */
export type DeniedJwt = Readonly<Record<string, unknown>>;

const columns: readonly Column<DeniedJwt>[] = [
  { title: "CLAIM", align: "left", text: ({ jti }) => (typeof jti === "string" ? "jti" : "sub") },
  { title: "VALUE", align: "left", text: ({ jti, sub }) => text(jti ?? sub, "-") },
  { title: "ISSUER", align: "left", text: ({ issuer }) => text(issuer, "(any)") },
  { title: "DENIED", align: "left", text: ({ denied_at: at }) => text(at, "-") },
  { title: "UNTIL", align: "left", text: ({ expires_at: at }) => text(at, "forever") },
];

/** The table of `jwts list`; one sentence when there is nothing to show. */
export function renderDeniedJwts(denied: readonly DeniedJwt[]): string {
  return denied.length === 0 ? "no JWT is denied" : renderTable(columns, denied);
}

function text(value: unknown, without: string): string {
  return typeof value === "string" ? value : without;
}
