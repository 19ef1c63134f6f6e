import t from "tap";
import type { AdminClient } from "../../../bin/session/with-daemon.js";
import { backupPieces, noteBackup } from "../../../bin/store/backup-pieces.js";

const content = Buffer.from("content");

/** A daemon whose copy takes a moment; `asOf` undefined: of a release that doesn't note backups. */
function daemonOf(asOf: unknown): { readonly client: AdminClient; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    client: {
      remote: null,
      async call(_op, body) {
        asked.push(body);
        const of = asOf === undefined ? {} : { as_of: asOf };
        if (body === null)
          return {
            ok: true,
            body: { ...of, ready: asked.length > 1, copied_bytes: asked.length, bytes: 7 },
          };
        const { offset } = body as { readonly offset?: number };
        return offset === undefined
          ? { ok: true, body: { status: "ok" } }
          : { ok: true, body: { piece: content.subarray(offset, offset + 4) } };
      },
    },
  };
}

t.test("a backup comes in pieces, with the moment by which it is named once kept", async (t) => {
  for (const [asOf, known] of [
    ["2026-11-23T12:00:00.000Z", "2026-11-23T12:00:00.000Z"],
    [undefined, null],
    [7, null],
  ] as const) {
    const { client, asked } = daemonOf(asOf);
    const copied: number[] = [];
    const pieces: unknown[] = [];
    for await (const piece of backupPieces(client, (bytes) => void copied.push(bytes)))
      pieces.push({ ...piece, bytes: String(piece.bytes) });
    t.same(copied, [1, 2]);
    t.same(pieces, [
      { asOf: known, bytes: "cont", received: 4, total: 7 },
      { asOf: known, bytes: "ent", received: 7, total: 7 },
    ]);
    t.same(asked, [null, null, { offset: 0 }, { offset: 4 }]);
  }
  const { client, asked } = daemonOf("x");
  await noteBackup(client, "x");
  t.same(asked, [{ kept: "x" }]);
});
