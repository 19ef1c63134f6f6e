/** What the tests of managed keys share: clients that create, use and list them. */
import t from "tap";
import { makeManagedKey, type NewManagedKey } from "../../../shared/domain/make-managed-key.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { pathRule, type TestDaemon, type TestPeer, target } from "../in-memory-daemon.js";

export const team = pathRule("/team", 60, { requests: 10 });

export function ask(peer: TestPeer, op: AdminOp, body: unknown): void {
  t.ok(peer.send({ kind: "admin", id: 900, op, body }));
}

export async function call(
  daemon: TestDaemon,
  peer: TestPeer,
  op: AdminOp,
  body: unknown,
): Promise<FromDaemon> {
  ask(peer, op, body);
  await daemon.commit();
  return peer.received.at(-1)!;
}

export async function issue(
  daemon: TestDaemon,
  peer: TestPeer,
  key: object = {},
): Promise<NewManagedKey & { readonly id: string }> {
  const made = makeManagedKey();
  const answer = await call(daemon, peer, "keys.issue", {
    key_hash: made.hash,
    redacted_value: made.redacted,
    key,
  });
  if (answer.kind !== "answer") throw new Error(JSON.stringify(answer));
  return { ...made, id: (answer.body as { id: string }).id };
}

/** What an admission with this credential is answered. */
export function admit(peer: TestPeer, id: number, credential: string, userPath = "/"): FromDaemon {
  t.ok(
    peer.send({
      read: 0,
      kind: "admit",
      id,
      userPath,
      credential,
      targets: [target],
      submission: false,
    }),
  );
  return peer.received.at(-1)!;
}

export function authorize(peer: TestPeer, id: number, credential: string): FromDaemon {
  t.ok(peer.send({ kind: "authorize", id, credential }));
  return peer.received.at(-1)!;
}
