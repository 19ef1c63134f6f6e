import fc from "fast-check";
import t from "tap";
import {
  handOverVariables,
  type InheritedSockets,
  InheritedSocketsError,
  noSockets,
  takeInheritedSockets,
} from "../../../shared/supervision/inherited-sockets.js";

const names = ["http", "admin"];
const taken = (variables: Record<string, string>) => {
  const env: Record<string, string | undefined> = { PATH: "/bin", ...variables };
  const { from, byName }: InheritedSockets = takeInheritedSockets(env, 42, names);
  return { from, byName: Object.fromEntries(byName), left: Object.keys(env) };
};
const none = { from: noSockets.from, byName: {}, left: ["PATH"] };

t.test("sockets of systemd are taken by name, from descriptor 3 on", async (t) => {
  const table = [
    { fds: "1", names: "http", byName: { http: [3] } },
    { fds: "2", names: "admin:http", byName: { admin: [3], http: [4] } },
    { fds: "3", names: "http:http:admin", byName: { http: [3, 4], admin: [5] } },
    { fds: "1", names: undefined, byName: { http: [3] } },
  ];
  for (const { fds, names, byName } of table)
    t.same(
      taken({
        LISTEN_PID: "42",
        LISTEN_FDS: fds,
        ...(names === undefined ? {} : { LISTEN_FDNAMES: names }),
      }),
      { from: "unit", byName, left: ["PATH"] },
      `${fds} ${names}`,
    );
});

t.test("without sockets, or with another process's, the program listens itself", async (t) => {
  const table = [
    {},
    { LISTEN_PID: "42" },
    { LISTEN_FDS: "1" },
    { LISTEN_PID: "42", LISTEN_FDS: "0" },
    { LISTEN_PID: "41", LISTEN_FDS: "1", LISTEN_FDNAMES: "http" },
    { LISTEN_PID: "142", LISTEN_FDS: "x", LISTEN_FDNAMES: "" },
  ];
  for (const variables of table) t.same(taken(variables), none, JSON.stringify(variables));
});

t.test("what a unit gives wrongly is refused by name, value and what is expected", async (t) => {
  const table = [
    [{ LISTEN_PID: "me", LISTEN_FDS: "1" }, /^LISTEN_PID must be a process id, not "me"$/],
    [{ LISTEN_PID: "", LISTEN_FDS: "1" }, /^LISTEN_PID must be a process id, not ""$/],
    [{ LISTEN_PID: "42", LISTEN_FDS: "-1" }, /^LISTEN_FDS must be a number from 0 to 16/],
    [{ LISTEN_PID: "42", LISTEN_FDS: "17" }, /^LISTEN_FDS must be .*, not "17"$/],
    [
      { LISTEN_PID: "42", LISTEN_FDS: "2", LISTEN_FDNAMES: "http" },
      /^LISTEN_FDNAMES must name each of the 2 sockets .*, not "http"$/,
    ],
    [{ LISTEN_PID: "42", LISTEN_FDS: "2" }, /^LISTEN_FDNAMES must name each/],
    [
      { LISTEN_PID: "42", LISTEN_FDS: "1", LISTEN_FDNAMES: "sluice-proxy.socket" },
      /^LISTEN_FDNAMES names a socket "sluice-proxy.socket"; a socket may be named http or admin/,
    ],
    [{ LISTEN_PID: "42", LISTEN_FDS: "1", LISTEN_FDNAMES: "__proto__" }, /"__proto__"/],
  ] as const;
  for (const [variables, message] of table) {
    const env: Record<string, string | undefined> = { ...variables };
    const error = t.throws(() => takeInheritedSockets(env, 42, names));
    t.ok(error instanceof InheritedSocketsError, JSON.stringify(variables));
    t.match(error, { message });
    t.same(env, {}, "the variables are gone all the same");
  }
});

t.test("sockets that Sluice hands over are taken in its order, before a unit's", async (t) => {
  const given = { LISTEN_PID: "42", LISTEN_FDS: "1", LISTEN_FDNAMES: "http" };
  t.same(taken({ ...handOverVariables(["admin", "http"]), ...given }), {
    from: "handed-over",
    byName: { admin: [3], http: [4] },
    left: ["PATH"],
  });
  t.same(taken({ ...handOverVariables([]), ...given }), {
    from: "unit",
    byName: { http: [3] },
    left: ["PATH"],
  });
});

t.test("whatever the variables are, each descriptor has one of the names or none is taken", (t) => {
  const text = fc.oneof(fc.constantFrom("42", "1", "2", "http", "http:admin"), fc.string());
  fc.assert(
    fc.property(text, text, text, (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES) => {
      try {
        const found = takeInheritedSockets({ LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES }, 42, names);
        const fds = [...found.byName.values()].flat().toSorted((a, b) => a - b);
        return fds.every((fd, index) => fd === 3 + index) && (found.from === "none") === !fds[0];
      } catch (error) {
        return error instanceof InheritedSocketsError;
      }
    }),
  );
  t.end();
});
