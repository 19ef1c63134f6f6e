import t from "tap";
import { SocketUntrustedError } from "../../../shared/socket/socket-place.js";
import { connectError, DaemonError } from "../../../shared/wire/daemon-error.js";

t.test("the error for an unreachable daemon says why, and what to do", async (t) => {
  const failed = (code: string | undefined): Error =>
    Object.assign(new Error(`${code}: it failed`), { code });
  const absent = "no daemon listens on /run/x.sock: start it with `sluice up`";
  const denied =
    "permission denied on /run/x.sock: run this as the daemon's user, or as a member of its group where group access is on";
  for (const [error, trouble, message] of [
    [failed("ENOENT"), "absent", absent],
    [failed("ECONNREFUSED"), "absent", absent],
    [failed("EACCES"), "denied", denied],
    [failed("EPERM"), "denied", denied],
    [failed("EMFILE"), "unreachable", "can't connect to /run/x.sock: EMFILE: it failed"],
    [failed(undefined), "unreachable", "can't connect to /run/x.sock: undefined: it failed"],
    [
      new SocketUntrustedError("/run/x.sock is another user's"),
      "untrusted",
      "the socket isn't to be trusted, and nothing was sent: /run/x.sock is another user's; run this as the daemon's user",
    ],
  ] as const) {
    const found = connectError("/run/x.sock", error);
    t.ok(found instanceof DaemonError);
    t.match(found, { name: "DaemonError", trouble, message });
    t.equal(found.cause, error);
  }
});
